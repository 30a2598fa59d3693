//! Which rules a request may match, without asking all of them: by the template of the path, then by the host.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::conditions::Conditions;
use crate::host;
use crate::path::Template;
use crate::readings::Readings;

/// The rules of a policy. A tree of path segments whose walk finds every template that a path matches.
#[derive(Debug)]
pub(super) struct Index {
    /// The first is the root.
    nodes: Vec<Node>,
    /// Rules without a path.
    pathless: Bucket,
}

#[derive(Debug, Default)]
struct Node {
    /// Where a segment leads.
    literals: HashMap<Box<str>, usize>,
    /// Where any segment leads.
    any: Option<usize>,
    /// The template that ends here.
    closed: Option<Place>,
    /// The template that matches here and everything below.
    open: Option<Place>,
}

/// A template, and the rules that have it.
#[derive(Debug)]
struct Place {
    template: Template,
    rules: Bucket,
}

/// Rules of one template.
#[derive(Debug, Default)]
struct Bucket {
    /// Those for all hosts.
    all_hosts: Vec<usize>,
    /// The others, by the key of each of their hosts.
    by_host: HashMap<Box<str>, Vec<usize>>,
    /// The most [`host::wild_dots`] of such a key.
    dots: usize,
}

/// What a request may match.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    /// The indices of rules, ascending: all that match, and perhaps others with the same path and host.
    pub(super) rules: SmallVec<[usize; 16]>,
    /// The most specific template of the policy that the path matches.
    pub(super) template: Option<&'a Template>,
}

impl Index {
    /// Of no rules.
    pub(super) fn new() -> Self {
        Self { nodes: vec![Node::default()], pathless: Bucket::default() }
    }

    /// Adds the rule with this index and these conditions.
    pub(super) fn add(&mut self, rule: usize, conditions: &Conditions) {
        let bucket = match conditions.path() {
            None => Some(&mut self.pathless),
            Some(template) => self.place(template),
        };
        if let Some(bucket) = bucket {
            bucket.add(rule, conditions);
        }
    }

    /// Every template that names a route.
    pub(super) fn templates(&self) -> impl Iterator<Item = &Template> {
        let places = self.nodes.iter().flat_map(|node| node.closed.iter().chain(&node.open));
        places.map(|place| &place.template)
    }

    /// The bucket of a template, which is made where there is none.
    fn place(&mut self, template: &Template) -> Option<&mut Bucket> {
        let mut at = 0;
        for segment in template.segments() {
            let next = self.nodes.len();
            let node = self.nodes.get_mut(at)?;
            at = match segment {
                None => *node.any.get_or_insert(next),
                Some(literal) => *node.literals.entry(literal.into()).or_insert(next),
            };
            if at == next {
                self.nodes.push(Node::default());
            }
        }
        let node = self.nodes.get_mut(at)?;
        let place = if template.is_open() { &mut node.open } else { &mut node.closed };
        let place =
            place.get_or_insert_with(|| Place { template: template.clone(), rules: Bucket::default() });
        // Of templates that differ by the names of their parameters one names the route, whatever their order.
        if template.as_str() < place.template.as_str() {
            place.template = template.clone();
        }
        Some(&mut place.rules)
    }

    /// What a request with this path and this canonical host may match, in any reading of the path; the template is that of the
    /// normal one.
    pub(super) fn find(&self, path: Option<&Readings<'_>>, host: Option<&str>) -> Found<'_> {
        let mut found = self.find_read(path.map(Readings::normal), host);
        let others = path.map(Readings::others).unwrap_or_default();
        if !others.is_empty() {
            for other in others {
                found.rules.extend(self.find_read(Some(other), host).rules);
            }
            found.rules.sort_unstable();
            found.rules.dedup();
        }
        found
    }

    /// The same of one reading. The walk sees each node at most once; it sees
    /// more than one per segment only where templates have `{name}` beside a literal.
    fn find_read(&self, path: Option<&str>, host: Option<&str>) -> Found<'_> {
        let mut found = Found::default();
        self.pathless.find(host, &mut found);
        let mut ahead: SmallVec<[(usize, &str); 8]> = SmallVec::new();
        if let Some(path) = path {
            ahead.push((0, path.strip_prefix('/').unwrap_or(path)));
        }
        while let Some((at, rest)) = ahead.pop() {
            let Some(node) = self.nodes.get(at) else { continue };
            if let Some(open) = &node.open {
                open.find(host, &mut found);
            }
            if rest.is_empty() {
                if let Some(closed) = &node.closed {
                    closed.find(host, &mut found);
                }
                continue;
            }
            let (segment, rest) = rest.split_once('/').unwrap_or((rest, ""));
            ahead.extend(node.any.map(|next| (next, rest)));
            ahead.extend(node.literals.get(segment).map(|next| (*next, rest)));
        }
        found.rules.sort_unstable();
        found.rules.dedup();
        found
    }
}

impl Place {
    fn find<'a>(&'a self, host: Option<&str>, found: &mut Found<'a>) {
        self.rules.find(host, found);
        if found.template.is_none_or(|other| self.template.specificity() > other.specificity()) {
            found.template = Some(&self.template);
        }
    }
}

impl Bucket {
    fn add(&mut self, rule: usize, conditions: &Conditions) {
        if conditions.hosts().is_empty() {
            self.all_hosts.push(rule);
        }
        for key in conditions.hosts().keys() {
            self.dots = self.dots.max(host::wild_dots(key));
            self.by_host.entry(key.into()).or_default().push(rule);
        }
    }

    fn find(&self, host: Option<&str>, found: &mut Found<'_>) {
        found.rules.extend_from_slice(&self.all_hosts);
        if self.by_host.is_empty() {
            return;
        }
        for key in host.into_iter().flat_map(|host| host::keys(host, self.dots)) {
            found.rules.extend_from_slice(self.by_host.get(key).map_or(&[], Vec::as_slice));
        }
    }
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;

use proptest::prelude::*;

use super::{Conditions, Index};
use crate::attributes::Attributes;
use crate::path::Template;
use crate::policy::compile::Errors;
use crate::policy::request::{Needs, Request};
use crate::policy::{MatchSource, PlansSource};

/// Few names, so that templates and paths meet.
fn segment() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("a"), Just("b"), Just("7")]
}

fn template() -> impl Strategy<Value = String> {
    let segment = prop_oneof![2 => segment(), 1 => Just("{x}"), 1 => Just("{y}")];
    (prop::collection::vec(segment, 0..4), any::<bool>()).prop_map(|(mut segments, open)| {
        segments.extend(open.then_some("**"));
        format!("/{}", segments.join("/"))
    })
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(segment(), 0..5).prop_map(|segments| format!("/{}", segments.join("/")))
}

fn host() -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof![Just("a"), Just("b")], 1..4).prop_map(|labels| labels.join("."))
}

fn pattern() -> impl Strategy<Value = String> {
    (any::<bool>(), host()).prop_map(|(wild, host)| if wild { format!("*.{host}") } else { host })
}

fn source() -> impl Strategy<Value = MatchSource> {
    let hosts = prop_oneof![Just(Vec::new()), prop::collection::vec(pattern(), 1..4)];
    (prop::option::weighted(0.8, template()), hosts).prop_map(|(path, hosts)| MatchSource {
        path,
        hosts,
        ..MatchSource::default()
    })
}

/// A path of which nobody knows how the upstream reads it.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "/", "/", "a", "b", "7", "..", "%2e%2E", ".", "\\", "%2f", "%5C", ";", "%3b", "//",
    ]);
    prop::collection::vec(part, 0..12).prop_map(|parts| format!("/{}", parts.concat()))
}

#[derive(Debug)]
struct Ask {
    path: Option<String>,
    host: Option<String>,
}

impl Attributes for Ask {
    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }
    fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }
}

fn ask() -> impl Strategy<Value = Ask> {
    (prop::option::weighted(0.9, path()), prop::option::weighted(0.9, host()))
        .prop_map(|(path, host)| Ask { path, host })
}

const ALL: Needs = Needs { path: true, host: true, client: true };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_index_finds_what_asking_every_rule_finds(
        sources in prop::collection::vec(source(), 0..24),
        asks in prop::collection::vec(ask(), 1..12),
    ) {
        let rules: Vec<Conditions> = sources.into_iter().map(compiled).collect();
        let index = index_of(&rules);
        for ask in &asks {
            let request = Request::new(ask, ALL, 0);
            let found = index.find(request.path.as_ref(), request.host.as_deref());
            let every: Vec<usize> = (0..rules.len()).filter(|i| rules[*i].matches(&request)).collect();
            // Paths and hosts are all that these rules ask for, and both are in the index.
            prop_assert_eq!(found.rules.as_slice(), every.as_slice());
        }
    }

    #[test]
    fn a_doubtful_spelling_meets_every_rule_that_one_of_its_readings_meets_and_leaves_none_that_one_does_not_leave(
        sources in prop::collection::vec(source(), 0..12),
        path in hostile(),
    ) {
        let with_path = |source: MatchSource| MatchSource { path: source.path.or_else(|| Some("/**".into())), ..source };
        let sources: Vec<MatchSource> = sources.into_iter().map(with_path).collect();
        let rules: Vec<Conditions> = sources.iter().cloned().map(compiled).collect();
        let but = |source: MatchSource| compiled(MatchSource { not: vec![source], ..MatchSource::default() });
        let all_but: Vec<Conditions> = sources.into_iter().map(but).collect();
        let index = index_of(&rules);
        let ask = Ask { path: Some(path), host: Some("a.b".to_owned()) };
        let request = Request::new(&ask, ALL, 0);
        let found = index.find(request.path.as_ref(), request.host.as_deref()).rules;
        prop_assert!(found.is_sorted_by(|a, b| a < b));
        let readings = request.path.as_ref().unwrap();
        let each: Vec<&str> = readings.others().iter().map(String::as_str).chain([readings.normal()]).collect();
        for (i, (rule, all_but)) in rules.iter().zip(&all_but).enumerate() {
            let hosts = rule.hosts().is_empty() || rule.hosts().contain("a.b");
            let fits = |path: &&str| hosts && rule.path().is_none_or(|own| own.matches(path));
            let (some, every) = (each.iter().any(fits), each.iter().all(fits));
            prop_assert_eq!((rule.matches(&request), rule.surely_match(&request)), (some, every));
            prop_assert_eq!((all_but.matches(&request), all_but.surely_match(&request)), (!every, !some));
            prop_assert_eq!(found.contains(&i), some);
        }
    }

    #[test]
    fn the_most_specific_template_names_the_route(
        texts in prop::collection::vec(template(), 0..24),
        paths in prop::collection::vec(path(), 1..12),
    ) {
        let rules: Vec<Conditions> = texts.iter().map(|text| with_path(text)).collect();
        let index = index_of(&rules);
        let mut templates: Vec<Template> = texts.iter().map(|text| Template::parse(text).unwrap()).collect();
        templates.sort_by(|a, b| b.specificity().cmp(&a.specificity()).then(a.as_str().cmp(b.as_str())));
        for path in &paths {
            let first = templates.iter().find(|template| template.matches(path));
            let found = index.find_read(Some(path), None).template;
            prop_assert_eq!(found.map(Template::as_str), first.map(Template::as_str));
        }
    }

    /// A router that others wrote, where it takes the templates at all.
    #[test]
    fn the_most_specific_template_is_the_one_that_matchit_finds(
        texts in prop::collection::vec(template(), 1..8),
        paths in prop::collection::vec(path(), 1..12),
    ) {
        let mut router = matchit::Router::new();
        let mut taken = Vec::new();
        for text in &texts {
            // It takes `/a/**` for what is below `/a` only.
            let below = text.replace("**", "{*rest}");
            if router.insert(below, text.clone()).is_ok() {
                taken.push(with_path(text));
            }
        }
        let index = index_of(&taken);
        for path in &paths {
            let ours = index.find_read(Some(path), None).template.map(Template::as_str);
            let theirs = router.at(path).ok().map(|found| found.value.as_str());
            let at_its_own_root = ours.is_some_and(|own| {
                own.strip_suffix("/**").is_some_and(|root| Template::parse(if root.is_empty() { "/" } else { root }).unwrap().matches(path))
            });
            if !at_its_own_root {
                prop_assert_eq!(ours, theirs, "{}", path);
            }
        }
    }
}

fn index_of(rules: &[Conditions]) -> Index {
    let mut index = Index::new();
    rules.iter().enumerate().for_each(|(number, conditions)| index.add(number, conditions));
    index
}

fn compiled(source: MatchSource) -> Conditions {
    let mut errors = Errors::default();
    let conditions = Conditions::compile(source, "match", &PlansSource::default(), &mut errors);
    assert!(errors.is_empty());
    conditions
}

fn with_path(text: &str) -> Conditions {
    compiled(MatchSource { path: Some(text.to_owned()), ..MatchSource::default() })
}

#[test]
fn the_name_of_a_route_does_not_depend_on_the_order_of_rules() {
    for texts in [["/users/{id}", "/users/{name}"], ["/users/{name}", "/users/{id}"]] {
        let rules = texts.map(with_path);
        let index = index_of(&rules);
        assert_eq!(
            index.find_read(Some("/users/ada"), None).template.map(Template::as_str),
            Some("/users/{id}")
        );
    }
}

#[test]
fn a_long_path_takes_no_stack() {
    let deep = "/a".repeat(100_000);
    let rules = [with_path(&deep)];
    let index = index_of(&rules);
    assert_eq!(index.find_read(Some(&deep), None).rules.as_slice(), [0]);
    assert!(index.find_read(Some(&deep[2..]), None).rules.is_empty());
    // What a caller writes costs no more than what the policy has.
    let dotted = "a.".repeat(100_000);
    let hosts = MatchSource { hosts: vec!["*.example.org".to_owned()], ..MatchSource::default() };
    let rules = [compiled(hosts)];
    assert!(index_of(&rules).find_read(None, Some(&dotted)).rules.is_empty());
}

//! The text as a tree in which every value knows its place.

use granit_parser::Span;

/// A place in the file: where something begins, and how many characters of that line it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// From 1.
    pub(crate) line: usize,
    /// From 1, in characters.
    pub(crate) column: usize,
    /// At least 1; may reach beyond the end of the line.
    pub(crate) width: usize,
}

impl Mark {
    pub(crate) const START: Self = Self { line: 1, column: 1, width: 1 };

    /// The place of what the parser saw.
    pub(crate) fn of(span: Span) -> Self {
        let (start, end) = (span.start, span.end);
        let width =
            if end.line() > start.line() { usize::MAX } else { end.col().saturating_sub(start.col()) };
        Self { line: start.line().max(1), column: start.col().saturating_add(1), width: width.max(1) }
    }

    /// The place after `text`.
    pub(crate) fn after(text: &str) -> Self {
        let last = text.rsplit('\n').next().unwrap_or_default();
        let lines = text.matches('\n').count();
        Self { line: lines.saturating_add(1), column: last.chars().count().saturating_add(1), width: 1 }
    }

    /// From here to the end of `end`.
    pub(crate) fn until(self, end: Span) -> Self {
        let width = if end.end.line() > self.line {
            usize::MAX
        } else {
            end.end.col().saturating_add(1).saturating_sub(self.column)
        };
        Self { width: width.max(1), ..self }
    }
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) mark: Mark,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// Nothing was written, or `null` or `~`.
    Nothing,
    Text {
        text: String,
        /// In quotes, or a block of text: not a number or a word of YAML.
        quoted: bool,
    },
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// What was reported already; nothing more is said about it.
    Faulty,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) mark: Mark,
    pub(crate) value: Node,
}

impl Node {
    /// The value of the field called `name`.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        match &self.content {
            Content::Map(entries) => entries.iter().find(|e| e.name == name).map(|e| &e.value),
            _ => None,
        }
    }

    /// The deepest value on the way to `path` (such as `rules[1].match.path`) that was written, and the path as it was
    /// written: what is no list is its own `[0]`.
    pub(crate) fn locate(&self, path: &str) -> (&Self, String) {
        let (mut node, mut rest, mut written) = (self, path, String::new());
        loop {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let next = match (&node.content, rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))) {
                (Content::List(items), Some((index, after))) => {
                    index.parse().ok().and_then(|i: usize| Some((items.get(i)?, after, format!("[{index}]"))))
                }
                (_, Some(("0", after))) => Some((node, after, String::new())),
                (Content::Map(entries), None) => longest_field(entries, rest),
                _ => None,
            };
            let Some((found, after, step)) = next else { break };
            (node, rest) = (found, after);
            written.push_str(&step);
        }
        if !rest.is_empty() && !rest.starts_with('[') && !written.is_empty() {
            written.push('.');
        }
        written.push_str(rest);
        (node, written.trim_start_matches('.').to_owned())
    }

    pub(crate) const fn is_empty_list(&self) -> bool {
        matches!(&self.content, Content::List(items) if items.is_empty())
    }

    /// The item of this list that is `text`.
    pub(crate) fn item_with_text(&self, text: &str) -> Option<&Self> {
        match &self.content {
            Content::List(items) => items
                .iter()
                .find(|item| matches!(&item.content, Content::Text { text: own, .. } if own == text)),
            _ => None,
        }
    }
}

/// The field whose name `path` begins with, which may have dots in it; what follows it; and the step to it.
fn longest_field<'a, 'p>(entries: &'a [Entry], path: &'p str) -> Option<(&'a Node, &'p str, String)> {
    let after = |entry: &Entry| {
        let after = path.strip_prefix(entry.name.as_str())?;
        (after.is_empty() || after.starts_with(['.', '['])).then_some(after)
    };
    let found = entries.iter().filter_map(|entry| Some((entry, after(entry)?)));
    let (entry, after) = found.max_by_key(|(entry, _)| entry.name.len())?;
    Some((&entry.value, after, format!(".{}", entry.name)))
}

/// `LIST[I]…` with I replaced by `index(I)`.
pub(crate) fn renumber(path: &str, list: &str, index: impl Fn(usize) -> usize) -> String {
    let rest = path.strip_prefix(list).and_then(|rest| rest.strip_prefix('['));
    let parts = rest.and_then(|rest| rest.split_once(']'));
    match parts.and_then(|(i, rest)| Some((i.parse().ok()?, rest))) {
        Some((i, rest)) => format!("{list}[{}]{rest}", index(i)),
        None => path.to_owned(),
    }
}

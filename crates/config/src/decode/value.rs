//! A value with its path, and a place for faults. Whatever returns `None` has reported why.

use crate::fault::Faults;
use crate::problem::{Expected, Found, Problem};
use crate::tree::{Content, Entry, Mark, Node};

#[derive(Debug, Clone)]
pub(crate) struct Value<'a> {
    node: &'a Node,
    path: String,
    faults: &'a Faults,
}

/// The fields of a value.
#[derive(Debug)]
pub(crate) struct Map<'a> {
    value: Value<'a>,
    entries: &'a [Entry],
}

impl<'a> Value<'a> {
    pub(crate) const fn root(node: &'a Node, faults: &'a Faults) -> Self {
        Self { node, path: String::new(), faults }
    }

    pub(crate) const fn content(&self) -> &'a Content {
        &self.node.content
    }

    pub(crate) const fn mark(&self) -> Mark {
        self.node.mark
    }

    pub(crate) fn fault<T>(&self, problem: Problem) -> Option<T> {
        self.faults.add(self.node.mark, self.path.clone(), problem);
        None
    }

    pub(crate) fn wrong_type<T>(&self, expected: Expected) -> Option<T> {
        let found = match self.content() {
            Content::Nothing => Found::Nothing,
            Content::Text { text, quoted: false } => Found::Plain(text.as_str().into()),
            Content::Text { text, quoted: true } => Found::Quoted(text.as_str().into()),
            Content::List(_) => Found::List,
            Content::Map(_) => Found::Map,
            // Reported already.
            Content::Faulty => return None,
        };
        self.fault(Problem::WrongType { expected, found })
    }

    /// A text, with or without quotes. The field says that it is one, so `no`, `1.0` and `0x10` are what they look like.
    pub(crate) fn text(&self) -> Option<&'a str> {
        match self.content() {
            Content::Text { text, .. } => Some(text),
            _ => self.wrong_type(Expected::Text),
        }
    }

    pub(crate) fn list(&self) -> Option<Vec<Self>> {
        let Content::List(items) = self.content() else { return self.wrong_type(Expected::List) };
        let value = |(i, node)| Self { node, path: format!("{}[{i}]", self.path), faults: self.faults };
        Some(items.iter().enumerate().map(value).collect())
    }

    pub(crate) const fn is_empty_list(&self) -> bool {
        self.node.is_empty_list()
    }

    /// The field called `name`, if this has fields and that one; nothing is reported.
    pub(crate) fn field(&self, name: &str) -> Option<Self> {
        let node = self.node.field(name)?;
        Some(Self { node, path: format!("{}.{name}", self.path), faults: self.faults })
    }

    /// The fields, of which only those `allowed` may be there.
    pub(crate) fn map(&self, allowed: &'static [&'static str]) -> Option<Map<'a>> {
        let map = self.fields()?;
        map.allow(allowed);
        Some(map)
    }

    /// The fields, whichever they are.
    pub(crate) fn fields(&self) -> Option<Map<'a>> {
        match self.content() {
            Content::Map(entries) => Some(Map { value: self.clone(), entries }),
            _ => self.wrong_type(Expected::Map),
        }
    }
}

impl<'a> Map<'a> {
    /// Reports the fields that are not `allowed`.
    pub(crate) fn allow(&self, allowed: &'static [&'static str]) {
        let unknown = |entry: &&Entry| !allowed.contains(&entry.name.as_str());
        let faulty = |entry: &&Entry| matches!(entry.value.content, Content::Faulty);
        for entry in self.entries.iter().filter(unknown).filter(|entry| !faulty(entry)) {
            let problem = Problem::UnknownField { name: entry.name.as_str().into(), allowed };
            self.value.faults.add(entry.mark, self.path_of(&entry.name), problem);
        }
    }

    /// The names of the fields, in the order in which they were written.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The fields, by whatever names, in the order in which they were written.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.entries.iter().map(|entry| {
            let path = self.path_of(&entry.name);
            (entry.name.as_str(), Value { node: &entry.value, path, faults: self.value.faults })
        })
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value<'a>> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        Some(Value { node: &entry.value, path: self.path_of(name), faults: self.value.faults })
    }

    /// Every field by its name, as it was written.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.entries.iter().map(|entry| {
            let path = self.path_of(&entry.name);
            (entry.name.as_str(), Value { node: &entry.value, path, faults: self.value.faults })
        })
    }

    /// Reports a fault of the name of a field.
    pub(crate) fn fault_at(&self, name: &str, problem: Problem) {
        let entry = self.entries.iter().find(|entry| entry.name == name);
        let mark = entry.map_or(self.value.node.mark, |entry| entry.mark);
        self.value.faults.add(mark, self.path_of(name), problem);
    }

    /// The field, which has to be there; `example` shows how it could be written.
    pub(crate) fn need(&self, name: &'static str, example: &'static str) -> Option<Value<'a>> {
        self.get(name).or_else(|| self.value.fault(Problem::MissingField { name, example }))
    }

    /// `read` of the field; `default` where it was not said.
    pub(crate) fn or<T>(
        &self,
        name: &str,
        default: T,
        read: impl FnOnce(&Value<'a>) -> Option<T>,
    ) -> Option<T> {
        self.get(name).map_or(Some(default), |value| read(&value))
    }

    pub(crate) const fn value(&self) -> &Value<'a> {
        &self.value
    }

    fn path_of(&self, name: &str) -> String {
        match self.value.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }
}

//! What a page is made of, whatever it is written as.

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Span {
    Text(String),
    Code(String),
    Strong(String),
}

pub(super) type Line = Vec<Span>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// A section begins, with the name that links go to.
    Section {
        id: &'static str,
        title: &'static str,
    },
    /// A heading inside of one.
    Heading(&'static str),
    Paragraph(Line),
    List(Vec<Line>),
    Table(Table),
    /// Code in this language, and what it is.
    Code {
        language: &'static str,
        label: &'static str,
        text: String,
    },
}

/// A table, whose first column names its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) label: &'static str,
    pub(super) head: Vec<Line>,
    pub(super) rows: Vec<Vec<Line>>,
}

pub(super) fn code(text: impl Into<String>) -> Line {
    vec![Span::Code(text.into())]
}

/// The words of a language around values: what stands between backticks is code, and `{name}` is the value of that name. What a
/// value says is only ever shown.
pub(super) fn say(words: &'static str, values: &[(&str, &Line)]) -> Line {
    let mut line = Line::new();
    for (index, part) in words.split('`').enumerate() {
        if index % 2 == 1 {
            line.push(Span::Code(part.to_owned()));
            continue;
        }
        let mut rest = part;
        while let Some((before, after)) = rest.split_once('{') {
            push(&mut line, before);
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            let value = values.iter().find(|(known, _)| *known == name);
            line.extend(value.into_iter().flat_map(|(_, value)| value.iter().cloned()));
            rest = after;
        }
        push(&mut line, rest);
    }
    line
}

fn push(line: &mut Line, text: &str) {
    if !text.is_empty() {
        line.push(Span::Text(text.to_owned()));
    }
}

/// The lines with `between` between them.
pub(super) fn joined(lines: impl IntoIterator<Item = Line>, between: &'static str) -> Line {
    let mut whole = Line::new();
    for line in lines {
        if !whole.is_empty() {
            push(&mut whole, between);
        }
        whole.extend(line);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::{Span, code, joined, say};

    #[test]
    fn values_are_only_shown() {
        let hostile = code("`{b}` | <i>");
        let line =
            say("Send `x-key` to {a}, {b}.", &[("a", &hostile), ("b", &vec![Span::Text("{a}".to_owned())])]);
        let text = |text: &str| Span::Text(text.to_owned());
        let expected = [
            text("Send "),
            Span::Code("x-key".to_owned()),
            text(" to "),
            Span::Code("`{b}` | <i>".to_owned()),
            text(", "),
            text("{a}"),
            text("."),
        ];
        assert_eq!(line, expected);
        assert_eq!(joined([code("a"), code("b")], ", ").len(), 3);
    }
}

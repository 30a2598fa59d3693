//! From YAML events to a tree. What this file format has no use for (anchors, tags, several documents) is refused here.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, StructureStyle};

use crate::fault::Faults;
use crate::hint;
use crate::problem::Problem;
use crate::tree::{Content, Entry, Mark, Node};

/// Maps and lists inside each other; a policy needs 5.
const MAX_DEPTH: usize = 16;

/// Reads the one document of `text`. `None` where it is no YAML; less is reported and left out of the tree.
pub(crate) fn read(text: &str, faults: &Faults) -> Option<Node> {
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_anchor_events: true,
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: 64,
        block_nesting_limit: 64,
    };
    let parser = Parser::new_from_str_with_options(text, options);
    Reader { text, parser, faults, path: String::new(), depth: 0 }.document()
}

struct Reader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    faults: &'a Faults,
    /// Of the value that is being read.
    path: String,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// `None` from here on: reading cannot go on, and why has been reported.
    fn document(mut self) -> Option<Node> {
        let mut root = None;
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => break,
                (Event::DocumentStart(..), span) if root.is_some() => {
                    self.report(Mark::of(span), Problem::SeveralDocuments);
                    break;
                }
                (Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd, _) => {}
                (event, span) => root = Some(self.node(event, span)?),
            }
        }
        if root.as_ref().is_none_or(|root| matches!(root.content, Content::Nothing)) {
            self.report(Mark::START, Problem::Empty);
            return None;
        }
        root
    }

    fn next(&mut self) -> Option<(Event<'a>, Span)> {
        match self.parser.next_event()? {
            Ok(next) => Some(next),
            Err(error) => self.stop(&error),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Option<Node> {
        let mut mark = Mark::of(span);
        let tagged = event.tag().is_some();
        if tagged {
            self.report(span.tag_span().map_or(mark, Mark::of), Problem::Tag);
        }
        // An anchor is an event of its own, right after that of what it names.
        if event.anchor_id().is_some()
            && let (Event::Anchor(..), span) = self.next()?
        {
            self.report(Mark::of(span), Problem::Anchor);
        }
        let (content, end) = match event {
            Event::Scalar(text, style, ..) => (scalar(&text, style), None),
            Event::SequenceStart(style, ..) => {
                let (items, end) = self.nested(mark, Self::list)?;
                (Content::List(items), (style == StructureStyle::Flow).then_some(end))
            }
            Event::MappingStart(style, ..) => {
                let (entries, end) = self.nested(mark, Self::map)?;
                let flow = style == StructureStyle::Flow;
                // Without braces, a map is shown by its first name.
                mark = entries.first().filter(|_| !flow).map_or(mark, |entry| entry.mark);
                (Content::Map(entries), flow.then_some(end))
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.report(mark, Problem::Anchor);
                (Content::Faulty, None)
            }
            _ => (Content::Faulty, None),
        };
        let mark = end.map_or(mark, |end| mark.until(end));
        Some(Node { mark, content: if tagged { Content::Faulty } else { content } })
    }

    fn nested<T>(&mut self, mark: Mark, read: fn(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == MAX_DEPTH {
            self.report(mark, Problem::TooDeep { limit: MAX_DEPTH });
            return None;
        }
        self.depth = self.depth.saturating_add(1);
        let inner = read(self)?;
        self.depth = self.depth.saturating_sub(1);
        Some(inner)
    }

    fn list(&mut self) -> Option<(Vec<Node>, Span)> {
        let mut items = Vec::new();
        loop {
            let node = match self.next()? {
                (Event::SequenceEnd, span) => return Some((items, span)),
                (event, span) => self.at(&format!("[{}]", items.len()), |reader| reader.node(event, span))?,
            };
            items.push(node);
        }
    }

    fn map(&mut self) -> Option<(Vec<Entry>, Span)> {
        let mut entries = Vec::new();
        let mut lines = HashMap::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Some((entries, span));
            }
            let key = self.node(event, span)?;
            let name = match key.content {
                Content::Text { text, .. } => Some(text),
                Content::Faulty => None,
                _ => {
                    self.report(key.mark, Problem::FieldNotText);
                    None
                }
            };
            let step = name.as_deref().unwrap_or("?");
            let step = if self.path.is_empty() { step.to_owned() } else { format!(".{step}") };
            let value = self.at(&step, |reader| {
                let (event, span) = reader.next()?;
                reader.node(event, span)
            })?;
            let Some(name) = name else { continue };
            if let Some(&first_line) = lines.get(&name) {
                self.at(&step, |reader| {
                    reader
                        .report(key.mark, Problem::DuplicateField { name: name.as_str().into(), first_line });
                });
            } else {
                lines.insert(name.clone(), key.mark.line);
                entries.push(Entry { name, mark: key.mark, value });
            }
        }
    }

    fn at<T>(&mut self, step: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push_str(step);
        let result = read(self);
        self.path.truncate(length);
        result
    }

    fn report(&self, mark: Mark, problem: Problem) {
        self.faults.add(mark, self.path.clone(), problem);
    }

    fn stop<T>(&self, error: &ScanError) -> Option<T> {
        let mark = Mark::of(Span::empty(*error.marker()));
        // The parser reports a tab where it began to look for one, which may be a line before.
        let tab = if hint::is_tab(error.kind()) { tab_from(self.text, mark.line) } else { None };
        self.report(tab.unwrap_or(mark), Problem::syntax(error.kind()));
        None
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Content {
    let quoted = style != ScalarStyle::Plain;
    if !quoted && matches!(text, "" | "~" | "null" | "Null" | "NULL") {
        Content::Nothing
    } else {
        Content::Text { text: text.to_owned(), quoted }
    }
}

/// The first tab among what indents a line, from `line` on.
fn tab_from(text: &str, line: usize) -> Option<Mark> {
    text.split('\n').enumerate().skip(line.saturating_sub(1)).find_map(|(i, line)| {
        let indentation = line.len().saturating_sub(line.trim_start_matches([' ', '\t']).len());
        let tab = line.find('\t').filter(|tab| *tab < indentation)?;
        Some(Mark { line: i.saturating_add(1), column: tab.saturating_add(1), width: 1 })
    })
}

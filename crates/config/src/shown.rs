//! A policy as others may see it: without the passwords of URLs, which are the only secrets that a policy can hold. All others are
//! in variables of the environment, or in files.

use granit_parser::{Event, Parser, Span};

use crate::source::Source;

impl Source {
    /// The text without the passwords of URLs, however they are spelled; `None` where it is no YAML.
    #[must_use]
    pub fn without_passwords(&self) -> Option<String> {
        let text = self.text();
        let (mut shown, mut done) = (String::with_capacity(text.len()), 0);
        let mut parser = Parser::new_from_str(text);
        while let Some(next) = parser.next_event() {
            let (Event::Scalar(value, ..), span) = next.ok()? else { continue };
            let (start, end) = place(span)?;
            let (before, written) = (text.get(done..start)?, text.get(start..end)?);
            // What is written as it is meant is found by its looks, also in comments.
            if !written.contains(['\\', '\n']) {
                continue;
            }
            let clean = redacted(&value);
            if clean == *value {
                continue;
            }
            shown.push_str(&redacted(before));
            shown.push_str(&format!("{clean:?}"));
            shown.push_str(written.get(written.trim_end().len()..)?);
            done = end;
        }
        shown.push_str(&redacted(text.get(done..)?));
        Some(shown)
    }
}

fn place(span: Span) -> Option<(usize, usize)> {
    Some((span.start.byte_offset()?, span.end.byte_offset()?))
}

fn redacted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let end = after.find(|c: char| c.is_whitespace() || "/?#\"',}".contains(c)).unwrap_or(after.len());
        let (authority, behind) = after.split_at(end);
        // A password may hold what ends an authority: what comes before the last `@` of the word is not shown.
        let word = after.find(char::is_whitespace).unwrap_or(after.len());
        match after.split_at(word).0.rfind('@') {
            Some(at) => {
                shown.push('…');
                rest = after.split_at(at).1;
            }
            None => {
                shown.push_str(authority);
                rest = behind;
            }
        }
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::redacted;

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            ("url: redis://:s3cret@a:1/0 # x", "url: redis://…@a:1/0 # x"),
            ("url: \"redis://me:s3/cr\\\"et@a,b\"\nx: y@z", "url: \"redis://…@a,b\"\nx: y@z"),
            ("upstream: http://127.0.0.1:9000\nx: a@b", "upstream: http://127.0.0.1:9000\nx: a@b"),
            ("a: rediss://u:s3@cret@h b: http://p:s3cret@q", "a: rediss://…@h b: http://…@q"),
            ("", ""),
        ] {
            assert_eq!(redacted(text), shown);
        }
    }
}

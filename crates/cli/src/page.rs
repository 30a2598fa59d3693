//! HTML in the making. What is not written in this program is escaped: logs and policies are full of what others wrote.

use std::fmt::{self, Display, Write as _};

#[derive(Default)]
pub(crate) struct Page(String);

impl Page {
    /// Markup.
    pub(crate) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text, within an element or a quoted attribute.
    pub(crate) fn text(&mut self, text: impl Display) -> &mut Self {
        // Writing to a string does not fail.
        let _ = write!(Escaped(&mut self.0), "{text}");
        self
    }

    /// An element without attributes around a text.
    pub(crate) fn element(
        &mut self,
        open: &'static str,
        text: impl Display,
        close: &'static str,
    ) -> &mut Self {
        self.raw(open).text(text).raw(close)
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

struct Escaped<'a>(&'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // Pages carry no control characters, and those of directions turn around what follows.
                c if c.is_control()
                    || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
                {
                    self.0.push('\u{fffd}');
                }
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Page;

    #[test]
    fn text_is_only_text() {
        let mut page = Page::default();
        page.raw("<p>").text("<script>alert('\"&\0\u{202e}é").raw("</p>");
        let expected = "<p>&lt;script&gt;alert(&#39;&quot;&amp;\u{fffd}\u{fffd}é</p>";
        assert_eq!(String::from_utf8(page.into_bytes()).unwrap(), expected);
    }
}

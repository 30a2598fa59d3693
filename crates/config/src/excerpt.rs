//! The line that an error is in, as a terminal can show it.

use crate::tree::Mark;

/// A part of a line, and where in it the carets go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Characters before the carets.
    pub(crate) indent: usize,
    /// Carets, at least one.
    pub(crate) width: usize,
}

/// Longer lines are shown in part.
const MAX_WIDTH: usize = 110;

/// Characters that are kept before the place, where a line is shown in part.
const BEFORE: usize = 40;

impl Excerpt {
    /// `None` where the text is empty or ends before the line; where the place is `secret`, nothing from there on is shown.
    pub(crate) fn of(text: &str, mark: Mark, secret: bool) -> Option<Self> {
        let line = text.split('\n').nth(mark.line.checked_sub(1)?).filter(|_| !text.is_empty())?;
        let at = mark.column.saturating_sub(1);
        let mut line = masked(line);
        if secret {
            line = line.chars().take(at).chain(line.chars().skip(at).map(|_| '*')).collect();
        }
        let length = line.chars().count();
        let skipped = if length > MAX_WIDTH { at.saturating_sub(BEFORE) } else { 0 };
        let mut shown: String = line.chars().skip(skipped).take(MAX_WIDTH).map(Self::shown).collect();
        let end = skipped.saturating_add(MAX_WIDTH).min(length);
        if end < length {
            shown.push('…');
        }
        let lead = if skipped > 0 { "…" } else { "" };
        let width = mark.width.min(end.saturating_sub(at)).max(1);
        let indent = at.saturating_sub(skipped).saturating_add(lead.chars().count());
        Some(Self { text: format!("{lead}{shown}").trim_end().to_owned(), indent, width })
    }

    /// A character as it is shown: none moves the cursor, reverses the line or has no width.
    pub(crate) fn shown(c: char) -> char {
        match c {
            '\t' => ' ',
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => {
                '\u{fffd}'
            }
            c if c.is_control() => '\u{fffd}',
            c => c,
        }
    }
}

/// The line with what may be a secret made unreadable, character by character.
fn masked(line: &str) -> String {
    masked_keys(&masked_logins(line))
}

/// Whatever stands where the hash of an API key belongs and is none: it may be the key.
fn masked_keys(line: &str) -> String {
    let Some((before, value)) = line.split_once("api_key_hash") else { return line.to_owned() };
    let start = value.len().saturating_sub(value.trim_start_matches(['"', '\'', ':', ' ', '\t']).len());
    let (lead, value) = value.split_at(start);
    let digits = value.bytes().take_while(u8::is_ascii_hexdigit).count();
    let next = value.get(digits..).and_then(|rest| rest.chars().next());
    if digits == 64 && next.is_none_or(|c| !c.is_alphanumeric()) {
        return line.to_owned();
    }
    let hidden: String = value.chars().map(|c| if c.is_whitespace() { c } else { '*' }).collect();
    format!("{before}api_key_hash{lead}{hidden}")
}

/// Every password before a host (`scheme://user:password@host`, or without the scheme). Too much is hidden rather than too little.
pub(crate) fn masked_logins(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let start = word.find("://").map_or(0, |i| i.saturating_add(3));
        let (scheme, rest) = word.split_at(start);
        let (login, host) = rest.rsplit_once('@').map_or(("", rest), |(login, _)| rest.split_at(login.len()));
        let (name, secret) = login.split_at(login.find(':').unwrap_or(login.len()));
        shown.push_str(scheme);
        shown.push_str(name);
        shown.extend(secret.chars().map(|c| if c == ':' { c } else { '*' }));
        let end = if start > 0 { host.find('/').unwrap_or(host.len()) } else { 0 };
        let (servers, path) = host.split_at(end);
        shown.extend(servers.split_inclusive(',').map(masked_port));
        shown.push_str(path);
    }
    shown
}

/// `host:port`, or what stands after a colon and is no port: `user:password` whose `@host` was forgotten.
fn masked_port(server: &str) -> String {
    let colon = if server.starts_with('[') { None } else { server.find(':') };
    let (host, port) = server.split_at(colon.unwrap_or(server.len()));
    // Hints say `HOST:PORT`.
    let word = port.trim_matches(|c: char| !c.is_alphanumeric());
    let hidden = word != "PORT" && word.chars().any(char::is_alphabetic);
    let port = port.chars().map(|c| if hidden && c.is_alphanumeric() { '*' } else { c });
    host.chars().chain(port).collect()
}

#[cfg(test)]
mod tests {
    use super::{Excerpt, Mark};

    fn excerpt(text: &str, column: usize, width: usize) -> Option<(String, usize, usize)> {
        Excerpt::of(text, Mark { line: 1, column, width }, false).map(|e| (e.text, e.indent, e.width))
    }

    #[test]
    fn a_short_line_is_shown_whole_and_carets_stay_inside() {
        assert_eq!(excerpt("a: bc", 4, 2), Some(("a: bc".to_owned(), 3, 2)));
        assert_eq!(excerpt("a: bc\nd", 4, usize::MAX), Some(("a: bc".to_owned(), 3, 2)));
        assert_eq!(excerpt("é: ü", 4, 9), Some(("é: ü".to_owned(), 3, 1)));
        assert_eq!(excerpt("a", 9, 1), Some(("a".to_owned(), 8, 1)));
        assert_eq!(excerpt("", 1, 1), None);
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let (text, indent, width) = excerpt(&line, 501, 1).unwrap();
        assert_eq!((text.chars().count(), text.chars().nth(indent), width), (112, Some('X'), 1));
    }

    #[test]
    fn passwords_are_not_shown() {
        let shown = |line: &str| excerpt(line, 1, 1).unwrap().0;
        assert_eq!(shown("url: reds://ada:hunter2@h:1/2 # x@y"), "url: reds://ada:*******@h:1/2 # x@y");
        assert_eq!(shown("u: \"reds://:p@ss@h\", v: http://h"), "u: \"reds://:****@h\", v: http://h");
        assert_eq!(shown("url: http://ada@h"), "url: http://ada@h");
        assert_eq!(shown("url: http://u:p#w@h"), "url: http://u:***@h");
        assert_eq!(shown("url: 'http://u:p\"w@h'"), "url: 'http://u:***@h'");
        assert_eq!(shown("url: \"redis://ada:hunter2\""), "url: \"redis://ada:*******\"");
        assert_eq!(shown("url: redis://a:1,b:2/c http://[::1]:80"), "url: redis://a:1,b:2/c http://[::1]:80");
        assert_eq!(shown("upstream: u:pw@a:80 é"), "upstream: u:**@a:80 é");
    }

    #[test]
    fn what_would_steer_a_terminal_is_replaced() {
        assert_eq!(excerpt("\u{1b}[31m\t\u{202e}x", 1, 1).unwrap().0, "\u{fffd}[31m \u{fffd}x");
    }

    #[test]
    fn what_may_be_a_key_is_not_shown() {
        let hash = "0a".repeat(32);
        let as_it_is = format!("- {{ api_key_hash: {hash}, times: 1 }}");
        for (line, shown) in [
            (as_it_is.as_str(), as_it_is.as_str()),
            ("- api_key_hash: sk-1", "- api_key_hash: ****"),
            ("- api_key_hash: 'sk 1', plan: x", "- api_key_hash: '** *** ***** *"),
            ("- { api_key_hash: ab12, plan: x }", "- { api_key_hash: ***** ***** * *"),
            ("- \"api_key_hash\": sk-1", "- \"api_key_hash\": ****"),
        ] {
            assert_eq!(Excerpt::of(line, Mark::START, false).unwrap().text, shown);
        }
        let mark = Mark { line: 1, column: 3, width: 4 };
        assert_eq!(Excerpt::of("  sk-1", mark, true).unwrap().text, "  ****");
    }
}

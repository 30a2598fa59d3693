//! Clients that wait as they are told, in some languages.

/// What callers show of themselves in the examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Credential<'a> {
    None,
    /// An API key in this header.
    Key(&'a str),
    /// A token in this header.
    Token(&'a str),
}

impl Credential<'_> {
    /// The header, and a value that stands for that of the caller.
    const fn header(&self) -> Option<(&str, &'static str)> {
        match self {
            Self::None => None,
            Self::Key(header) if header.eq_ignore_ascii_case("authorization") => {
                Some((header, "Bearer YOUR_KEY"))
            }
            Self::Key(header) => Some((header, "YOUR_KEY")),
            Self::Token(header) => Some((header, "Bearer YOUR_TOKEN")),
        }
    }
}

/// A question by hand, whose answer is shown with its headers.
pub(super) fn question(url: &str, credential: Credential<'_>) -> String {
    let option = credential
        .header()
        .map(|(name, value)| format!(" -H {}", quoted(&format!("{name}: {value}"))))
        .unwrap_or_default();
    format!("curl -i{option} {}\n", quoted(url))
}

/// One word of a shell, whatever it has in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

pub(super) fn curl(base: &str, credential: Credential<'_>) -> String {
    let option =
        credential.header().map(|(name, value)| format!(" -H {}", quoted(&format!("{name}: {value}"))));
    filled(include_str!("retry.sh"), base, "HEADER_OPTION", option)
}

pub(super) fn python(base: &str, credential: Credential<'_>) -> String {
    let argument = credential.header().map(|(name, value)| format!(", {{\"{name}\": \"{value}\"}}"));
    filled(include_str!("retry.py"), base, "HEADERS_ARGUMENT", argument)
}

pub(super) fn rust(base: &str, credential: Credential<'_>) -> String {
    let call = credential.header().map(|(name, value)| format!(".header(\"{name}\", \"{value}\")"));
    filled(include_str!("retry.rs.txt"), base, "HEADER_CALL", call)
}

fn filled(template: &str, base: &str, mark: &str, header: Option<String>) -> String {
    template.replace(mark, &header.unwrap_or_default()).replace("BASE_URL", base)
}

#[cfg(test)]
mod tests {
    use super::{Credential, curl, question};

    #[test]
    fn nothing_leaves_its_quotes() {
        let asked = question("https://a.example/'`x`$(y)", Credential::Key("x'y"));
        assert_eq!(asked, "curl -i -H 'x'\\''y: YOUR_KEY' 'https://a.example/'\\''`x`$(y)'\n");
        assert!(
            curl("https://a.example", Credential::Token("authorization"))
                .contains(" -H 'authorization: Bearer YOUR_TOKEN' ")
        );
    }
}

//! `cupo docs`.

use std::path::PathBuf;

use clap::ValueEnum;

/// Write a page about the limits of a policy, for those who use the API.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The page says which limits there are, per whom and in which time, on every plan, which headers tell what is left, and what to do
on a 429, with clients to copy. Examples are made by what answers requests.

It does not say what is nobody's business: rules that only watch, rules that close something, the lists of who is allowed and
blocked, single callers, networks, and values of headers that rules ask for. Names of rules are told, as headers tell them.

Exit codes:
  0  the page was written
  1  the policy is wrong or cannot be read
  2  the options are wrong
  3  stdout or the file failed

Examples:
  cupo docs -c cupo.yaml --base-url https://api.example.com --output limits.md
  cupo docs -c cupo.yaml --format html --lang es --output limites.html")]
pub(crate) struct DocsArgs {
    /// The policy file (YAML). The variables that it names have to be set; its file of callers is not looked at.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// What to write: a page for a browser needs nothing but itself.
    #[arg(short, long, value_name = "FORMAT", default_value = "markdown")]
    pub(crate) format: PageFormat,
    /// The language of the page: English or Spanish.
    #[arg(short, long, value_name = "LANGUAGE", default_value = "en")]
    pub(crate) lang: PageLanguage,
    /// Where to write it [default: stdout].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Where callers find the API.
    #[arg(long, value_name = "URL", default_value = "https://api.example.com", value_parser = base_url)]
    pub(crate) base_url: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageFormat {
    Markdown,
    Html,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageLanguage {
    En,
    Es,
}

/// A URL that stands in shells and programs as it is: nothing in it ends a text there.
fn base_url(text: &str) -> Result<String, &'static str> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/[]%".contains(&b);
    match rest {
        Some(rest) if !rest.starts_with('/') && !rest.is_empty() && rest.bytes().all(legal) => {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err("write http:// or https://, a host, and perhaps a path, such as https://api.example.com/v1"),
    }
}

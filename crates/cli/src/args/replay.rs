//! The command line of `cupo replay`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::replay::Format;

/// Try policies on recorded traffic, in virtual time.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ReplayArgs {
    /// The policy file (YAML). Of several, up to eight, each decides every request by itself; then there is a summary.
    #[arg(required = true, num_args = 1..=8, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What to read, gzipped or not; - is stdin. Once for each file, in the order of time.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) input: Vec<PathBuf>,
    /// What a line is; auto finds it out by the first lines.
    #[arg(short, long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: FormatName,
    /// Print a summary in the end, and no line for each request.
    #[arg(short, long)]
    pub(crate) summary: bool,
    /// Also write a page with charts, which needs nothing but itself. There is a summary, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// A key whose balance the page shows, as the summary names it; up to four [default: the first one that is denied].
    #[arg(short, long, value_name = "KEY", requires = "html")]
    pub(crate) key: Vec<String>,
    /// Stop at the first line of a log that cannot be read, instead of leaving it out.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Where counters are kept: memory, or the URL of Redis or Valkey servers, under a prefix of their own that goes by
    /// itself a day later. What the file says of a Redis store does not count here.
    #[arg(long, value_name = "STORE", default_value = "memory")]
    pub(crate) store: String,
}

/// The format of the input, or that it is to be found out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FormatName(Option<Format>);

impl FormatName {
    /// The format, if it was named.
    pub(crate) const fn named(self) -> Option<Format> {
        self.0
    }
}

impl ValueEnum for FormatName {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self(None),
            Self(Some(Format::Events)),
            Self(Some(Format::Combined)),
            Self(Some(Format::NginxJson)),
            Self(Some(Format::Caddy)),
            Self(Some(Format::Envoy)),
            Self(Some(Format::Cupo)),
        ]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(self.0.map_or_else(|| "auto".into(), |format| format.name().into()))
    }
}

const HELP: &str = r#"Decides each request at its own time through the same engine that serves requests. No clock is read and nothing is waited
for. Access logs are read as combined or common (nginx, Apache), nginx-json, caddy, envoy, or cupo (of cupo serve); see
docs/replay.md for their fields. Lines of a log that cannot be read are counted and left out; the first are shown.

Events are JSON lines; each is answered by one line of JSON on stdout, in order, unless a summary is asked for.

Event (all but t_us optional; an unknown field is an error):
  {"t_us":0,"peer":"203.0.113.9","method":"GET","path":"/","headers":{"x-key":"k1"},"descriptors":{},"cost":1,"status":200}

  t_us         microseconds since the Unix epoch, below 2^52; time that steps back grants nothing extra
  peer         the address that the connection came from; proxies are trusted as the policy says
  method       GET if not said
  path         with the query if there is one; / if not said
  headers      name to value, or to a list of values for several lines
  descriptors  name to value: what other programs say of the request
  cost         multiples of a rule's cost; 0 is a peek; 1 if not said
  status       of the response, for rules that charge some only; without one, what they reserve stays charged

Answer:
  {"t_us":0,"allowed":true,"binding":"rule-name","decisions":[{"rule":"rule-name","key":"rule-name ip=203.0.113.9",
   "verdict":"admit","limit":5,"remaining":4,"retry_after_us":null,"reset_after_us":1000000,"delay_us":0}]}

  binding      the rule that decides: the one that denies longest, or has room for the fewest more
  verdict      admit, deny (wait retry_after_us) or impossible (the cost can never fit)
  shadow       true on decisions of rules that only watch
  lacks        the rule that refused the request because it lacks what the rule counts by (on_missing: deny)
  listed       allow or block, where the policy says so of the caller whatever the limits; entry tells which entry

Exit codes:
  0  every event was decided, or at least half of the lines of a log
  1  a policy, an event or most of a log is wrong, or a file cannot be read; what came before it has been answered
  3  stdin, stdout, the page or the store failed, or a file ended in the middle

Examples:
  cupo replay cupo.yaml --input /var/log/nginx/access.log --summary
  cupo replay cupo.yaml stricter.yaml -i access.log.1.gz -i access.log --html replay.html
  printf '%s\n' '{"t_us":0}' '{"t_us":1}' | cupo replay cupo.yaml"#;

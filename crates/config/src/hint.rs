//! What to do about a problem.

use cupo_core::{KeySpecError, LEAST_SECRET_BYTES, LimitError, RateError};
use granit_parser::ErrorKind;

use crate::decode::SCHEMES;
use crate::problem::{Expected, Found, Problem};

pub(crate) fn hint(problem: &Problem) -> String {
    match problem {
        Problem::Read(_) => "give the path of a file that exists and may be read".to_owned(),
        Problem::FileTooLarge { limit } if *limit > crate::MAX_FILE_BYTES => "callers of the same plan need no entries: let a token or a trusted header name it".to_owned(),
        Problem::FileTooLarge { .. } => "a policy of a thousand rules is shorter; is this the right file?".to_owned(),
        Problem::NotUtf8 => "save the file as UTF-8; Latin-1 and UTF-16 are not understood".to_owned(),
        Problem::Empty => "write at least one rule: `rules: [{ name: all, key: ip, limit: 100/minute }]`".to_owned(),
        Problem::SeveralDocuments => "drop the `---` and what follows it, or give each policy its own file".to_owned(),
        Problem::Syntax { remedy, .. } => (*remedy).to_owned(),
        Problem::TooDeep { .. } => "a policy needs 5 levels; check the brackets and the indentation".to_owned(),
        Problem::Anchor => "write the value out; put text that begins with `&` or `*` in quotes".to_owned(),
        Problem::Tag => "drop it; put text that begins with `!` in quotes".to_owned(),
        Problem::FieldNotText => "write fields as `name: value`; put text with [ ] { } in quotes".to_owned(),
        Problem::UnknownField { name, allowed } => did_you_mean(name, allowed),
        Problem::MissingField { example, .. } => format!("for example `{example}`"),
        Problem::DuplicateField { .. } | Problem::Conflict { .. } => "keep one of the two".to_owned(),
        Problem::Idle { without: "calendar", .. } => {
            "drop it, or write `calendar: day` in place of the window: an hour, day, week or month of that zone".to_owned()
        }
        Problem::Idle { .. } => "drop it".to_owned(),
        Problem::CostUnbounded => "write `{ header: x-cost, reserve: 10 }` for the response's, or `{ header: x-cost, max: 50 }` for that of a trusted caller".to_owned(),
        Problem::CostHeader(_) => "write letters, digits and hyphens, as in `x-cost`".to_owned(),
        Problem::Status(_) => "write numbers from 100 to 599, or classes such as `4xx`, as in `status: [401, 403]`".to_owned(),
        Problem::TimeZone { name, all } => time_zone(name, all),
        Problem::EmptyList => "write at least one item, or drop the field".to_owned(),
        Problem::NoFields => "write at least one `name: value`, or drop the field".to_owned(),
        Problem::WrongType { expected, found } => wrong_type(*expected, found).to_owned(),
        Problem::UnknownWord { text, allowed, .. } => did_you_mean(text, allowed),
        Problem::NotWhole(text) => not_whole(text),
        Problem::OutOfRange { min, max, unit: "", .. } => format!("write a whole number from {min} to {max}"),
        Problem::OutOfRange { min, max, unit, .. } => format!("write {min} to {max} {unit}"),
        Problem::NotASize(_) => {
            "write a whole number of bytes, or one with a unit: B, KiB, MiB or GiB, as in `64KiB` (1 KiB is 1024 bytes)"
                .to_owned()
        }
        Problem::Listen(_) => {
            "write an IP address and a port, as in `127.0.0.1:8080`, `0.0.0.0:8080` or `\"[::1]:8080\"`, or `unix:/PATH`".to_owned()
        }
        Problem::SocketPath(_) => {
            "write `unix:` and a path from the root of at most 107 bytes, as in `unix:/run/cupo/cupo.sock`".to_owned()
        }
        Problem::SocketMode(_) => "write three octal digits, as in `660`".to_owned(),
        Problem::RelayUntrusted { unix: false } => {
            "name those who send PROXY headers, as in `trusted_proxies: [10.0.0.0/8]`: what they say counts as the client".to_owned()
        }
        Problem::RelayUntrusted { unix: true } => "write `unix` among the `trusted_proxies`".to_owned(),
        Problem::Upstream(_) => "write `http://HOST:PORT` without a path, as in `http://127.0.0.1:9000`, or `demo`".to_owned(),
        Problem::UpstreamLogin => "write `http://HOST:PORT`; what clients send in `Authorization` is forwarded as it is".to_owned(),
        Problem::HttpsUpstream(_) => "write `http://HOST:PORT`, and let a proxy beside the upstream speak TLS".to_owned(),
        Problem::Network(_) => "write a network such as `10.0.0.0/8` or an address such as `192.0.2.7`".to_owned(),
        Problem::HostBits { network, .. } => {
            format!("write `{}` for the network, or `{}` for the host", network.trunc(), network.addr())
        }
        Problem::PlanFrom(_) => "write `callers`, `claim(NAME)` of a verified token, or `header(NAME)` from a trusted proxy".to_owned(),
        Problem::NoSecret(name) => format!("set it before the start, as in `export {name}=\"$(openssl rand -hex 32)\"`"),
        Problem::ShortSecret(_) => format!("at least {LEAST_SECRET_BYTES} bytes from a random source, as from `openssl rand -hex 32`"),
        Problem::AdminWithoutToken(_) => "write `tokens: [{ name: ops, token_env: CUPO_ADMIN_TOKEN }]`, or listen on 127.0.0.1 or on `unix:/PATH`".to_owned(),
        Problem::AdminName(_) => "write 1 to 64 characters from a to z, A to Z, 0 to 9 and - _ . : @, as in `ops`".to_owned(),
        Problem::AdminTokenText(_) => "take it from a random source, as from `openssl rand -hex 32`".to_owned(),
        Problem::AdminTokenTwice(_) => "give each bearer a name and a token of their own".to_owned(),
        Problem::Callers { .. } => "give the path of a file that exists and may be read; it counts from the folder of the policy file".to_owned(),
        Problem::EmptyCallers => "write `callers: []`, or an entry such as `callers: [{ user: alice, times: 10 }]`".to_owned(),
        Problem::CallerWithoutWho => "write one of `api_key_hash`, `user` and `ip`".to_owned(),
        Problem::CallerSaysNothing => "write `plan`, `times`, `blocked` or `unlimited`, or drop the entry".to_owned(),
        Problem::ApiKeyHash => "write the 64 hexadecimal digits that `cupo hash-key` prints, and never the key itself".to_owned(),
        Problem::OwnPath(_) => "write a path that begins with `/`, without `{`, `}` and `*`, as in `/.cupo/health`, or `none`".to_owned(),
        Problem::OwnPathTwice(_) => "choose another path, or `none`; spellings such as `//a` and `/a/` are one path".to_owned(),
        Problem::HostIsNoKey => "write `key: host` to count by it; a secret comes in a header of its own, as in `x-probe`".to_owned(),
        Problem::HeaderName(_) => "write letters, digits and hyphens, as in `X-Quota-Limit`".to_owned(),
        Problem::HeaderReserved(_) => "choose another name, as in `X-Quota-Limit`; a body has `content_type`".to_owned(),
        Problem::HeaderTwice(_) => "name each header once; letter case does not count".to_owned(),
        Problem::HeaderValue(_) => "write visible ASCII: no line breaks, no accents".to_owned(),
        Problem::ContentType(_) => "for example `text/html; charset=utf-8`".to_owned(),
        Problem::Jitter(_) => "write whole seconds up to an hour, as in `5s`, or `0s` for none".to_owned(),
        Problem::Language(_) => "write two or three letters, and perhaps a region, as in `fr` or `es-MX`".to_owned(),
        Problem::LanguageTwice(_) => "put all messages of a language together; letter case does not count".to_owned(),
        Problem::NoMessages(_) => "write its messages under `messages`, or choose `en` or `es`".to_owned(),
        Problem::Placeholder { allowed: [], .. } => "this message has none; write `{{` and `}}` to mean braces".to_owned(),
        Problem::Placeholder { name, allowed } => {
            format!("{}; write `{{{{` to mean a brace", did_you_mean(name, allowed))
        }
        Problem::Brace(_) => "write `{{` and `}}` to mean braces, or close the placeholder, as in `{limit}`".to_owned(),
        Problem::Origin(_) => "write it as browsers do, as in `https://app.example`, without a path, or `*` for any".to_owned(),
        Problem::AnyOrigin => "list the origins that may send credentials, or drop `credentials`".to_owned(),
        Problem::StoreIsUrl => "write `store: { redis: { url: redis://127.0.0.1:6379 } }`".to_owned(),
        Problem::StoreUrl => format!("write HOST:PORT after one of {}, as in `redis://127.0.0.1:6379`", SCHEMES.join(" ")),
        Problem::SecretAlgorithm => "write `algorithms: [HS256]`, or `keys_file` with public keys for the others".to_owned(),
        Problem::Leeway => "write `0s` to `5m`, as in `leeway: 30s`".to_owned(),
        Problem::ClaimWithoutTokens => "for example `jwt: { keys_file: jwks.json, algorithms: [RS256] }`".to_owned(),
        Problem::PlanWithoutTokens => "for example `jwt: { keys_file: jwks.json, algorithms: [RS256] }`, or drop the claim".to_owned(),
        Problem::PlanWithoutCallers => "write `callers: callers.yaml`, or drop `callers` here".to_owned(),
        Problem::PlanWithoutProxies => "name those who set the header, as in `trusted_proxies: [10.0.0.0/8]`: it does not count from anybody else".to_owned(),
        Problem::Unusable(_) => "mend what this field names, or name another; docs/policy.md says what it takes".to_owned(),
        Problem::Rate(error) => rate(error),
        Problem::Limit(error) => limit(error).to_owned(),
        Problem::Key(error) => key(error).to_owned(),
        Problem::Policy(problem) => policy(problem).to_owned(),
    }
}

/// The word that was probably meant, and all there are.
fn did_you_mean(text: &str, allowed: &[&str]) -> String {
    let all = allowed.join(", ");
    match nearest(text, allowed) {
        Some(near) => format!("did you mean `{near}`? Allowed here: {all}"),
        None => format!("allowed here: {all}"),
    }
}

/// A time zone that was probably meant: of a similar name, or of the same place.
fn time_zone(name: &str, all: &[String]) -> String {
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    let place = name.rsplit('/').next().unwrap_or(name);
    let is_there = |known: &&&str| {
        known.rsplit_once('/').is_some_and(|(_, last)| last.eq_ignore_ascii_case(&place.replace(' ', "_")))
    };
    let near = names.iter().find(is_there).copied().or_else(|| nearest(name, &names));
    let form = "a name of the IANA time zone database, as in `Europe/Madrid`, or `UTC`";
    near.map_or_else(|| format!("write {form}"), |near| format!("did you mean `{near}`? Write {form}"))
}

/// The one of `words` that `text` could be a slip of the pen of.
fn nearest<'a>(text: &str, words: &[&'a str]) -> Option<&'a str> {
    let length = text.chars().count();
    if length > 40 {
        return None;
    }
    let plain = |word: &str| word.to_ascii_lowercase().replace(['-', '_', ' '], "");
    let slips = |word: &&str| strsim::osa_distance(&plain(text), &plain(word));
    let near = words.iter().copied().min_by_key(|word| slips(word))?;
    (slips(&near) <= (length / 3).max(1)).then_some(near)
}

fn wrong_type(expected: Expected, found: &Found) -> &'static str {
    match (expected, found) {
        (Expected::Map, Found::Plain(text)) if text.contains(':') => {
            "write a space after the colon, as in `name: value`"
        }
        (Expected::Map, Found::Nothing) => {
            "write its fields in the lines below, further to the right, or drop the name"
        }
        (Expected::Map, Found::List) => "drop the `-` or the brackets: there is only one of it",
        (Expected::Map, _) => "write `{ name: value }`, or one `name: value` a line, further to the right",
        (Expected::List, Found::Nothing) => "write one `- item` a line below, or drop the name",
        (Expected::List, _) => "write `[one, two]`, or one `- item` a line",
        (Expected::Number, Found::Quoted(_)) => "drop the quotes",
        (Expected::Number, _) => "write digits, as in `100`",
        (Expected::Size, _) => "write a size such as `64KiB`, or a whole number of bytes",
        (Expected::Bool, _) => "write `true` or `false`: in lower case, without quotes",
        (Expected::Limit, _) => {
            "write a rate such as `100/minute`, or `{ algorithm: token_bucket, capacity: 20, refill: 10/second }`"
        }
        (Expected::Cost, _) => {
            "write `5`, `{ header: x-cost, reserve: 10 }`, `{ header: x-cost, max: 50 }` or `{ body: 64KiB, max: 100 }`"
        }
        (Expected::Proxies, _) => "write `[10.0.0.0/8, 192.0.2.7]`, or `{ hops: 1 }` for their number",
        (Expected::Store, _) => {
            "write `memory`, `{ memory: { max_bytes: 64MiB } }` or `{ redis: { url: redis://127.0.0.1:6379 } }`"
        }
        (Expected::HeaderTest, _) => "write `present`, the text that it has to be, or `{ regex: \"^2[.]\" }`",
        (Expected::Headers, _) => {
            "write `x-ratelimit`, or `{ limit: X-Quota-Limit, remaining: X-Quota-Remaining }`"
        }
        (Expected::Text | Expected::TextOrList, Found::Nothing) => {
            "write a value after the colon; the words `null` and `~` need quotes to be text"
        }
        (Expected::Text | Expected::TextOrList, _) => "write one value; put text with [ ] { } in quotes",
    }
}

fn not_whole(text: &str) -> String {
    let digits: String = text.chars().filter(|c| !matches!(c, '_' | ',' | ' ')).collect();
    let is_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let hex = text.strip_prefix("0x").and_then(|s| u64::from_str_radix(s, 16).ok());
    let octal = text.strip_prefix("0o").and_then(|s| u64::from_str_radix(s, 8).ok());
    if text.starts_with('-') {
        "write 0 or more".to_owned()
    } else if let Some(number) = hex.or(octal) {
        format!("write it in decimal digits: `{number}`")
    } else if is_digits(text) {
        "drop the leading zeros, which some programs read as octal".to_owned()
    } else if is_digits(&digits) {
        format!("write it without separators: `{digits}`")
    } else {
        "write decimal digits only, as in `100`: no sign, point, exponent or separator".to_owned()
    }
}

fn rate(error: &RateError) -> String {
    match error {
        RateError::NoUnit { text } if !text.contains('/') => {
            format!("write `{text}s` for seconds, `{text}m` for minutes")
        }
        RateError::Calendar { text, days, .. } if !text.contains(['/', 'p']) => {
            format!("for example `{days}d`")
        }
        RateError::Calendar { text, calendar, .. } => {
            let count = text.split(['/', 'p']).next().unwrap_or_default().trim();
            let count =
                if !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()) { count } else { "100" };
            format!(
                "for example `limit: {{ algorithm: fixed_window, count: {count}, calendar: {calendar}, time_zone: UTC }}`"
            )
        }
        RateError::Unit { text, .. } | RateError::Length { text, .. } if !text.contains(['/', 'p']) => {
            "for example `10s`".to_owned()
        }
        _ => "for example `100/minute`, or `5/10s`".to_owned(),
    }
}

fn limit(error: &LimitError) -> &'static str {
    match error {
        LimitError::BurstOnNothing { .. } => "for example `{ rate: 100/minute, burst: 10 }`",
        LimitError::NeverRefills { .. } => "for example `refill: 1/second`",
        _ => "for example `100/minute`",
    }
}

fn key(error: &KeySpecError) -> &'static str {
    match error {
        KeySpecError::Argument { .. } => "for example `header(x-team)`",
        KeySpecError::Twice { .. } => "for example `[user, route]`",
        _ => "for example `ip`, `api_key | ip` for the first that is present, or `[user, route]` for both",
    }
}

fn policy(problem: &cupo_core::Problem) -> &'static str {
    use cupo_core::Problem as P;
    match problem {
        P::NoRules => "for example `rules: [{ name: all, key: ip, limit: 100/minute }]`",
        P::Name(_) => "for example `name: per-client`",
        P::DuplicateName { .. } => "for example `name: login-by-user` beside `name: login-by-ip`",
        P::ZeroCost | P::CostAboveQuota { .. } => "for example `cost: 1`",
        P::ZeroReserve => "for example `reserve: 10`",
        P::CostAboveShare { .. } => "for example `on_store_error: deny`",
        P::DefaultAboveMax { .. } => "for example `{ header: x-cost, max: 50, default: 1 }`",
        P::ZeroUnit => "for example `{ body: 64KiB, max: 100 }`",
        P::SettleInSlots => {
            "for example `limit: { algorithm: token_bucket, capacity: 50, refill: 10/second }`"
        }
        P::NoStatuses | P::Status { .. } => "for example `when: { status: [401, 403] }`",
        P::DelayWithoutSlots => {
            "for example `limit: { algorithm: leaky_bucket, rate: 10/second, queue: 50 }`"
        }
        P::Method(_) => "for example `method: [GET, HEAD]`",
        P::Host(_) => "for example `host: [api.example.com, \"*.example.org\"]`",
        P::HostHeader => "for example `match: { host: api.example.com }`",
        P::HeaderBlanks(_) => "for example `x-kind: batch`",
        P::Regex { .. } => {
            "for example `{ regex: \"^2[.]\" }`; a backslash needs single quotes, as in `'^2\\.'`"
        }
        P::NotEverything | P::NeverMatches => {
            "for example `match: { path: \"/users/**\", not: { path: /users/me } }`"
        }
        P::StopsAll => "for example `match: { path: /hooks }` beside `stop: true`",
        P::Path(_) => "for example `path: \"/hooks/{id}\"`, or `path: \"/search/**\"` for everything below",
        P::EntryName(_) | P::DuplicateEntry(_) => "for example `name: health`",
        P::EntryForAll | P::AllowAllBut => "for example `{ name: health, path: /healthz }`",
        P::ShortSecret { .. } => "take it from a random source, as from `openssl rand -hex 32`",
        P::HeaderName(_) => "for example `x-api-key`",
        P::PlanName(_) | P::NoPlans => "for example `plans: { free: { requests: 100/hour } }`",
        P::UnknownPlan { .. } | P::UnknownNumber { .. } => "write one of them, in the same letter case",
        P::TierLacks { .. } => "for example `requests: 100/hour`",
        P::CallersNotAsked => "for example `plan: { from: [callers], default: free }`",
        P::CallerTwice { .. } => "for example `{ user: alice, plan: premium, times: 10 }`",
        P::EmptyUser => "for example `user: alice`",
        P::BlockedAndUnlimited | P::ZeroTimes => "for example `{ user: mallory, blocked: true }`",
        P::Times { .. } => "for example `times: 10`",
        _ => "see docs/policy.md",
    }
}

/// What to do about text that is not YAML.
pub(crate) fn syntax(kind: &ErrorKind) -> &'static str {
    use ErrorKind as E;
    match kind {
        kind if is_tab(kind) => "indent with spaces; YAML allows no tabs there",
        E::UnclosedQuotedScalar => "close the quote that begins here",
        E::UnclosedFlowCollection { .. }
        | E::MismatchedFlowCollectionEnd { .. }
        | E::MisplacedFlowCollectionEnd
        | E::ExpectedFlowMappingSeparator
        | E::ExpectedFlowSequenceSeparator
        | E::UnexpectedEofFlowMapping
        | E::UnexpectedEofFlowSequence => {
            "check that brackets and commas match; put text with [ ] { } , in quotes, as in `\"/hooks/{id}\"`"
        }
        E::DirectiveDisallowed => "drop the line: a policy file has no `%` directives",
        E::UnexpectedCharacter { .. } => {
            "put text that begins with @ ` % or has unusual characters in quotes"
        }
        E::UnknownQuotedScalarEscape | E::InvalidQuotedScalarHexEscape => {
            "write `\\\\` for a backslash in double quotes, or use single quotes"
        }
        E::InvalidColonPlacement => {
            "close the bracket or the quote before this line; put text with `: ` in quotes"
        }
        E::MappingValueNotAllowed | E::SimpleKeyExpected | E::InvalidSimpleKey => {
            "write one `name: value` a line, all names of a map in one column; put text with `: ` in quotes"
        }
        E::InvalidIndentation
        | E::ExpectedBlockMappingKey
        | E::ExpectedBlockSequenceEntry
        | E::BlockSequenceEntryNotAllowed => {
            "begin the fields of a map, and the `-` of a list, in one column; put text that begins with [ or { in quotes"
        }
        _ => "check indentation, colons and brackets; put text with any of : # [ ] { } , & * ! in quotes",
    }
}

pub(crate) const fn is_tab(kind: &ErrorKind) -> bool {
    use ErrorKind as E;
    matches!(kind, E::TabNotAllowed | E::TabInBlockIndentation | E::TabInIndentation | E::TabInPlainScalar)
}

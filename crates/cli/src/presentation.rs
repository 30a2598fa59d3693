//! From what the policy file says about responses to how callers are answered.

use std::time::Duration;

use cupo_config::{
    Config, ConfigErrors, HeadersSource, MessageSource, Preflight, ResetAs as SaidReset, RuleResponseSource,
    UpstreamHeaders,
};
use cupo_http::{
    Cors, Dialect, Dialects, FieldNames, MessageKind, Messages, Presentation, PresentationError,
    PresentationSource, ResetAs, RuleBody, RuleResponse, Template, UpstreamFields,
};

/// How callers are answered by this policy.
///
/// # Errors
/// [`ConfigErrors`] with the place of what contradicts itself. What the file takes is taken here too, as far as tests know.
pub(crate) fn of(config: &Config) -> Result<Presentation, ConfigErrors> {
    prepare(config).map_err(|Wrong { at, error }| config.unusable(&at, error))
}

/// What is wrong, and where.
struct Wrong {
    at: String,
    error: PresentationError,
}

/// Says where an error is.
fn at(path: impl Into<String>) -> impl FnOnce(PresentationError) -> Wrong {
    let at = path.into();
    |error| Wrong { at, error }
}

fn prepare(config: &Config) -> Result<Presentation, Wrong> {
    let said = &config.responses;
    let mut source = PresentationSource::default();
    if let Some(forms) = &said.headers {
        source.dialects = Dialects::NONE;
        for (i, form) in forms.iter().enumerate() {
            add(form, &mut source).map_err(at(format!("responses.headers[{i}]")))?;
        }
    }
    source.upstream_fields = match said.upstream_headers {
        Some(UpstreamHeaders::Keep) => UpstreamFields::Keep,
        Some(UpstreamHeaders::Replace) => UpstreamFields::Replace,
        _ => UpstreamFields::Tighter,
    };
    source.retry_after_jitter = said.retry_after_jitter.unwrap_or(Duration::ZERO);
    source.count_preflights = said.preflight == Some(Preflight::Count);
    if let Some(language) = &said.language {
        source.language = language.as_str().into();
    }
    for message in &said.messages {
        let path = format!("responses.messages.{}.{}", message.language, message.kind);
        set(message, &mut source.messages).map_err(at(path))?;
    }
    if let Some(cors) = &said.cors {
        let cors = Cors::new(cors.origins.iter().map(String::as_str), cors.credentials);
        source.cors = Some(cors.map_err(at("responses.cors"))?);
    }
    for rule in &said.rules {
        let index = config.policy.rules().iter().position(|known| known.name() == rule.rule);
        let path = format!("rules[{}].response", index.unwrap_or_default());
        source.responses.insert(rule.rule.as_str().into(), response(rule, &path)?);
    }
    Presentation::new(source).map_err(|error| {
        let path = match &error {
            PresentationError::NoMessages(_) => "responses.language",
            PresentationError::Jitter => "responses.retry_after_jitter",
            _ => "responses.headers",
        };
        at(path)(error)
    })
}

fn add(form: &HeadersSource, source: &mut PresentationSource) -> Result<(), PresentationError> {
    match form {
        HeadersSource::Dialect(dialect) => {
            // Both crates know the same names: a test sees to it.
            let dialect = Dialect::from_name(dialect.name());
            source.dialects = dialect.map_or(source.dialects, |dialect| source.dialects.with(dialect));
        }
        HeadersSource::Names { limit, remaining, reset, reset_as } => {
            let reset_as = match reset_as {
                SaidReset::Delta => ResetAs::Delta,
                _ => ResetAs::Epoch,
            };
            let names = FieldNames::new(limit.as_deref(), remaining.as_deref(), reset.as_deref(), reset_as)?;
            source.names.push(names);
        }
        _ => {}
    }
    Ok(())
}

fn set(message: &MessageSource, messages: &mut Messages) -> Result<(), PresentationError> {
    let Some(kind) = MessageKind::from_name(message.kind) else { return Ok(()) };
    let template = Template::parse(&message.text, kind)?;
    messages.set(&message.language, kind, message.title.as_deref(), template)
}

fn response(said: &RuleResponseSource, path: &str) -> Result<RuleResponse, Wrong> {
    let mut response = RuleResponse::default();
    let within = |field: &str| at(format!("{path}.{field}"));
    if let Some(status) = said.status {
        response = response.status(status).map_err(within("status"))?;
    }
    for (name, value) in &said.headers {
        response = response.header(name, value).map_err(within(&format!("headers.{name}")))?;
    }
    if let Some((content_type, body)) = &said.body {
        let body = RuleBody::fixed(content_type, body.clone()).map_err(within("content_type"))?;
        return Ok(response.body(body));
    }
    if said.messages.is_empty() {
        return Ok(response);
    }
    let mut messages = Messages::none();
    for message in &said.messages {
        let wrong = || within(&format!("message.{}", message.language));
        set(message, &mut messages).map_err(wrong())?;
        // It also says that waiting does not help, unless it says how long to wait.
        if let Ok(template) = Template::parse(&message.text, MessageKind::Impossible) {
            let title = message.title.as_deref();
            messages.set(&message.language, MessageKind::Impossible, title, template).map_err(wrong())?;
        }
    }
    Ok(response.body(RuleBody::Messages(messages)))
}

#[cfg(test)]
mod tests {
    use cupo_config::{Config, HeaderDialect};
    use cupo_http::{Dialect, MessageKind};

    fn parsed(responses: &str, response: &str) -> Option<Config> {
        let text = format!(
            "responses: {{ {responses} }}\nrules: [{{ name: all, key: ip, limit: 1/s, response: {{ {response} }} }}]"
        );
        cupo_config::parse("p.yaml", &text).ok()
    }

    #[test]
    fn both_crates_know_the_same_dialects() {
        let said: Vec<&str> = HeaderDialect::ALL.iter().map(|dialect| dialect.name()).collect();
        let known: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        assert_eq!(said, known);
    }

    /// What no file can say yet, since both crates know the same: it has its place all the same.
    #[test]
    fn what_is_found_out_late_has_its_place() {
        let text = "responses:
  language: en
  headers: [ietf-06, { limit: X-Quota }]
  retry_after_jitter: 5s
  messages: { fr: { exceeded: a } }
  cors: { origins: \"*\" }
rules:
  - { name: one, key: ip, limit: 1/s }
  - { name: two, key: ip, limit: 1/s, response: { status: 404, headers: { X-A: b } } }
  - { name: three, key: ip, limit: 1/s, response: { content_type: text/html, body: a } }
  - { name: four, key: ip, limit: 1/s, response: { message: { en: a } } }
";
        let told = |change: fn(&mut Config)| {
            let mut config = cupo_config::parse("p.yaml", text).unwrap();
            change(&mut config);
            let errors = super::of(&config).unwrap_err();
            let error = errors.iter().next().unwrap();
            format!("{}:{} {}: {}", error.line(), error.column(), error.path(), error.message())
        };
        let none = "`xx-` is not a language tag";
        type Change = fn(&mut Config);
        let cases: [(Change, String); 9] = [
            (|config| config.responses.language = Some("it".to_owned()), "2:13 responses.language: there are no messages in `it`".to_owned()),
            (
                |config| {
                    let twice = config.responses.headers.clone().unwrap().remove(1);
                    config.responses.headers.as_mut().unwrap().push(twice);
                },
                "3:12 responses.headers: the header `x-quota` is named twice".to_owned(),
            ),
            (
                |config| config.responses.retry_after_jitter = Some(std::time::Duration::from_millis(1)),
                "4:23 responses.retry_after_jitter: a jitter is whole seconds, at most an hour".to_owned(),
            ),
            (
                |config| config.responses.messages[0].text = "{".to_owned(),
                "5:31 responses.messages.fr.exceeded: a single brace at character 1: write it twice to mean a brace".to_owned(),
            ),
            (
                |config| config.responses.cors.as_mut().unwrap().credentials = true,
                "6:9 responses.cors: any origin (`*`) cannot be allowed credentials".to_owned(),
            ),
            (
                |config| config.responses.rules[0].status = Some(200),
                "9:59 rules[1].response.status: the status 200 is not an error from 400 to 599".to_owned(),
            ),
            (
                |config| config.responses.rules[0].headers[0].1 = "\n".to_owned(),
                "9:73 rules[1].response.headers.x-a: the header `x-a` cannot have this value".to_owned(),
            ),
            (
                |config| config.responses.rules[1].body.as_mut().unwrap().0 = "text".to_owned(),
                "10:67 rules[2].response.content_type: the header `content-type` cannot have this value".to_owned(),
            ),
            (|config| config.responses.rules[2].messages[0].language = "xx-".to_owned(), format!("11:61 rules[3].response.message.xx-: {none}")),
        ];
        for (change, expected) in cases {
            assert_eq!(told(change), expected);
        }
    }

    /// What the file takes is taken, so that every error has its line.
    #[test]
    fn both_crates_know_the_same_placeholders() {
        let names = ["limit", "window", "retry_after", "rule", "remaining", "key", "other", ""];
        for kind in MessageKind::ALL {
            for name in names {
                let message = format!("messages: {{ en: {{ {}: \"a {{{name}}} b {{{{\" }} }}", kind.name());
                let config = parsed(&message, "");
                assert_eq!(config.is_some(), kind.placeholders().contains(&name), "{kind:?}, {name}");
                assert!(config.is_none_or(|config| super::of(&config).is_ok()), "{kind:?}, {name}");
            }
        }
    }

    #[test]
    fn both_crates_have_the_same_lists_of_headers() {
        assert_eq!(cupo_config::RESERVED_HEADERS, cupo_http::RESERVED_FIELDS);
        assert_eq!(cupo_config::MEANT_HEADERS, cupo_http::MEANT_FIELDS);
    }

    #[test]
    fn both_crates_know_the_same_headers() {
        let names = [
            "X-Quota",
            "Accept-Ranges",
            "Age",
            "Connection",
            "Content-Encoding",
            "Content-Language",
            "Content-Length",
            "Content-Range",
            "Content-Type",
            "Date",
            "Host",
            "Keep-Alive",
            "Proxy-Authenticate",
            "Proxy-Connection",
            "Retry-After",
            "TE",
            "Trailer",
            "Transfer-Encoding",
            "Upgrade",
            "Via",
            "grpc-status",
            "Set-Cookie",
            "WWW-Authenticate",
            "Cache-Control",
            "Location",
            "Vary",
            "Access-Control-Allow-Origin",
            "Sec-Fetch-Mode",
            "X Quota",
            "ñ",
            "",
            "X:Y",
            "x-ratelimit-limit",
            "ratelimit",
        ];
        let (mut taken, mut refused) = (0, 0);
        for name in names {
            for (responses, response) in [
                (format!("headers: [{{ limit: \"{name}\" }}]"), String::new()),
                (String::new(), format!("headers: {{ \"{name}\": a }}")),
            ] {
                match parsed(&responses, &response) {
                    Some(config) => {
                        assert!(super::of(&config).is_ok(), "{responses} {response}");
                        taken += 1;
                    }
                    None => refused += 1,
                }
            }
        }
        assert!(taken >= 8 && refused >= 40, "{taken} taken, {refused} refused");
    }

    #[test]
    fn both_crates_know_the_same_tags_origins_and_types() {
        let texts = [
            "en",
            "es-MX",
            "english",
            "e",
            "zh-Hant-TW",
            "en-",
            "https://a.example",
            "https://a.example:8443",
            "https://a.example/",
            "https://A.example",
            "https://[::1]",
            "https://[::1]:1",
            "null",
            "*",
            "text/html",
            "text/",
            "/",
            "a.example",
            "http://",
            "https://a_b.example",
            "https://a.example:",
            "https://a.example:99999",
        ];
        for text in texts {
            for (responses, response) in [
                (format!("messages: {{ \"{text}\": {{ exceeded: a }} }}"), String::new()),
                (format!("cors: {{ origins: [\"{text}\"], credentials: true }}"), String::new()),
                (format!("cors: {{ origins: \"{text}\" }}"), String::new()),
                (String::new(), format!("body: a, content_type: \"{text}\"")),
            ] {
                let config = parsed(&responses, &response);
                assert!(config.is_none_or(|config| super::of(&config).is_ok()), "{responses} {response}");
            }
        }
    }
}

//! From what the policy file says about responses to how callers are answered.

use std::time::Duration;

use cupo_config::{
    HeadersSource, MessageSource, Preflight, ResetAs as SaidReset, ResponsesSource, RuleResponseSource,
    UpstreamHeaders,
};
use cupo_http::{
    Cors, Dialect, Dialects, FieldNames, MessageKind, Messages, Presentation, PresentationError,
    PresentationSource, ResetAs, RuleBody, RuleResponse, Template, UpstreamFields,
};

/// How callers are answered by this policy.
pub(crate) fn of(said: &ResponsesSource) -> Result<Presentation, PresentationError> {
    let mut source = PresentationSource::default();
    if let Some(forms) = &said.headers {
        source.dialects = Dialects::NONE;
        for form in forms {
            add(form, &mut source)?;
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
        set(message, &mut source.messages)?;
    }
    if let Some(cors) = &said.cors {
        source.cors = Some(Cors::new(cors.origins.iter().map(String::as_str), cors.credentials)?);
    }
    for rule in &said.rules {
        source.responses.insert(rule.rule.as_str().into(), response(rule)?);
    }
    Presentation::new(source)
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

fn response(said: &RuleResponseSource) -> Result<RuleResponse, PresentationError> {
    let mut response = RuleResponse::default();
    if let Some(status) = said.status {
        response = response.status(status)?;
    }
    for (name, value) in &said.headers {
        response = response.header(name, value)?;
    }
    if let Some((content_type, body)) = &said.body {
        return Ok(response.body(RuleBody::fixed(content_type, body.clone())?));
    }
    if said.messages.is_empty() {
        return Ok(response);
    }
    let mut messages = Messages::none();
    for message in &said.messages {
        set(message, &mut messages)?;
        // It also says that waiting does not help, unless it says how long to wait.
        if let Ok(template) = Template::parse(&message.text, MessageKind::Impossible) {
            messages.set(&message.language, MessageKind::Impossible, message.title.as_deref(), template)?;
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

    /// What the file takes is taken, so that every error has its line.
    #[test]
    fn both_crates_know_the_same_placeholders() {
        let names = ["limit", "window", "retry_after", "rule", "remaining", "key", "other", ""];
        for kind in MessageKind::ALL {
            for name in names {
                let message = format!("messages: {{ en: {{ {}: \"a {{{name}}} b {{{{\" }} }}", kind.name());
                let config = parsed(&message, "");
                assert_eq!(config.is_some(), kind.placeholders().contains(&name), "{kind:?}, {name}");
                assert!(config.is_none_or(|config| super::of(&config.responses).is_ok()), "{kind:?}, {name}");
            }
        }
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
                        assert!(super::of(&config.responses).is_ok(), "{responses} {response}");
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
                assert!(
                    config.is_none_or(|config| super::of(&config.responses).is_ok()),
                    "{responses} {response}"
                );
            }
        }
    }
}

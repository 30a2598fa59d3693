//! Files that load, and what they say.

#![allow(clippy::panic, clippy::unwrap_used)]

use std::num::NonZeroUsize;
use std::time::Duration;

use cupo_config::{
    Config, GatewaySource, ListenSource, MemoryBound, OwnPath, ProxyProtocol, StoreSource, UpstreamProtocol,
    UpstreamSource, load,
};
use cupo_core::{Action, Algorithm, ClientAddressHeader, OnMissing, Proxies};

fn good(name: &str) -> Config {
    load(format!("tests/good/{name}.yaml")).unwrap_or_else(|errors| panic!("{errors}"))
}

fn shown(config: &Config) -> Vec<String> {
    let rules = config.policy.rules().iter();
    rules
        .map(|r| {
            format!(
                "{}: {}, {}, {}, cost {}, {}, {}",
                r.name(),
                r.describe_match(),
                r.key(),
                r.limits().next().flatten().unwrap(),
                r.cost(),
                r.action(),
                r.on_missing()
            )
        })
        .collect()
}

#[test]
fn the_file_of_the_handbook() {
    let config = good("handbook");
    assert_eq!(config.gateway.listen, Some(ListenSource::Tcp("127.0.0.1:8080".parse().unwrap())));
    assert_eq!(
        config.gateway.upstream,
        Some(UpstreamSource::Http { host: "127.0.0.1".to_owned(), port: 9000 })
    );
    assert_eq!(config.store, StoreSource::Memory { bound: None });
    assert_eq!(config.policy.trust().proxies, vec!["10.0.0.0/8".parse().unwrap()].into());
    assert_eq!(
        shown(&config),
        [
            "global: every request, global, sliding_window_counter, 10000 per 1m, cost 1, deny, shared",
            "per-client: every request, api_key | ip, token_bucket, capacity 20, refill 10 per 1s, cost 1, deny, shared",
            "login: POST /login, ip, sliding_window_log, 5 per 1m, cost 1, deny, shared",
            "search: /search/**, [user, route], fixed_window, 100 per 1h, cost 5, deny, shared",
            "webhooks: /hooks/{id}, ip, leaky_bucket, rate 10 per 1s, queue 50, cost 1, delay, shared",
        ]
    );
}

#[test]
fn every_setting() {
    let config = good("every-setting");
    let GatewaySource {
        listen,
        socket_mode,
        proxy_protocol,
        upstream,
        upstream_protocol,
        health_path,
        access_log,
        workers,
        timeouts,
        limits,
        ..
    } = config.gateway;
    assert_eq!(listen, Some(ListenSource::Tcp("[::1]:8080".parse().unwrap())));
    assert_eq!(socket_mode, Some(0o600));
    assert_eq!(proxy_protocol, Some(ProxyProtocol::Any));
    assert_eq!(upstream.unwrap().to_string(), "http://app.internal:80");
    assert_eq!(upstream_protocol, Some(UpstreamProtocol::Http2));
    assert_eq!(health_path, Some(OwnPath::Nowhere));
    assert_eq!(access_log, Some(true));
    assert_eq!(workers, NonZeroUsize::new(4));
    assert_eq!(timeouts.connect, Some(Duration::from_millis(500)));
    assert_eq!(timeouts.request_header, Some(Duration::from_secs(10)));
    assert_eq!(timeouts.response_header, Some(Duration::from_secs(60)));
    assert_eq!(timeouts.idle, Some(Duration::from_secs(120)));
    assert_eq!(timeouts.keep_alive, Some(Duration::from_secs(75)));
    assert_eq!(timeouts.drain, Some(Duration::from_secs(3600)));
    assert_eq!(limits.header_bytes, Some(65_536));
    assert_eq!(limits.headers, Some(50));
    assert_eq!(limits.target_bytes, Some(4_096));
    assert_eq!(limits.body_bytes, Some(10_485_760));
    assert_eq!(limits.response_header_bytes, Some(131_072));
    assert_eq!(limits.connections, Some(1_000));
    assert_eq!(limits.concurrent_streams, Some(100));
    assert_eq!(config.store, StoreSource::Memory { bound: Some(MemoryBound::Bytes(67_108_864)) });
    let admin = config.admin.unwrap();
    assert_eq!(admin.listen, ListenSource::Unix("/run/cupo/admin.sock".into()));
    assert_eq!((admin.socket_mode, admin.tls.unwrap().client_ca_file), (Some(0o640), Some("ca.pem".into())));
    let may: Vec<_> = admin.tokens.iter().map(|t| (t.name.as_str(), t.may_read, t.may_change)).collect();
    assert_eq!(may, [("ops", true, true), ("watch", true, false)]);
    assert!(!format!("{:?}", admin.tokens).contains(env!("CARGO_MANIFEST_DIR")), "a token is not shown");
    let trust = config.policy.trust();
    let Proxies::Known { networks, unix: false } = &trust.proxies else { panic!("{trust:?}") };
    let proxies: Vec<String> = networks.iter().map(ToString::to_string).collect();
    assert_eq!(proxies, ["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32", "::1/128"]);
    assert_eq!(trust.client_address_header.name(), "x-real-ip");
    assert_eq!(trust.ipv6_prefix, 56);
    assert_eq!(trust.api_key_header, "x-api-token");
    assert_eq!(trust.user_header, "x-authenticated-user");
}

#[test]
fn every_condition() {
    let config = good("every-condition");
    let said: Vec<_> = config.policy.rules().iter().map(|r| (r.describe_match(), r.stops())).collect();
    let all = "GET or POST /users/{id}/posts/** on *.example.org or api.example.com \
               from 10.0.0.0/8 or 192.0.2.7/32 or 2001:db8::/32 \
               with x-beta and x-quoted and x-kind equal to `batch job` and x-number equal to `2` \
               and x-word equal to `present` and x-version like `^2\\.`, \
               but not (/users/me/**), but not (POST requests, but not (every request from 10.1.0.0/16))";
    let one = "GET requests on a.example from 192.0.2.7/32, but not (/healthz)";
    assert_eq!(said, [(all.to_owned(), true), (one.to_owned(), false)]);
}

#[test]
fn proxies_by_number_by_socket_and_by_network() {
    let parse = |text: &str| {
        let text = format!("{text}\nrules: [{{ name: all, key: ip, limit: 1/s }}]");
        cupo_config::parse("p.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"))
    };
    let config = parse("trusted_proxies: { hops: 2 }\nproxy_protocol: any\nclient_address_header: Forwarded");
    assert_eq!(config.policy.trust().proxies, Proxies::Hops(2.try_into().unwrap()));
    assert_eq!(config.policy.trust().client_address_header, ClientAddressHeader::Forwarded);
    assert_eq!(config.gateway.proxy_protocol, Some(ProxyProtocol::Any));

    let config = parse("trusted_proxies: [unix, '::ffff:10.0.0.0/104', '::ffff:192.0.2.7', 64:ff9b::7f00:1]");
    let Proxies::Known { networks, unix: true } = &config.policy.trust().proxies else {
        panic!("{config:?}")
    };
    let networks: Vec<String> = networks.iter().map(ToString::to_string).collect();
    assert_eq!(networks, ["10.0.0.0/8", "192.0.2.7/32", "127.0.0.1/32"]);
    assert!(parse("trusted_proxies: []").policy.trust().proxies.is_empty());

    let config =
        parse("listen: unix:/run/cupo.sock\nsocket_mode: 0600\nclient_address_header: CF-Connecting-IP");
    assert_eq!(config.gateway.listen, Some(ListenSource::Unix("/run/cupo.sock".into())));
    assert_eq!(config.gateway.socket_mode, Some(0o600));
    assert_eq!(config.policy.trust().client_address_header.name(), "cf-connecting-ip");
}

#[test]
fn what_is_not_said_stays_unsaid() {
    let config = cupo_config::parse("p.yaml", "rules: [{ name: all, key: ip, limit: 1/s }]").unwrap();
    assert_eq!(config.gateway, GatewaySource::default());
    assert_eq!(config.store, StoreSource::default());
    assert_eq!(*config.policy.trust(), cupo_core::Trust::default());
    assert_eq!((config.source.name(), config.source.text().len()), ("p.yaml", 43));
}

#[test]
fn words_are_words() {
    let config = good("words-are-words");
    let names: Vec<&str> = config.policy.rules().iter().map(cupo_core::Rule::name).collect();
    let expected = [
        "no",
        "on",
        "yes",
        "off",
        "y",
        "404",
        "1e3",
        "0x10",
        "1.0",
        "12:30:45",
        "2001-01-01",
        "true",
        "null",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_byte_order_mark_document_marks_and_json_are_fine() {
    for name in ["byte-order-mark-and-crlf", "document-marks", "json"] {
        assert_eq!(good(name).policy.rules().len(), 1, "{name}");
    }
    let config = good("document-marks");
    assert_eq!(
        config.policy.rules()[0].limits().next().flatten().unwrap().to_string(),
        "fixed_window, 100 per 1m"
    );
}

#[test]
fn every_spelling_of_a_store() {
    for (text, bound) in [
        ("demo", None),
        ("memory", None),
        ("{ memory: {} }", None),
        ("{ memory: { max_keys: 100000 } }", Some(MemoryBound::Keys(100_000))),
        ("{ memory: { max_bytes: 65536 } }", Some(MemoryBound::Bytes(65_536))),
    ] {
        let line = if text == "demo" { "upstream: demo".to_owned() } else { format!("store: {text}") };
        let text = format!("{line}\nrules: [{{ name: all, key: ip, limit: 1/s }}]");
        let config = cupo_config::parse("p.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(config.store, StoreSource::Memory { bound }, "{text}");
    }
}

#[test]
fn a_store_in_redis() {
    let text = "
store:
  redis:
    url: rediss://cupo:hunter2@10.0.0.7:6380/2
    password_file: /run/secrets/redis
    prefix: 'api:'
    deadline: 20ms
    connect_timeout: 2s
    max_waiters: 500
    batch_max: 32
    denial_cache: false
    breaker: { failures: 5, rest: 1s }
    tls: { ca_file: ca.pem, certificate_file: c.pem, key_file: k.pem }
rules: [{ name: all, key: ip, limit: 1/s, on_store_error: local }]
replicas: 3";
    let config = cupo_config::parse("p.yaml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let StoreSource::Redis(redis) = &config.store else { panic!("{:?}", config.store) };
    assert_eq!(redis.url, "rediss://cupo:hunter2@10.0.0.7:6380/2");
    assert_eq!(redis.password, Some(cupo_config::PasswordSource::File("/run/secrets/redis".into())));
    assert_eq!((redis.prefix.as_deref(), redis.deadline), (Some("api:"), Some(Duration::from_millis(20))));
    assert_eq!((redis.max_waiters, redis.batch_max, redis.denial_cache), (Some(500), Some(32), Some(false)));
    assert_eq!((redis.breaker_failures, redis.breaker_rest), (Some(5), Some(Duration::from_secs(1))));
    assert_eq!(redis.connect_timeout, Some(Duration::from_secs(2)));
    assert_eq!(redis.ca_file.as_deref(), Some(std::path::Path::new("ca.pem")));
    assert!(redis.certificate_file.is_some() && redis.key_file.is_some());
    assert!(!format!("{config:?}").contains("hunter2"), "no password in a log");
    assert_eq!(redis.shown_url(), "rediss://cupo:…@10.0.0.7:6380/2");
    let rule = &config.policy.rules()[0];
    assert_eq!(rule.on_store_error(), cupo_core::OnStoreError::Local);
    for url in [
        "redis://h",
        "valkey://h",
        "valkeys://h",
        "unix:///s",
        "redis-cluster://a,b",
        "valkey-sentinel://a/m",
    ] {
        let text = format!(
            "store: {{ redis: {{ url: \"{url}\" }} }}\nrules: [{{ name: all, key: ip, limit: 1/s }}]"
        );
        assert!(cupo_config::parse("p.yaml", &text).is_ok(), "{url}");
    }
}

#[test]
fn the_examples_load() {
    let example = load("../../examples/cupo.yaml").unwrap_or_else(|errors| panic!("{errors}"));
    let handbook = good("handbook");
    assert_eq!(shown(&example), shown(&handbook), "the example is the handbook's file, with comments");
    assert_eq!(example.gateway, handbook.gateway);

    let contracts = load("../../examples/contracts.yaml").unwrap_or_else(|errors| panic!("{errors}"));
    let limits: Vec<String> = contracts
        .policy
        .rules()
        .iter()
        .flat_map(|rule| rule.limits().flatten())
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        limits,
        [
            "fixed_window, 100000 per month of Europe/Madrid",
            "fixed_window, 10000 per day of Europe/Madrid",
            "fixed_window, 50 per week of Africa/Cairo from sunday",
            "fixed_window, 20 per 1h from the first request",
        ]
    );

    let all = load("../../examples/every-algorithm-and-key.yaml").unwrap_or_else(|errors| panic!("{errors}"));
    let rules = all.policy.rules();
    for algorithm in Algorithm::ALL {
        assert!(
            rules.iter().any(|r| r.limits().flatten().any(|limit| limit.algorithm() == algorithm)),
            "{algorithm} is not shown"
        );
    }
    for action in Action::ALL {
        assert!(rules.iter().any(|r| r.action() == *action), "{action} is not shown");
    }
    for on_missing in OnMissing::ALL {
        assert!(
            all.source.text().contains(&format!("on_missing: {on_missing}")),
            "{on_missing} is not shown"
        );
        assert!(rules.iter().any(|r| r.on_missing() == *on_missing), "{on_missing} is not shown");
    }
    let keys = rules.iter().map(|r| r.key().to_string()).collect::<Vec<_>>().join("\n");
    for kind in [
        "global",
        "ip",
        "api_key",
        "user",
        "route",
        "method",
        "host",
        "header(",
        "query(",
        "cookie(",
        "descriptor(",
        " | ",
        "[",
    ] {
        assert!(keys.contains(kind), "{kind} is not shown");
    }
}

#[test]
fn tokens_and_lists_are_read() {
    let example = load("../../examples/tokens-and-lists.yaml").unwrap_or_else(|errors| panic!("{errors}"));
    let jwt = example.jwt.unwrap();
    assert_eq!(jwt.keys, cupo_config::JwtKeySource::File("tokens-and-lists.jwks.json".into()));
    assert_eq!(jwt.algorithms, ["ES256", "EdDSA"]);
    assert_eq!((jwt.issuer.as_deref(), jwt.audiences), (Some("https://id.example"), vec!["api".to_owned()]));
    assert_eq!((jwt.leeway, jwt.header, jwt.user_claim), (None, None, None));
    assert_eq!(jwt.invalid, cupo_config::InvalidToken::Refuse);

    let text = "jwt: { secret_env: S, algorithms: HS256, leeway: 0s, header: X-Token, user_claim: 'https://x.example/id' }
rules: [{ name: a, key: 'claim(https://x.example/plan)', limit: 1/s }]";
    let config = cupo_config::parse("p.yaml", text).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(config.policy.rules()[0].key().to_string(), "claim(https://x.example/plan)");
    let jwt = config.jwt.unwrap();
    assert_eq!(jwt.keys, cupo_config::JwtKeySource::Environment("S".to_owned()));
    assert_eq!((jwt.leeway, jwt.header.as_deref()), (Some(Duration::ZERO), Some("x-token")));
    assert_eq!(jwt.invalid, cupo_config::InvalidToken::Anonymous);
}

#[test]
fn what_callers_see() {
    use cupo_config::{HeaderDialect, HeadersSource, Preflight, ResetAs, UpstreamHeaders};
    let config = load("../../examples/responses.yaml").unwrap_or_else(|errors| panic!("{errors}"));
    let responses = &config.responses;
    let own = HeadersSource::Names {
        limit: Some("x-quota".to_owned()),
        remaining: Some("x-quota-left".to_owned()),
        reset: Some("x-quota-in".to_owned()),
        reset_as: ResetAs::Delta,
    };
    let dialects = [HeaderDialect::XRateLimit, HeaderDialect::Ietf11].map(HeadersSource::Dialect);
    assert_eq!(responses.headers.as_deref(), Some(&[&dialects[..], &[own]].concat()[..]));
    assert_eq!(responses.upstream_headers, Some(UpstreamHeaders::Tighter));
    assert_eq!(responses.retry_after_jitter, Some(Duration::from_secs(5)));
    assert_eq!((responses.preflight, responses.language.as_deref()), (Some(Preflight::Skip), Some("en")));
    let messages: Vec<_> = responses.messages.iter().map(|m| (m.language.as_str(), m.kind)).collect();
    assert_eq!(messages, [("en", "exceeded"), ("fr", "exceeded"), ("fr", "unavailable")]);
    assert_eq!(responses.messages[1].title.as_deref(), Some("Quota épuisé"));
    let cors = responses.cors.as_ref().unwrap();
    assert_eq!((cors.origins.as_slice(), cors.credentials), (&["https://app.example".to_owned()][..], true));
    let rules: Vec<_> = responses.rules.iter().map(|own| (own.rule.as_str(), own.status)).collect();
    assert_eq!(rules, [("reports", None), ("closed", Some(404))]);
    assert_eq!(responses.rules[0].headers, [("x-reason".to_owned(), "reports".to_owned())]);
    assert_eq!(responses.rules[1].body, Some(("application/json".to_owned(), "{}".to_owned())));
    for none in ["[]", "none"] {
        let text = format!(
            "responses: {{ headers: {none}, retry_after_jitter: 0s }}\nrules: [{{ name: all, key: ip, limit: 1/s }}]"
        );
        let config = cupo_config::parse("p.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(config.responses.headers, Some(Vec::new()));
    }
}

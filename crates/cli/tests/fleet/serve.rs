//! `cupo serve` with a store that `--store` or the policy names.

use cupo_testkit::redis::RedisServer;
use rustix::process::Signal;

use crate::client::get;
use crate::process::{Gateway, PolicyFile, Stream};
use crate::upstream;

const FIVE: &str = "rules:\n  - { name: five, key: ip, limit: 5/1000d }\n";

#[test]
fn the_option_overrules_the_file_and_gateways_share_what_they_count() {
    let server = RedisServer::standalone().start();
    let upstream = format!("http://{}", upstream::ok());
    let in_memory = PolicyFile::new(&format!("store: memory\n{FIVE}"));
    let in_redis = PolicyFile::new(&format!("store: {{ redis: {{ url: {} }} }}\n{FIVE}", server.url()));
    let option =
        Gateway::start(&["-c", &in_memory.path(), "--upstream", &upstream, "--store", &server.url()]);
    let file = Gateway::start(&["-c", &in_redis.path(), "--upstream", &upstream]);
    let alone = Gateway::start(&["-c", &in_redis.path(), "--upstream", &upstream, "--store", "memory"]);
    for n in 0..5 {
        let gateway = if n % 2 == 0 { &option } else { &file };
        assert_eq!(get(gateway.address, "/").remaining(), 4 - n);
    }
    assert_eq!(get(option.address, "/").status, 429);
    assert_eq!(get(file.address, "/").status, 429);
    assert_eq!(get(alone.address, "/").remaining(), 4);
    server.assert_every_key_has_a_ttl();

    let quick = Gateway::start(&["--upstream", "demo", "--limit", "3/1000d", "--store", &server.url()]);
    assert_eq!(get(quick.address, "/").remaining(), 2);
    quick.signal(Signal::TERM);
    let (status, said) = quick.end();
    assert_eq!(status.code(), Some(0), "{said:?}");
}

#[test]
fn rules_act_by_themselves_without_a_store_and_the_log_and_the_health_endpoint_say_so() {
    let mut server = RedisServer::standalone().start();
    let policy = PolicyFile::new(&format!(
        "store: {{ redis: {{ url: \"{}\" }} }}\nreplicas: 4\nrules:\n  \
         - {{ name: a, match: {{ path: /allow }}, key: ip, limit: 5/1000d }}\n  \
         - {{ name: l, match: {{ path: /local }}, key: ip, limit: 20/1000d, on_store_error: local }}\n  \
         - {{ name: d, match: {{ path: /deny }}, key: ip, limit: 5/1000d, on_store_error: deny }}\n",
        server.url()
    ));
    let mut gateway = Gateway::with_policy(&policy, upstream::ok());
    let health = |gateway: &Gateway| {
        let response = get(gateway.address, "/.cupo/health");
        assert_eq!(response.status, 200, "it serves all the same");
        response.json()["store"].clone()
    };
    // It counts, and nothing is wrong.
    let decided = || get(gateway.address, "/local").header("x-ratelimit-limit") == Some("20");
    cupo_testkit::redis::until("the store decides", || decided().then_some(()));
    let before = health(&gateway);
    assert_eq!(before["state"], "ok", "{before}");

    server.kill9();
    cupo_testkit::redis::until("the outage is noticed", || {
        (get(gateway.address, "/deny").status == 503).then_some(())
    });
    let refused = get(gateway.address, "/deny");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
    assert!(refused.json()["type"].as_str().unwrap().ends_with("#temporary-reduced-capacity"), "{refused:?}");
    let allowed = get(gateway.address, "/allow");
    assert_eq!((allowed.status, allowed.header("ratelimit")), (200, None));
    // A quarter of the limit is this node's, from now on.
    for left in (0..5).rev() {
        assert_eq!(get(gateway.address, "/local").remaining(), left);
    }
    assert_eq!(get(gateway.address, "/local").status, 429);
    let during = health(&gateway);
    assert_eq!(during["state"], "degraded", "{during}");
    assert!(during["failures"].as_u64().unwrap() >= 8, "{during}");
    assert_eq!(during["last_error"], "unavailable", "{during}");

    server.restart();
    cupo_testkit::redis::until("the store decides again", || {
        (get(gateway.address, "/local").header("x-ratelimit-limit") == Some("20")).then_some(())
    });
    // For as long as denials are answered from memory it might be luck.
    cupo_testkit::redis::until("it is said to be well", || {
        get(gateway.address, "/allow");
        (health(&gateway)["state"] == "ok").then_some(())
    });
    assert!(health(&gateway)["failures"].as_u64().unwrap() >= during["failures"].as_u64().unwrap());
    let line = gateway.line(|line| line.contains("the store decides again"));
    assert!(line.contains("failures="), "{line}");
    let told = gateway.said.iter().filter(|(stream, line)| {
        *stream == Stream::Err && line.contains("the store cannot decide; rules act by their on_store_error")
    });
    assert_eq!(told.count(), 1, "an outage is told once: {:?}", gateway.said);
}

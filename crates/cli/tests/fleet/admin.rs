//! The admin API of three gateways that share a Redis server.

use std::time::{Duration, Instant};

use cupo_testkit::redis::{RedisServer, until};
use serde_json::{Value, json};

use crate::administrator::{Administrator, administered};
use crate::client::{get, request};
use crate::process::{Gateway, PolicyFile, now, wait};
use crate::upstream;

/// What every gateway has to know of the others, by contract.
const SECOND: Duration = Duration::from_secs(1);

/// What a busy machine may take longer.
const GRACE: Duration = Duration::from_millis(300);

const RULES: &str = "admin: { listen: 127.0.0.1:0 }\nrules:\n  - { name: per-client, key: ip, limit: 6/1000d }\n  \
    - { name: bucket, match: { path: /b }, key: header(x-who), limit: { algorithm: token_bucket, capacity: 4, refill: 1/1000d } }\n";

fn three(server: &RedisServer) -> Vec<(Gateway, Administrator)> {
    let upstream = format!("http://{}", upstream::ok());
    // On a busy machine a store may answer late, and a rule that allows then would pass one more.
    let store = format!("store: {{ redis: {{ url: {}, deadline: 5s }} }}\n", server.url());
    let policy = PolicyFile::new(&format!("{RULES}{store}"));
    (0..3).map(|_| administered(&["-c", &policy.path(), "--upstream", &upstream])).collect()
}

/// When the last of the gateways answers so, counted from `since`.
fn all_say(gateways: &[(Gateway, Administrator)], since: Instant, status: u16) -> Duration {
    for (gateway, _) in gateways {
        until("the gateway knows", || (get(gateway.address, "/").status == status).then_some(()));
    }
    now() - since
}

#[test]
fn a_reset_and_a_grant_are_seen_by_every_gateway_within_a_second() {
    let server = RedisServer::standalone().start();
    let gateways = three(&server);
    let key = json!({ "rule": "per-client", "parts": ["127.0.0.1"] });
    let deny_all = || {
        // Each of them denies, and would from its memory for a second.
        for (gateway, _) in &gateways {
            until("it is denied", || (get(gateway.address, "/").status == 429).then_some(()));
        }
    };
    deny_all();
    let since = now();
    let reset = gateways[0].1.post("/v1/reset", &key).json();
    assert_eq!((&reset["found"], &reset["before"][0]["used"]), (&json!(true), &json!(6)), "{reset}");
    let took = all_say(&gateways, since, 200);
    assert!(took <= SECOND + GRACE, "{took:?}");

    deny_all();
    let since = now();
    let mut grant = key;
    grant["units"] = 3.into();
    let given = gateways[1].1.post("/v1/grant", &grant).json();
    assert_eq!((&given["given"], &given["remaining"]), (&json!(3), &json!(3)), "{given}");
    let took = all_say(&gateways, since, 200);
    assert!(took <= SECOND + GRACE, "{took:?}");
    assert_eq!(get(gateways[2].0.address, "/").status, 429, "three units, one for each");
    server.assert_every_key_has_a_ttl();
}

#[test]
fn a_block_is_seen_by_every_gateway_within_a_second_and_holds_while_the_store_is_away() {
    let mut server = RedisServer::standalone().start();
    let gateways = three(&server);
    let key = |seconds: u64| json!({ "rule": "per-client", "parts": ["127.0.0.1"], "seconds": seconds });
    for round in 0..3 {
        let since = now();
        assert_eq!(gateways[round].1.post("/v1/block", &key(600)).status, 200);
        assert_eq!(get(gateways[round].0.address, "/").status, 403, "where it is blocked, at once");
        let took = all_say(&gateways, since, 403);
        assert!(took <= SECOND, "{took:?}");
        let since = now();
        let lift = json!({ "rule": "per-client", "parts": ["127.0.0.1"] });
        assert_eq!(gateways[(round + 1) % 3].1.post("/v1/unblock", &lift).status, 200);
        // The last of the six units go here.
        for (gateway, _) in &gateways {
            until("it is lifted", || (get(gateway.address, "/").status != 403).then_some(()));
        }
        let took = now() - since;
        assert!(took <= SECOND, "{took:?}");
    }
    // One that ends by itself, and one that holds; all of them know both.
    gateways[0].1.post("/v1/block", &key(3));
    gateways[1].1.post("/v1/block", &json!({ "rule": "bucket", "parts": ["mallory"], "seconds": 600 }));
    let other = |gateway: &Gateway| request(gateway.address, "GET", "/b", &["X-Who: mallory"]).status;
    all_say(&gateways, now(), 403);
    let mallory = json!({ "rule": "bucket", "parts": ["mallory"] });
    for (_, admin) in &gateways {
        let knows = || admin.post("/v1/state", &mallory).json()["blocked_us"].as_u64().map(drop);
        until("the gateway knows both", knows);
    }
    let listed = gateways[2].1.get("/v1/blocks").json();
    assert_eq!(listed["blocks"].as_array().unwrap().len(), 2, "{listed}");
    server.assert_every_key_has_a_ttl();
    server.kill9();
    wait(Duration::from_millis(3_100));
    for (gateway, admin) in &gateways {
        assert_eq!(
            get(gateway.address, "/").status,
            200,
            "its time is over, whether the store says so or not"
        );
        assert_eq!(other(gateway), 403);
        let state = admin.post("/v1/state", &mallory);
        assert_eq!(
            (state.status, &state.json()["type"]),
            (503, &json!("urn:cupo:problem:store-unavailable"))
        );
        let mut block = mallory.clone();
        block["seconds"] = 60.into();
        assert_eq!(admin.post("/v1/block", &block).status, 503);
        let doubt = &admin.get("/v1/audit?n=1").json()["changes"][0];
        assert!(doubt["what"] == "block" && doubt["after"]["error"].is_string(), "{doubt}");
    }
    // A store that has forgotten everything has forgotten the block.
    server.restart();
    for (gateway, _) in &gateways {
        until("the store is back", || (other(gateway) == 200).then_some(()));
    }
}

#[test]
fn who_starts_later_knows_what_is_blocked() {
    let server = RedisServer::standalone().start();
    let first = three(&server);
    let blocked = first[0]
        .1
        .post("/v1/block", &json!({ "rule": "per-client", "parts": ["127.0.0.1"], "seconds": 600 }));
    assert_eq!(blocked.json()["before_us"], Value::Null);
    drop(first);
    let later = three(&server);
    let took = all_say(&later, now(), 403);
    assert!(took <= SECOND, "{took:?}");
    let again =
        later[2].1.post("/v1/block", &json!({ "rule": "per-client", "parts": ["127.0.0.1"], "seconds": 60 }));
    assert!(again.json()["before_us"].as_u64().unwrap() > 500_000_000, "{again:?}");
}

#[test]
fn what_others_write_into_the_hash_of_blocks_stops_nobody_from_blocking() {
    let server = RedisServer::standalone().start();
    let gateways = three(&server);
    let key = json!({ "rule": "per-client", "parts": ["127.0.0.1"], "seconds": 600 });
    for version in ["abc", "-1", "1.5", "", "0x10"] {
        server.connect().command(&["HSET", "cupo:blocks", "", version, "junk", "999999999999999"]);
        let blocked = gateways[0].1.post("/v1/block", &key);
        assert_eq!(blocked.status, 200, "{version}: {blocked:?}");
        let took = all_say(&gateways, now(), 403);
        assert!(took <= SECOND + GRACE, "{took:?}");
        server.connect().command(&["HSET", "cupo:blocks", "", version]);
        let unblocked =
            gateways[1].1.post("/v1/unblock", &json!({ "rule": "per-client", "parts": ["127.0.0.1"] }));
        assert_eq!(unblocked.status, 200, "{version}: {unblocked:?}");
        for (gateway, _) in &gateways {
            until("it is lifted", || (get(gateway.address, "/").status != 403).then_some(()));
        }
    }
}

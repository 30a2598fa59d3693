//! The admin API of a gateway whose counters are in its memory.

use std::time::Duration;

use serde_json::{Value, json};

use crate::administrator::{Administrator, administered};
use crate::client::{Client, Response, get, request};
use crate::process::{Gateway, PolicyFile, Stream, cupo, run, wait};
use crate::upstream;

const TOKEN: &str = "0123456789abcdef-ops";

const RULES: &str = "rules:
  - { name: per-client, key: ip, limit: 5/1000d }
  - { name: by-key, match: { header: { x-api-key: present } }, key: api_key, limit: 3/1000d }
  - { name: pairs, match: { path: /users/** }, key: [route, user | ip], limit: { algorithm: token_bucket, capacity: 4, refill: 1/1000d } }
";

fn local(more: &str) -> (Gateway, Administrator) {
    let policy = PolicyFile::new(&format!("admin: {{ listen: 127.0.0.1:0 }}\n{more}{RULES}"));
    administered(&["-c", &policy.path(), "--upstream", &format!("http://{}", upstream::ok())])
}

#[test]
fn what_a_key_has_used_is_told_and_forgotten() {
    let (mut gateway, admin) = local("");
    for left in [4, 3, 2] {
        assert_eq!(get(gateway.address, "/").remaining(), left);
    }
    let key = json!({ "rule": "per-client", "parts": ["127.0.0.1"] });
    for parts in [json!(["127.0.0.1"]), json!(["ip=127.0.0.1"]), json!(["ip=::ffff:127.0.0.1"])] {
        let state = admin.post("/v1/state", &json!({ "rule": "per-client", "parts": parts }));
        assert_eq!(state.status, 200, "{state:?}");
        let state = state.json();
        assert_eq!(state["key"], "per-client ip=127.0.0.1");
        assert_eq!(state["parts"], json!(["ip=127.0.0.1"]));
        let counter = &state["counters"][0];
        assert_eq!(
            (&counter["used"], &counter["remaining"], &counter["quota"]),
            (&json!(3), &json!(2), &json!(5))
        );
        assert_eq!(counter["limit"], "sliding_window_counter, 5 per 1000d");
    }
    let reset = admin.post("/v1/reset", &key);
    assert_eq!(reset.status, 200, "{reset:?}");
    let reset = reset.json();
    assert_eq!(
        (&reset["found"], &reset["before"][0]["used"], &reset["after"][0]["used"]),
        (&json!(true), &json!(3), &json!(0))
    );
    assert_eq!(get(gateway.address, "/").remaining(), 4);
    // It was logged by the name of who came in, though nothing but warnings is to be told.
    let line = gateway.line(|line| line.contains("an administrator changed something"));
    assert!(
        line.contains("cupo::admin") && line.contains("who=\"local\"") && line.contains("what=\"reset\""),
        "{line}"
    );
    let audit = admin.get("/v1/audit").json();
    let change = &audit["changes"][0];
    assert_eq!((&change["who"], &change["what"]), (&json!("local"), &json!("reset")));
    assert_eq!(change["target"], json!({ "rule": "per-client", "parts": ["ip=127.0.0.1"] }));
    assert_eq!((&change["before"], &change["after"]), (&json!({ "used": [3] }), &json!({ "used": [0] })));
}

#[test]
fn an_api_key_is_said_in_clear_or_by_its_hash_and_never_shown_in_clear() {
    let (mut gateway, admin) = local("");
    request(gateway.address, "GET", "/", &["X-Api-Key: s3cret-key"]);
    let state = |part: &str| {
        let state = admin.post("/v1/state", &json!({ "rule": "by-key", "parts": [part] }));
        assert_eq!(state.status, 200, "{state:?}");
        assert!(!state.body.contains("s3cret-key"), "{state:?}");
        state.json()
    };
    let clear = state("s3cret-key");
    assert_eq!(clear["counters"][0]["used"], 1);
    let hashed = clear["parts"][0].as_str().unwrap();
    assert!(hashed.starts_with("api_key=sha256:") && hashed.len() == 15 + 64, "{hashed}");
    assert_eq!(state(hashed)["counters"][0]["used"], 1);
    admin.post("/v1/reset", &json!({ "rule": "by-key", "parts": ["s3cret-key"] }));
    assert!(!admin.get("/v1/audit").body.contains("s3cret-key"));
    let line = gateway.line(|line| line.contains("an administrator changed something"));
    assert!(!line.contains("s3cret-key"), "{line}");
    assert_eq!(state("s3cret-key")["counters"][0]["used"], 0);
}

#[test]
fn a_key_of_several_parts_is_said_as_it_is_shown() {
    let (gateway, admin) = local("");
    get(gateway.address, "/users/42/posts");
    let state = |parts: Value| {
        let state = admin.post("/v1/state", &json!({ "rule": "pairs", "parts": parts }));
        assert_eq!(state.status, 200, "{state:?}");
        state.json()["counters"][0]["used"].clone()
    };
    assert_eq!(state(json!(["GET /users/**", "ip=127.0.0.1"])), 1);
    assert_eq!(state(json!(["route=GET /users/**", "ip=127.0.0.1"])), 1);
    assert_eq!(state(json!(["POST /users/**", "ip=127.0.0.1"])), 0);
    assert_eq!(state(json!(["GET /users/**", "user=127.0.0.1"])), 0);
    assert_eq!(state(json!(["GET /users/**", "missing"])), 0);
}

#[test]
fn what_makes_no_sense_is_a_problem_that_says_why() {
    let (_gateway, admin) = local("");
    let post = |path: &str, body: Value| admin.post(path, &body);
    let problem = |response: Response, status: u16, says: &str| {
        assert_eq!(response.status, status, "{response:?}");
        assert_eq!(response.header("content-type"), Some("application/problem+json"), "{response:?}");
        let problem = response.json();
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
        assert!(problem["type"].as_str().unwrap().starts_with("urn:cupo:problem:"), "{problem}");
    };
    problem(post("/v1/state", json!({ "rule": "nobody", "parts": ["::1"] })), 404, "no rule");
    problem(
        post("/v1/state", json!({ "rule": "per-client", "parts": ["::1"], "tier": "gold" })),
        404,
        "no plan",
    );
    problem(post("/v1/state", json!({ "rule": "per-client", "parts": ["example.com"] })), 422, "IP address");
    problem(post("/v1/state", json!({ "rule": "per-client", "parts": [] })), 422, "has 1 parts");
    problem(post("/v1/state", json!({ "rule": "pairs", "parts": ["/a", "alice"] })), 422, "`user=`, `ip=`");
    problem(
        post("/v1/state", json!({ "rule": "per-client", "parts": ["::1"], "key": 1 })),
        400,
        "unknown field `key`",
    );
    problem(post("/v1/state", json!({ "parts": ["::1"] })), 400, "missing field `rule`");
    problem(post("/v1/state", json!([])), 400, "The body");
    problem(admin.send("POST", "/v1/state", &["Content-Type: application/json"], "{"), 400, "EOF");
    problem(admin.send("POST", "/v1/state", &["Content-Type: text/plain"], "{}"), 415, "application/json");
    problem(admin.send("POST", "/v1/state", &[], "{}"), 415, "application/json");
    let long = format!("{{\"rule\":\"{}\"}}", "x".repeat(70_000));
    problem(admin.send("POST", "/v1/state", &["Content-Type: application/json"], &long), 413, "65536");
    problem(admin.get("/v1/nothing"), 404, "openapi");
    problem(admin.get("/"), 404, "openapi");
    problem(admin.get("/v1/audit?n=0"), 400, "from 1 to 256");
    problem(admin.get("/v1/audit?m=1"), 400, "no parameter `m`");
    problem(admin.get("/v1/audit?n=1&n=2"), 400, "several times");
    let wrong = admin.send("DELETE", "/v1/state", &[], "");
    assert_eq!(wrong.header("allow"), Some("POST"));
    problem(wrong, 405, "POST");
}

#[test]
fn web_pages_reach_nothing() {
    let (_gateway, admin) = local("");
    let ask = |fields: &[&str]| admin.send("GET", "/v1/policy", fields, "").status;
    assert_eq!(ask(&[]), 200);
    assert_eq!(ask(&["Host: localhost:9090"]), 200);
    // A name that is made to stand for this machine.
    assert_eq!(ask(&["Host: rebound.example"]), 403);
    assert_eq!(ask(&["Origin: https://evil.example"]), 403);
    assert_eq!(ask(&["Origin: null"]), 403);
}

#[test]
fn a_bearer_may_what_the_policy_says() {
    let policy = PolicyFile::new(&format!(
        "admin:\n  listen: 127.0.0.1:0\n  tokens:\n    - {{ name: ops, token_env: OPS }}\n    \
         - {{ name: watch, token_env: WATCH, may: read }}\n{RULES}"
    ));
    let mut command = cupo();
    command.envs([("OPS", TOKEN), ("WATCH", "fedcba9876543210")]);
    let upstream = format!("http://{}", upstream::ok());
    let (_gateway, admin) = Administrator::of(command, &["-c", &policy.path(), "--upstream", &upstream]);
    let key = json!({ "rule": "per-client", "parts": ["127.0.0.1"] });
    let anybody = admin.get("/v1/policy");
    assert_eq!((anybody.status, anybody.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(admin.get("/v1/nothing").status, 401, "who is not known learns nothing");
    let watch = admin.with_token("fedcba9876543210");
    assert_eq!(watch.get("/v1/policy").status, 200);
    assert_eq!(watch.post("/v1/state", &key).status, 200);
    assert_eq!(watch.post("/v1/reset", &key).status, 403);
    let ops = admin.with_token(TOKEN);
    assert_eq!(ops.post("/v1/reset", &key).status, 200);
    assert_eq!(ops.get("/v1/audit").json()["changes"][0]["who"], "ops");
    assert_eq!(admin.with_token("0123456789abcdef-opt").get("/v1/policy").status, 401);
    // With a token a browser's name of this machine is no danger, and its pages still are.
    assert_eq!(ops.send("GET", "/v1/policy", &["Host: admin.example"], "").status, 200);
    assert_eq!(ops.send("GET", "/v1/policy", &["Origin: https://a.example"], "").status, 403);
}

#[test]
fn the_policy_in_force_is_shown_without_secrets() {
    let (_gateway, admin) = local("# redis://:s3cret@host\n");
    let policy = admin.get("/v1/policy");
    assert!(!policy.body.contains("s3cret"), "{policy:?}");
    let policy = policy.json();
    assert_eq!(policy["rules"][0]["name"], "per-client");
    assert_eq!(policy["rules"][0]["limits"][0]["quota"], 5);
    assert!(policy["source"]["text"].as_str().unwrap().contains("capacity: 4"), "{policy}");
}

#[test]
fn it_listens_on_a_unix_socket_for_its_owner_alone() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("admin.sock");
    let policy = PolicyFile::new(&format!("admin: {{ listen: \"unix:{}\" }}\n{RULES}", path.display()));
    let mut gateway = Gateway::with_policy(&policy, upstream::ok());
    gateway.line(|line| line == format!("cupo answers administrators on unix:{}", path.display()));
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let mut stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
    use std::io::{Read, Write};
    write!(stream, "GET /v1/policy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    gateway.signal(rustix::process::Signal::TERM);
    assert_eq!(gateway.end().0.code(), Some(0));
    assert!(!path.exists(), "the file goes with the gateway");
}

#[test]
fn there_is_none_unless_the_policy_says_so_and_none_for_others_without_a_token() {
    let policy = PolicyFile::new(RULES);
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    assert!(!gateway.said.iter().any(|(_, line)| line.contains("administrators")), "{:?}", gateway.said);
    let open = PolicyFile::new(&format!("admin: {{ listen: 0.0.0.0:0 }}\n{RULES}"));
    for arguments in [vec!["check", &open.path()], vec!["serve", "-c", &open.path(), "--upstream", "demo"]] {
        let ran = run(&arguments, "");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("admin.listen") && ran.err.contains("asks for no token"), "{ran:?}");
    }
}

#[test]
fn a_slow_or_silent_administrator_does_not_stop_the_gateway() {
    let (gateway, admin) = local("");
    let silent: Vec<Client> = (0..10).map(|_| Client::new(admin.address())).collect();
    for client in &silent {
        client.send("POST /v1/state HTTP/1.1\r\nHost: localhost\r\n");
    }
    assert_eq!(get(gateway.address, "/").status, 200);
    assert_eq!(admin.get("/v1/policy").status, 200);
    gateway.signal(rustix::process::Signal::TERM);
    let (status, said) = gateway.end();
    assert_eq!(status.code(), Some(0), "{said:?}");
    assert!(said.iter().all(|(stream, line)| *stream == Stream::Out || !line.contains("ERROR")), "{said:?}");
}

/// How often a request of this client is let pass, of so many.
fn passing(gateway: &Gateway, count: usize, fields: &[&str]) -> usize {
    (0..count).filter(|_| request(gateway.address, "GET", "/", fields).status == 200).count()
}

#[test]
fn units_are_given_back_and_never_more_than_were_used() {
    let (gateway, admin) = local("");
    assert_eq!(passing(&gateway, 8, &[]), 5);
    let grant = |units: Value| {
        admin.post("/v1/grant", &json!({ "rule": "per-client", "parts": ["127.0.0.1"], "units": units }))
    };
    let given = grant(json!(2)).json();
    assert_eq!(
        (&given["given"], &given["remaining_before"], &given["remaining"]),
        (&json!(2), &json!(0), &json!(2))
    );
    assert_eq!(passing(&gateway, 4, &[]), 2);
    let given = grant(json!(1_000)).json();
    assert_eq!((&given["given"], &given["remaining"]), (&json!(5), &json!(5)));
    let given = grant(json!(3)).json();
    assert_eq!((&given["given"], &given["remaining"]), (&json!(0), &json!(5)));
    assert_eq!(passing(&gateway, 8, &[]), 5);
    assert_eq!(grant(json!(0)).status, 422);
    assert_eq!(grant(json!(-1)).status, 400);
    assert_eq!(grant(json!(1.5)).status, 400);
    let change = &admin.get("/v1/audit?n=1").json()["changes"][0];
    assert_eq!((&change["what"], &change["after"]), (&json!("grant"), &json!({ "remaining": 5 })));
}

#[test]
fn a_key_is_blocked_until_its_time_or_until_it_is_lifted() {
    let (mut gateway, admin) = local("access_log: true\n");
    let key = json!({ "rule": "by-key", "parts": ["k1"] });
    let with = |mut key: Value, seconds: u64| {
        key["seconds"] = seconds.into();
        key
    };
    assert_eq!(request(gateway.address, "GET", "/", &["X-Api-Key: k1"]).status, 200);
    let blocked = admin.post("/v1/block", &with(key.clone(), 3_600));
    assert_eq!(blocked.status, 200, "{blocked:?}");
    assert_eq!(blocked.json()["before_us"], Value::Null);
    // Whatever else it would be, it is refused as the block-list refuses, at once and everywhere.
    let refused = request(gateway.address, "GET", "/", &["X-Api-Key: k1"]);
    assert_eq!((refused.status, refused.header("retry-after")), (403, None), "{refused:?}");
    let line = gateway.line(|line| line.contains("\"verdict\":\"block\""));
    assert!(line.contains("by-key api_key=sha256:") && !line.contains("k1\""), "{line}");
    assert_eq!(request(gateway.address, "GET", "/", &["X-Api-Key: k2"]).status, 200);
    assert_eq!(get(gateway.address, "/").status, 200);
    // What was refused took nothing.
    let state = admin.post("/v1/state", &key).json();
    assert_eq!(state["counters"][0]["used"], 1, "{state}");
    assert!(state["blocked_us"].as_u64().unwrap() > 3_500_000_000, "{state}");
    let list = admin.get("/v1/blocks").json();
    assert_eq!(list["blocks"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(
        (&list["blocks"][0]["rule"], &list["blocks"][0]["parts"]),
        (&json!("by-key"), &state["parts"])
    );
    let explained =
        admin.post("/v1/explain", &json!({ "path": "/", "headers": { "x-api-key": "k1" } })).json();
    assert_eq!(
        (&explained["settled"]["by"], &explained["response"]["status"]),
        (&json!("block"), &json!(403))
    );
    // As it is listed it can be lifted.
    let shown = json!({ "rule": "by-key", "parts": list["blocks"][0]["parts"] });
    let lifted = admin.post("/v1/unblock", &shown).json();
    assert!(lifted["before_us"].as_u64().unwrap() > 0 && lifted["left_us"].is_null(), "{lifted}");
    assert_eq!(request(gateway.address, "GET", "/", &["X-Api-Key: k1"]).status, 200);
    assert_eq!(admin.get("/v1/blocks").json()["blocks"], json!([]));
    // It ends by itself.
    admin.post("/v1/block", &with(key.clone(), 1));
    assert_eq!(request(gateway.address, "GET", "/", &["X-Api-Key: k1"]).status, 403);
    wait(Duration::from_millis(1_050));
    assert_eq!(request(gateway.address, "GET", "/", &["X-Api-Key: k1"]).status, 200);
    for seconds in [0, 2_592_001] {
        assert_eq!(admin.post("/v1/block", &with(key.clone(), seconds)).status, 422);
    }
    assert_eq!(admin.post("/v1/block", &key).status, 400, "an end is always there");
    let whats: Vec<String> = admin.get("/v1/audit").json()["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["what"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(whats, ["block", "unblock", "block"]);
}

#[test]
fn a_block_holds_for_who_is_unlimited_or_allowed_and_for_rules_that_only_watch() {
    let policy = PolicyFile::new(
        "admin: { listen: 127.0.0.1:0 }\nallow: [{ name: health, path: /health }]\nrules:\n  \
         - { name: watch, key: ip, limit: 1000/s, action: shadow }\n",
    );
    let (gateway, admin) =
        administered(&["-c", &policy.path(), "--upstream", &format!("http://{}", upstream::ok())]);
    assert_eq!(get(gateway.address, "/health").status, 200);
    admin.post("/v1/block", &json!({ "rule": "watch", "parts": ["127.0.0.1"], "seconds": 60 }));
    assert_eq!(get(gateway.address, "/health").status, 403);
    assert_eq!(get(gateway.address, "/").status, 403);
    admin.post("/v1/block", &json!({ "rule": "watch", "parts": ["127.0.0.2"], "seconds": 60 }));
    admin.post("/v1/unblock", &json!({ "rule": "watch", "parts": ["127.0.0.1"] }));
    assert_eq!(get(gateway.address, "/").status, 200);
}

#[test]
fn keys_nearest_to_their_limits_are_listed_and_can_be_said_again() {
    let (gateway, admin) = local("");
    assert_eq!(admin.get("/v1/nearest").json()["keys"], json!([]));
    assert_eq!(passing(&gateway, 1, &["X-Api-Key: far"]), 1);
    assert_eq!(passing(&gateway, 2, &["X-Api-Key: near"]), 2);
    let all = admin.get("/v1/nearest").json();
    let names: Vec<&str> =
        all["keys"].as_array().unwrap().iter().map(|key| key["rule"].as_str().unwrap()).collect();
    // 3 of 5 by the address, 2 of 3 by the key.
    assert_eq!(names, ["by-key", "per-client"], "{all}");
    assert_eq!(admin.get("/v1/nearest?n=1").json()["keys"].as_array().unwrap().len(), 1);
    let near = &admin.get("/v1/nearest?rule=by-key").json()["keys"][0];
    assert_eq!((&near["used"], &near["remaining"], &near["quota"]), (&json!(2), &json!(1), &json!(3)));
    let reset = admin.post("/v1/reset", &json!({ "rule": near["rule"], "parts": near["parts"] }));
    assert_eq!(reset.json()["found"], true);
    assert_eq!(admin.get("/v1/nearest?rule=by-key").json()["keys"], json!([]));
    assert_eq!(admin.get("/v1/nearest?rule=nobody").status, 404);
    assert_eq!(admin.get("/v1/nearest?n=201").status, 400);
}

#[test]
fn a_request_is_explained() {
    let (gateway, admin) = local("");
    assert_eq!(passing(&gateway, 2, &[]), 2);
    let explained = admin.post("/v1/explain", &json!({ "path": "/users/7" }));
    assert_eq!(explained.status, 200, "{explained:?}");
    let explained = explained.json();
    assert_eq!((&explained["verdict"], &explained["rules"][0]["remaining"]), (&json!("admit"), &json!(3)));
    assert_eq!(passing(&gateway, 8, &[]), 3, "it took nothing");
    assert_eq!(admin.post("/v1/explain", &json!({ "path": "/", "x": 1 })).status, 400);
    assert_eq!(admin.post("/v1/explain", &json!({ "path": "/", "peer": "nobody" })).status, 422);
}

#[test]
fn plans_have_a_counter_each_and_the_one_that_is_used_is_meant() {
    let policy = PolicyFile::new(
        "admin: { listen: 127.0.0.1:0 }\ntrusted_proxies: [127.0.0.1]\nplans:\n  free: { requests: 3/1000d }\n  \
         gold: { requests: 9/100d }\nplan: { from: [header(x-plan)], default: free }\nrules:\n  \
         - { name: requests, key: ip, limit: { plan: requests } }\n",
    );
    let (gateway, admin) =
        administered(&["-c", &policy.path(), "--upstream", &format!("http://{}", upstream::ok())]);
    assert_eq!(passing(&gateway, 2, &["X-Plan: gold"]), 2);
    let key = json!({ "rule": "requests", "parts": ["127.0.0.1"] });
    let state = admin.post("/v1/state", &key).json();
    let used: Vec<(&Value, &Value)> =
        state["counters"].as_array().unwrap().iter().map(|c| (&c["tiers"][0], &c["used"])).collect();
    assert_eq!(used, [(&json!("free"), &json!(0)), (&json!("gold"), &json!(2))], "{state}");
    let with = |field: &str, value: Value| {
        let mut key = key.clone();
        key[field] = value;
        key
    };
    let gold = admin.post("/v1/state", &with("tier", json!("gold"))).json();
    assert_eq!(gold["counters"].as_array().unwrap().len(), 1);
    let given = admin.post("/v1/grant", &with("units", json!(1))).json();
    assert_eq!((&given["tiers"], &given["given"]), (&json!(["gold"]), &json!(1)));
    assert_eq!(passing(&gateway, 1, &["X-Plan: free"]), 1);
    let both = admin.post("/v1/grant", &with("units", json!(1)));
    assert_eq!((both.status, both.json()["type"].clone()), (409, json!("urn:cupo:problem:ambiguous")));
    let mut free = with("units", json!(1));
    free["tier"] = json!("free");
    assert_eq!(admin.post("/v1/grant", &free).json()["given"], 1);
    assert_eq!(admin.post("/v1/state", &with("tier", json!("platinum"))).status, 404);
    let reset = admin.post("/v1/reset", &key).json();
    assert_eq!(reset["after"][1]["used"], 0, "{reset}");
}

#[test]
fn a_policy_is_reloaded_refused_and_rolled_back() {
    let policy = |limit: u64| {
        format!(
            "admin: {{ listen: 127.0.0.1:0 }}\nrules:\n  - {{ name: per-client, key: ip, limit: {limit}/1000d }}\n"
        )
    };
    let file = PolicyFile::new(&policy(5));
    let (gateway, admin) =
        administered(&["-c", &file.path(), "--upstream", &format!("http://{}", upstream::ok())]);
    assert_eq!(passing(&gateway, 3, &[]), 3);
    let first = admin.get("/v1/policy").json()["revision"].clone();
    let none = admin.post("/v1/rollback", &json!({}));
    assert_eq!((none.status, none.json()["type"].clone()), (409, json!("urn:cupo:problem:not-reloaded")));
    let key = json!({ "rule": "per-client", "parts": ["127.0.0.1"] });
    let mut block = key.clone();
    block["seconds"] = 600.into();
    assert_eq!(admin.post("/v1/block", &block).status, 200);
    std::fs::write(file.path(), policy(9)).unwrap();
    // Whoever is faster: the watch of the file, or this.
    let reloaded = admin.send("POST", "/v1/reload", &[], "");
    assert_eq!(reloaded.status, 200, "{reloaded:?}");
    let second = admin.get("/v1/policy").json()["revision"].clone();
    assert_ne!(first, second);
    assert_eq!(reloaded.json()["after"], second);
    assert_eq!(get(gateway.address, "/").status, 403, "what was blocked stays blocked");
    assert!(admin.post("/v1/unblock", &key).json()["before_us"].as_u64().unwrap() > 500_000_000);
    assert_eq!(get(gateway.address, "/").remaining(), 5, "what was counted stays");
    std::fs::write(file.path(), "rules: []\n").unwrap();
    let refused = admin.post("/v1/reload", &json!({}));
    assert_eq!(
        (refused.status, refused.json()["type"].clone()),
        (422, json!("urn:cupo:problem:policy-refused"))
    );
    assert!(refused.json()["detail"].as_str().unwrap().contains("cupo.yaml:1:"), "{refused:?}");
    assert_eq!(get(gateway.address, "/").remaining(), 4);
    assert_eq!(admin.post("/v1/rollback", &json!({ "to": "nothing" })).status, 404);
    let back = admin.post("/v1/rollback", &json!({ "to": first }));
    assert_eq!((back.status, back.json()["after"].clone()), (200, first.clone()), "{back:?}");
    assert_eq!(get(gateway.address, "/").header("x-ratelimit-limit"), Some("5"));
    let history = admin.get("/v1/history").json();
    let newest = &history["revisions"][0];
    assert_eq!(
        (&newest["id"], &newest["in_force"], &newest["rollback"]),
        (&first, &json!(true), &json!(true))
    );
    assert_eq!(history["revisions"][1]["id"], second);
    let changes = admin.get("/v1/audit").json();
    let last = &changes["changes"][0];
    assert_eq!((&last["what"], &last["after"]["revision"]), (&json!("rollback"), &first));
    assert_eq!(last["before"]["revision"], second);
    assert_eq!(admin.post("/v1/reload", &json!({ "x": 1 })).status, 400);
}

#[test]
fn every_route_of_the_document_answers_as_it_says() {
    let file = PolicyFile::new(&format!("admin: {{ listen: 127.0.0.1:0 }}\n{RULES}"));
    let upstream = format!("http://{}", upstream::ok());
    let (_gateway, admin) = administered(&["-c", &file.path(), "--upstream", &upstream]);
    let document = admin.get("/v1/openapi.json").json();
    let docs = std::fs::read_to_string(crate::process::root().join("docs/openapi.json")).unwrap();
    assert_eq!(document, serde_json::from_str::<Value>(&docs).unwrap());
    let key = json!({ "rule": "per-client", "parts": ["127.0.0.1"], "units": 1, "seconds": 1, "path": "/" });
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
            let response = match schema.as_str().map(|name| name.trim_start_matches("#/components/schemas/"))
            {
                Some(name) => {
                    let fields = document["components"]["schemas"][name]["properties"].as_object().unwrap();
                    let body: serde_json::Map<String, Value> = key
                        .as_object()
                        .unwrap()
                        .iter()
                        .filter(|(field, _)| fields.contains_key(*field))
                        .map(|(k, v)| (k.clone(), v.clone()))
                        .collect();
                    admin.post(path, &body.into())
                }
                None => admin.send(&method.to_uppercase(), path, &[], ""),
            };
            let status = response.status.to_string();
            assert!(operation["responses"].get(&status).is_some(), "{method} {path}: {response:?}");
            assert!(response.status == 200 || path == "/v1/rollback", "{method} {path}: {response:?}");
        }
    }
}

//! A gateway whose files change while it runs.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;

use cupo_testkit::redis::until;
use parking_lot::Mutex;
use rustix::process::Signal;
use serde_json::Value;

use crate::client::{Client, Response, get, request};
use crate::process::{BOUND, Gateway, PolicyFile};
use crate::upstream;

fn limit(count: u64) -> String {
    format!(
        "rules:\n  - {{ name: all, key: ip, limit: {{ algorithm: fixed_window, rate: {count}/1000d }} }}\n"
    )
}

/// Writes beside and renames.
fn replace(policy: &PolicyFile, text: &str) {
    let path = PathBuf::from(policy.path());
    fs::write(path.with_extension("new"), text).unwrap();
    fs::rename(path.with_extension("new"), path).unwrap();
}

fn shown(response: &Response) -> Option<u64> {
    response.number("x-ratelimit-limit")
}

fn health(gateway: &Gateway) -> Value {
    get(gateway.address, "/.cupo/health").json()["policy"].clone()
}

fn is_refused(line: &str) -> bool {
    line.contains("is refused, ") && line.contains(" stays in force")
}

#[test]
fn a_policy_file_that_changes_is_in_force_and_one_that_is_wrong_is_not() {
    let policy = PolicyFile::new(&limit(5));
    let mut gateway = Gateway::with_policy(&policy, upstream::ok());
    let address = gateway.address;
    assert_eq!((shown(&get(address, "/")), get(address, "/").remaining()), (Some(5), 3));
    let first = health(&gateway);
    assert!(
        first["in_force_since"].as_str().unwrap().ends_with('Z') && first["last_error"].is_null(),
        "{first}"
    );

    // Nobody has to ask.
    replace(&policy, &limit(7));
    let line = gateway.line(|line| line.contains("another policy is in force"));
    let id = first["revision"].as_str().unwrap();
    assert!(line.contains("by=file") && line.contains(&format!("before={id}")), "{line}");
    assert!(line.contains("changes=changed all (limit)"), "{line}");
    let second = get(address, "/");
    assert_eq!((shown(&second), second.remaining()), (Some(7), 4), "three of seven are used");
    let after = health(&gateway);
    assert_ne!(after["revision"], first["revision"]);

    // What is wrong is told as `cupo check` tells it, and changes nothing.
    fs::write(policy.path(), "rules:\n  - { name: all, key: ip, limt: 1/s }\n").unwrap();
    gateway.line(is_refused);
    gateway.line(|line| line.contains("there is no field `limt` here"));
    gateway.line(|line| line.contains("cupo.yaml:2:27"));
    gateway.line(|line| line.contains("= hint: did you mean `limit`?"));
    let wrong = health(&gateway);
    assert_eq!(
        (&wrong["revision"], &wrong["in_force_since"]),
        (&after["revision"], &after["in_force_since"])
    );
    let error = wrong["last_error"].as_str().unwrap();
    assert!(error.starts_with("cupo.yaml:2:5: ") && error.ends_with("(and 1 more)"), "{error}");
    assert_eq!(get(address, "/").remaining(), 3);

    // So is a file that is empty, or not there.
    fs::write(policy.path(), "").unwrap();
    gateway.line(is_refused);
    fs::remove_file(policy.path()).unwrap();
    gateway.line(is_refused);
    gateway.signal(Signal::HUP);
    let again = gateway.line(is_refused);
    assert!(again.contains("by=SIGHUP"), "whoever asks is told again: {again}");
    assert_eq!(get(address, "/").remaining(), 2);

    replace(&policy, &limit(7));
    gateway.line(|line| line.contains("the policy file is right again"));
    let right = health(&gateway);
    assert_eq!(right, after, "it is the one that is in force");
    assert_eq!(get(address, "/").remaining(), 1);
    let swaps = gateway.said.iter().filter(|(_, line)| line.contains("another policy is in force")).count();
    assert_eq!(swaps, 1, "{:?}", gateway.said);
}

/// As Kubernetes does it.
#[test]
fn a_folder_that_a_link_is_turned_to_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let turn = |name: &str, text: &str| {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("cupo.yaml"), text).unwrap();
        symlink(name, folder.path().join("..data_tmp")).unwrap();
        fs::rename(folder.path().join("..data_tmp"), folder.path().join("..data")).unwrap();
    };
    turn("..1", &limit(5));
    symlink("..data/cupo.yaml", folder.path().join("cupo.yaml")).unwrap();
    let path = folder.path().join("cupo.yaml");
    let upstream = format!("http://{}", upstream::ok());
    let mut gateway = Gateway::start(&["-c", path.to_str().unwrap(), "--upstream", &upstream]);
    for (name, count) in [("..2", 6), ("..3", 7)] {
        turn(name, &limit(count));
        fs::remove_dir_all(folder.path().join(format!("..{}", count - 5))).unwrap();
        gateway.line(|line| line.contains("another policy is in force"));
        assert_eq!(shown(&get(gateway.address, "/")), Some(count));
    }
}

#[test]
fn everything_that_answers_swaps_with_the_policy() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    let upstream = upstream::telling(move |head| seen.lock().push(head.to_ascii_lowercase()));
    let policy = PolicyFile::new(&format!("status: /limits\ntrusted_proxies: [127.0.0.1]\n{}", limit(3)));
    let mut gateway = Gateway::with_policy(&policy, upstream);
    let address = gateway.address;
    let mut reload = |text: &str| {
        replace(&policy, text);
        gateway.signal(Signal::HUP);
        gateway.line(|line| line.contains("another policy is in force") && line.contains("by=SIGHUP"));
    };
    let forwarded = ["X-Forwarded-For: 192.0.2.9", "X-User: ada"];
    let passed_on = |fields: &[&str]| {
        request(address, "GET", "/", fields);
        heads.lock().pop().unwrap()
    };
    assert!(get(address, "/limits").json()["limits"].is_array());
    let head = passed_on(&forwarded);
    assert!(head.contains("x-forwarded-for: 192.0.2.9, 127.0.0.1") && head.contains("x-user: ada"), "{head}");

    // Presentation, status path, trust, an entry of the block-list.
    reload(&format!(
        "status: /quota\nresponses: {{ headers: [{{ limit: X-Quota }}], messages: {{ en: {{ exceeded: \"Slowly.\" }} }} }}\n\
         block: [{{ name: away, path: /away }}]\n{}",
        limit(2)
    ));
    assert_eq!(get(address, "/limits").status, 200);
    assert!(get(address, "/quota").json()["limits"].is_array());
    let head = passed_on(&forwarded);
    assert!(head.contains("x-forwarded-for: 127.0.0.1\r") && !head.contains("x-user"), "{head}");
    assert_eq!(get(address, "/away").status, 403);
    let refused = get(address, "/");
    assert_eq!((refused.status, refused.header("x-quota")), (429, Some("2")), "{refused:?}");
    assert!(refused.body.contains("Slowly.") && refused.header("x-ratelimit-limit").is_none(), "{refused:?}");
}

#[test]
fn keys_and_settings_of_tokens_swap() {
    let secret = |letter: &str| format!(r#"{{"keys":[{{"kty":"oct","k":"{}"}}]}}"#, letter.repeat(44));
    let text = |invalid: &str| {
        format!("jwt: {{ keys_file: jwks.json, algorithms: HS256, invalid: {invalid} }}\n{}", limit(100))
    };
    let policy = PolicyFile::new(&text("anonymous"));
    policy.beside("jwks.json", &secret("A"));
    let mut gateway = Gateway::with_policy(&policy, upstream::ok());
    let address = gateway.address;
    let ask = || request(address, "GET", "/", &["Authorization: Bearer e30.e30.e30"]).status;
    assert_eq!(ask(), 200);
    replace(&policy, &text("refuse"));
    gateway.line(|line| line.contains("another policy is in force"));
    assert_eq!(ask(), 401);
    // A file that the policy names.
    policy.beside("jwks.json", "{}");
    gateway.line(is_refused);
    gateway.line(|line| line.contains("jwks.json"));
    policy.beside("jwks.json", &secret("B"));
    gateway.line(|line| line.contains("another policy is in force"));
    assert_eq!(ask(), 401);
}

#[test]
fn the_upstream_swaps_and_what_is_under_way_ends_where_it_is() {
    let (asked, began) = channel();
    let (answer, may_answer) = channel::<()>();
    let (asked, may_answer) = (Mutex::new(asked), Mutex::new(may_answer));
    let slow = upstream::telling(move |head| {
        if head.starts_with("GET /slow") {
            asked.lock().send(()).unwrap();
            may_answer.lock().recv_timeout(BOUND).unwrap();
        }
    });
    let text = |upstream: SocketAddr| format!("upstream: http://{upstream}\n{}", limit(100));
    let policy = PolicyFile::new(&text(slow));
    let mut gateway = Gateway::start(&["-c", &policy.path()]);
    let address = gateway.address;
    let mut client = Client::new(address);
    client.ask("GET", "/slow", &[]);
    began.recv_timeout(BOUND).unwrap();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    replace(&policy, &text(upstream::telling(move |head| seen.lock().push(head.to_owned()))));
    gateway.line(|line| line.contains("another policy is in force"));
    assert_eq!(get(address, "/next").status, 200);
    assert!(heads.lock().iter().any(|head| head.starts_with("GET /next")));
    answer.send(()).unwrap();
    assert_eq!(client.read(true).unwrap().status, 200);
    // The same connection goes on, to the new upstream.
    assert_eq!(client.get("/again").status, 200);
    assert!(heads.lock().iter().any(|head| head.starts_with("GET /again")));
}

#[test]
fn what_waits_for_a_restart_is_named() {
    let policy = PolicyFile::new(&format!("workers: 1\n{}", limit(5)));
    let mut gateway = Gateway::with_policy(&policy, upstream::ok());
    replace(
        &policy,
        &format!(
            "listen: 127.0.0.1:1\nworkers: 2\naccess_log: true\nlimits: {{ headers: 50 }}\n{}",
            limit(6)
        ),
    );
    let line = gateway.line(|line| line.contains("settings wait for a restart"));
    assert!(
        line.contains("workers, limits.headers") || line.contains("access_log, workers, limits.headers"),
        "{line}"
    );
    assert!(!line.contains("listen"), "an option overrules it: {line}");
    gateway.line(|line| line.contains("another policy is in force"));
    assert_eq!(shown(&get(gateway.address, "/")), Some(6));
    let waiting = health(&gateway)["waiting_for_restart"].clone();
    assert_eq!(waiting, serde_json::json!(["access_log", "workers", "limits.headers"]));
    replace(&policy, &format!("workers: 1\n{}", limit(7)));
    until("nothing waits", || health(&gateway)["waiting_for_restart"].is_null().then_some(()));
}

#[test]
fn without_a_file_a_hangup_ends_the_gateway() {
    let gateway = Gateway::start(&["--upstream", "demo", "--limit", "3/1000d"]);
    assert!(health(&gateway).is_null());
    gateway.signal(Signal::HUP);
    if ignores_hangups() {
        assert!(health(&gateway).is_null(), "under nohup it stays");
        return;
    }
    let (status, _) = gateway.end();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(Signal::HUP.as_raw()));
}

/// Whether whoever runs the tests has them, and what they start, ignore SIGHUP.
fn ignores_hangups() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1
}

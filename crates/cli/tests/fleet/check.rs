//! `cupo check --connect` tries the store and says what is wrong with it.

use std::io::Write;

use cupo_testkit::redis::{Cluster, RedisServer, SentinelTrio, free_port};

use crate::process::{PolicyFile, Ran, cupo, run, run_to_end};
use crate::upstream;

fn policy(redis: &str) -> PolicyFile {
    PolicyFile::new(&format!(
        "store: {{ redis: {{ {redis} }} }}\nrules:\n  - {{ name: r, key: ip, limit: 5/minute }}\n"
    ))
}

fn check(redis: &str) -> Ran {
    run(&["check", &policy(redis).path(), "--connect"], "")
}

fn works(redis: &str, at: &str) {
    let ran = check(redis);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{redis}");
    assert!(ran.out.ends_with(&format!("\nthe store answers: {at}\n")), "{}", ran.out);
}

/// The exit code is 3, the policy is described all the same, and what is wrong is one line with these parts.
fn fails(redis: &str, parts: &[&str]) {
    let ran = check(redis);
    assert_eq!(ran.code, Some(3), "{redis}: {ran:?}");
    assert!(ran.out.contains(" is valid.") && !ran.out.contains("the store answers"), "{}", ran.out);
    for part in ["error: the store cannot be reached: "].iter().chain(parts) {
        assert!(ran.err.contains(part), "{part} is not in {}", ran.err);
    }
    assert!(!ran.err.contains("s3cret"), "{}", ran.err);
}

#[test]
fn a_good_address_is_confirmed() {
    let server = RedisServer::standalone().start();
    works(&format!("url: {}", server.url()), &server.address());
    // Nothing is tried unless it is asked for.
    let nobody = policy("url: redis://127.0.0.1:1");
    assert_eq!(run(&["check", &nobody.path()], "").code, Some(0));
    assert!(server.command(&["KEYS", "*"]).array().is_empty(), "it only looks");
}

#[test]
fn a_wrong_port_or_name_is_told() {
    let port = free_port();
    fails(&format!("url: redis://127.0.0.1:{port}"), &[&format!("127.0.0.1:{port}"), "refused"]);
    fails("url: redis://nobody.invalid", &["nobody.invalid:6379"]);
    fails("url: unix:///nowhere/socket", &["/nowhere/socket"]);
}

#[test]
fn a_wrong_password_or_user_is_told_and_never_shown() {
    let server = RedisServer::standalone().users("user cupo on >right-s3cret ~cupo:* +@all").start();
    let (address, url) = (server.address(), format!("redis://{}", server.address()));
    works(&format!("url: redis://cupo:right-s3cret@{address}"), &address);
    for redis in [
        format!("url: redis://cupo:wrong-s3cret@{address}"),
        format!("url: redis://other:right-s3cret@{address}"),
        format!("url: {url}"),
    ] {
        fails(&redis, &[&address, "does not accept the user and password"]);
    }
    // From a file, and from the environment.
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "right-s3cret").unwrap();
    works(&format!("url: {url}, username: cupo, password_file: {}", file.path().display()), &address);
    let policy = policy(&format!("url: {url}, username: cupo, password_env: CUPO_TEST_PASSWORD"));
    let mut command = cupo();
    command.args(["check", &policy.path(), "--connect"]).env("CUPO_TEST_PASSWORD", "right-s3cret");
    let ran = run_to_end(command, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.out.contains("s3cret"), "{}", ran.out);
}

#[test]
fn wrong_tls_is_told() {
    let server = RedisServer::standalone().tls().start();
    let (certificates, port) = (server.certificates(), server.tls_port());
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, pem: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.display().to_string()
    };
    let ca = file("ca.pem", &certificates.authority);
    let (certificate, key) =
        (file("client.pem", &certificates.client), file("client.key", &certificates.client_key));
    let pair = format!("certificate_file: {certificate}, key_file: {key}");
    let url = format!("url: rediss://localhost:{port}");
    works(&format!("{url}, tls: {{ ca_file: {ca}, {pair} }}"), &format!("localhost:{port}"));
    // Nobody vouches for the server; the server asks for a certificate; one end speaks TLS and the other does not.
    fails(&format!("{url}, tls: {{ {pair} }}"), &["localhost", "certificate"]);
    fails(&format!("{url}, tls: {{ ca_file: {ca} }}"), &["localhost"]);
    fails(&format!("url: redis://localhost:{port}, connect_timeout: 2s"), &["localhost"]);
    let plain = server.port();
    fails(
        &format!("url: rediss://localhost:{plain}, connect_timeout: 2s, tls: {{ ca_file: {ca}, {pair} }}"),
        &["localhost"],
    );
    let missing = check(&format!("{url}, tls: {{ ca_file: /nowhere/ca.pem }}"));
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.err.contains("/nowhere/ca.pem"), "{missing:?}");
}

#[test]
fn what_is_no_redis_is_told() {
    let web = upstream::ok();
    fails(&format!("url: redis://{web}, connect_timeout: 2s"), &[&web.to_string()]);
}

#[test]
fn servers_of_another_kind_are_told_and_those_of_the_right_kind_confirmed() {
    let single = RedisServer::standalone().start();
    fails(&format!("url: redis-cluster://{}", single.address()), &["cluster"]);
    fails(&format!("url: redis-sentinel://{}/primary", single.address()), &["Sentinel"]);

    let trio = SentinelTrio::start();
    let sentinels: Vec<String> =
        trio.sentinel_ports().iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let url = format!("url: \"redis-sentinel://{}/{}\"", sentinels.join(","), SentinelTrio::MASTER);
    works(&url, &format!("127.0.0.1:{}", trio.master_port()));
    fails(&format!("url: redis-sentinel://{}/nobody", sentinels[0]), &["nobody"]);
    fails(&format!("url: redis://{}", sentinels[0]), &["Sentinel"]);

    let mut cluster = Cluster::start();
    let node = cluster.node(0).address();
    works(&format!("url: redis-cluster://{node}"), &node);
    fails(&format!("url: redis://{node}"), &["cluster"]);
}

//! The private servers: what they promise to the tests that use them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

use std::path::Path;

use cupo_testkit::redis::{Client, Cluster, RedisServer, Reply, SentinelTrio, until, valkey_server};

fn is_running(id: u32) -> bool {
    Path::new(&format!("/proc/{id}")).exists()
}

#[test]
fn a_server_lives_as_long_as_its_value() {
    let server = RedisServer::standalone().start();
    assert_eq!(server.command(&["SET", "a", "1", "PX", "60000"]), Reply::Bytes(b"OK".to_vec()));
    assert_eq!(Client::tcp(server.port()).unwrap().command(&["GET", "a"]).text(), "1");
    server.assert_every_key_has_a_ttl();
    server.flush();
    assert_eq!(server.command(&["DBSIZE"]).int(), 0);
    let (id, socket) = (server.id(), server.unix_socket());
    assert!(is_running(id) && socket.exists());
    drop(server);
    assert!(!is_running(id) && !socket.exists() && !socket.parent().unwrap().exists());
}

#[test]
fn a_paused_server_answers_later_and_goes_too() {
    let mut server = RedisServer::standalone().start();
    server.pause();
    let (port, id) = (server.port(), server.id());
    let asker = std::thread::spawn(move || Client::tcp(port).unwrap().command(&["PING"]));
    let stopped =
        || std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| stat.contains(") T "));
    until("it is stopped", || stopped().then_some(()));
    assert!(!asker.is_finished());
    server.resume();
    assert_eq!(asker.join().unwrap().text(), "PONG");
    server.pause();
    drop(server);
    assert!(!is_running(id));
}

#[test]
fn a_killed_server_comes_back_on_its_port_without_its_data() {
    let mut server = RedisServer::standalone().start();
    server.command(&["SET", "a", "1"]);
    let (port, id) = (server.port(), server.id());
    server.kill9();
    assert!(!is_running(id));
    assert!(Client::tcp(port).is_err());
    server.restart();
    assert_eq!(server.port(), port);
    assert_eq!(server.command(&["GET", "a"]), Reply::Nil);
}

#[test]
fn commands_are_counted() {
    let server = RedisServer::standalone().config("maxmemory", "64mb").start();
    server.reset_stats();
    server.command(&["EVAL", "redis.call('GET', 'a') return redis.call('GET', 'b')", "0"]);
    assert_eq!(server.command_stats()["get"].calls, 2);
    assert_eq!(server.info("memory", "maxmemory"), "67108864");
}

#[test]
#[should_panic(expected = "a lives for ever")]
fn a_key_without_end_is_noticed() {
    let server = RedisServer::standalone().start();
    server.command(&["SET", "b", "1", "PX", "60000"]);
    server.command(&["SET", "a", "1"]);
    server.assert_every_key_has_a_ttl();
}

#[test]
fn passwords_and_users_are_asked_for() {
    let server = RedisServer::standalone().password("secret").start();
    let refused = Client::tcp(server.port()).unwrap().try_command(&["GET", "a"]).unwrap();
    assert!(matches!(refused, Reply::Error(error) if error.starts_with("NOAUTH")));
    assert_eq!(server.command(&["GET", "a"]), Reply::Nil);
    assert!(server.url().contains(":secret@"));

    let server = RedisServer::standalone().users("user cupo on >secret ~cupo:* +get").start();
    let mut client = Client::tcp(server.port()).unwrap();
    assert!(matches!(client.try_command(&["GET", "a"]).unwrap(), Reply::Error(_)));
    client.command(&["AUTH", "cupo", "secret"]);
    assert_eq!(client.command(&["GET", "cupo:a"]), Reply::Nil);
    assert!(matches!(client.try_command(&["GET", "a"]).unwrap(), Reply::Error(_)));
    assert_eq!(server.command(&["SET", "a", "1"]).text(), "OK");
}

#[cfg(feature = "tls")]
#[test]
fn tls_wants_the_clients_certificate() {
    let server = RedisServer::standalone().tls().start();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, pem: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path
    };
    let certificates = server.certificates();
    let authority = file("authority", &certificates.authority);
    let (client, key) = (file("client", &certificates.client), file("key", &certificates.client_key));
    let ping = |with_certificate: bool| {
        let mut openssl = std::process::Command::new("openssl");
        openssl.args(["s_client", "-quiet", "-verify_return_error", "-verify_hostname", "localhost"]);
        openssl
            .args(["-connect", &format!("127.0.0.1:{}", server.tls_port())])
            .arg("-CAfile")
            .arg(&authority);
        if with_certificate {
            openssl.arg("-cert").arg(&client).arg("-key").arg(&key);
        }
        let pipe = std::process::Stdio::piped;
        let mut child = openssl.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
        // Without a certificate the server may hang up before it is asked.
        drop(std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"PING\r\nQUIT\r\n"));
        let output = child.wait_with_output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let (with, without) = (ping(true), ping(false));
    assert!(with.contains("+PONG"), "{with}");
    assert!(!without.contains("+PONG"), "{without}");
}

#[test]
fn valkey_serves_as_well() {
    if let Some(binary) = valkey_server() {
        let server = RedisServer::standalone().binary(binary).start();
        assert_eq!(server.info("server", "server_name"), "valkey");
    }
}

#[test]
fn sentinels_replace_a_master_that_is_killed() {
    let mut trio = SentinelTrio::start();
    let old = trio.master_port();
    assert_eq!((trio.server(0).port(), trio.sentinel_ports().len()), (old, 3));
    trio.master().command(&["SET", "a", "1"]);
    trio.master().command(&["WAIT", "1", "5000"]);
    trio.server(0).kill9();
    let new = trio.until_replaced(old);
    assert_eq!(trio.server(1).port(), new);
    assert_eq!(trio.master().command(&["GET", "a"]).text(), "1");
}

#[test]
fn a_cluster_moves_slots_and_replaces_masters() {
    let mut cluster = Cluster::start();
    let slot = cluster.slot("a");
    let from = cluster.owner(slot, 0);
    let to = (from + 1) % 3;
    cluster.node(from).command(&["SET", "a", "1"]);
    cluster.move_slot(slot, to);
    assert_eq!(cluster.owner(slot, 5), to);
    assert_eq!(cluster.node(to).command(&["GET", "a"]).text(), "1");
    // In an orderly manner.
    cluster.failover(to + 3);
    cluster.until_whole();
    assert_eq!(cluster.owner(slot, 0), to + 3);
    // And by force: a master that hangs.
    cluster.node(to + 3).pause();
    cluster.until_promoted(to);
    assert_eq!(cluster.node(to).command(&["GET", "a"]).text(), "1");
    cluster.node(to + 3).resume();
    cluster.until_whole();
}

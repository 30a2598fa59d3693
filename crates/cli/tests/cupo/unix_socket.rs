//! A gateway on a Unix socket: no peer address, a file with permissions, nothing left behind.

use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::process::Signal;

use crate::curl::curl;
use crate::process::{BOUND, Gateway, PolicyFile, run};
use crate::upstream;

const MISSING: &str = "rules:\n  - { name: two, key: ip, limit: 2/1000d, on_missing: deny }\n";

fn gateway(path: &Path, policy: &PolicyFile) -> Gateway {
    let upstream = format!("http://{}", upstream::ok());
    Gateway::listening(&format!("unix:{}", path.display()), &["-c", &policy.path(), "--upstream", &upstream])
}

fn ask(path: &Path, fields: &[&str]) -> u16 {
    let socket = path.to_str().unwrap();
    let fields: Vec<&str> = fields.iter().flat_map(|field| ["-H", *field]).collect();
    let arguments = [&["--unix-socket", socket, "http://shop.example/"], &fields[..]].concat();
    curl(&arguments).status
}

#[test]
fn it_has_no_address_unless_a_trusted_proxy_says_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cupo.sock");
    let missing = PolicyFile::new(MISSING);
    let mut open = gateway(&path, &missing);
    assert_eq!(ask(&path, &[]), 403, "a rule by address lacks one");
    assert_eq!(ask(&path, &["X-Forwarded-For: 203.0.113.9"]), 403, "nobody is trusted");
    open.line(|line| line.contains("CUPO-T001") && line.contains("unix"));
    drop(open);

    let trusting = PolicyFile::new(&format!("trusted_proxies: [unix]\naccess_log: true\n{MISSING}"));
    let mut open = gateway(&path, &trusting);
    for (client, status) in
        [("203.0.113.9", 200), ("203.0.113.9", 200), ("203.0.113.9", 429), ("203.0.113.10", 200)]
    {
        assert_eq!(ask(&path, &[&format!("X-Forwarded-For: 6.6.6.6, {client}")]), status, "{client}");
        open.line(|line| line.contains("\"peer\":\"unix\""));
    }
    assert_eq!(ask(&path, &[]), 403);
}

#[test]
fn its_file_is_guarded_and_leaves_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cupo.sock");
    let on = format!("unix:{}", path.display());
    let policy =
        PolicyFile::new("socket_mode: 0600\nrules:\n  - { name: all, key: global, limit: 100/1000d }\n");
    let first = gateway(&path, &policy);
    let found = std::fs::symlink_metadata(&path).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.mode() & 0o777, 0o600);

    let arguments = ["serve", "--listen", &on, "--upstream", "demo", "--limit", "1/s"];
    let second = run(&arguments, "");
    assert_eq!(second.code, Some(3), "{second:?}");
    assert!(second.err.contains(&on) && second.err.contains("somebody listens there"), "{}", second.err);
    assert_eq!(ask(&path, &[]), 200, "the first goes on");

    // Killed, it leaves its file, and the next takes its place.
    drop(first);
    assert!(path.exists());
    let third = gateway(&path, &policy);
    assert_eq!(ask(&path, &[]), 200);
    third.signal(Signal::TERM);
    let (status, said) = third.end();
    assert!(status.success(), "{said:?}");
    assert!(!path.exists(), "nothing is left behind");

    std::fs::write(&path, "a letter").unwrap();
    let refused = run(&arguments, "");
    assert_eq!(refused.code, Some(3));
    assert!(refused.err.contains("no socket"), "{}", refused.err);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a letter");
}

#[test]
fn connections_are_as_by_tcp() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cupo.sock");
    let policy = PolicyFile::new("rules:\n  - { name: all, key: global, limit: 100/1000d }\n");
    let _open = gateway(&path, &policy);
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    let keep = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let close = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(format!("{keep}{keep}{close}").as_bytes()).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert_eq!(all.matches("HTTP/1.1 200 OK").count(), 3, "{all}");
    // What is no HTTP is refused, and HTTP/2 is spoken.
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"nonsense\r\n\r\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert!(all.starts_with("HTTP/1.1 400 "), "{all}");
    let socket = path.to_str().unwrap();
    assert_eq!(
        curl(&["--http2-prior-knowledge", "--unix-socket", socket, "http://shop.example/"]).status,
        200
    );
}

//! Uploads that are refused over HTTP/2: the answer arrives, whatever the client is still sending, and nobody sends for ever.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use crate::process::{Gateway, PolicyFile, Ran, now, run_to_end};

/// A gateway that refuses everybody.
fn refusing() -> (PolicyFile, Gateway) {
    let policy = PolicyFile::new("upstream: demo\nrules: [{ name: all, key: ip, limit: 0/second }]");
    let gateway = Gateway::start(&["-c", &policy.path()]);
    (policy, gateway)
}

fn upload(gateway: &Gateway, file: &str) -> Ran {
    let mut command = Command::new("curl");
    command.args([
        "-s",
        "--noproxy",
        "*",
        "--max-time",
        "30",
        "--http2-prior-knowledge",
        "-w",
        " %{http_code}",
    ]);
    command.args(["--data-binary", &format!("@{file}"), &format!("http://{}/", gateway.address)]);
    run_to_end(command, "")
}

#[test]
fn two_hundred_answers_and_no_loss() {
    let (_policy, gateway) = refusing();
    let folder = tempfile::tempdir().unwrap();
    let mut lost: BTreeMap<usize, Vec<Ran>> = BTreeMap::new();
    for size in [1, 1_000, 60_000, 400_000] {
        let file = folder.path().join("body");
        std::fs::write(&file, vec![b'x'; size]).unwrap();
        for _ in 0..50 {
            let ran = upload(&gateway, file.to_str().unwrap());
            if ran.code != Some(0) || !ran.out.ends_with(" 429") || !ran.out.contains("violated-policies") {
                lost.entry(size).or_default().push(ran);
            }
        }
    }
    assert!(
        lost.is_empty(),
        "{:?}: {lost:#?}",
        lost.iter().map(|(size, ran)| (size, ran.len())).collect::<Vec<_>>()
    );
}

/// The kind, the stream and the payload of the next frame.
fn frame(stream: &mut TcpStream) -> (u8, u32, Vec<u8>) {
    let mut head = [0; 9];
    stream.read_exact(&mut head).unwrap();
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    stream.read_exact(&mut payload).unwrap();
    (head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload)
}

#[test]
fn a_body_without_an_end_is_cut() {
    let (_policy, gateway) = refusing();
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // Settings, and the head of POST / whose body does not end.
    let head = [0x83, 0x86, 0x84, 0x41, 1, b'a'];
    let frames = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(),
        &[0, 0, 0, 4, 0, 0, 0, 0, 0],
        &[0, 0, 6, 1, 4, 0, 0, 0, 1],
        &head,
        &[0, 0, 1, 0, 0, 0, 0, 0, 1, b'x'],
    ];
    stream.write_all(&frames.concat()).unwrap();
    let mut answered = None;
    loop {
        match frame(&mut stream) {
            (1, 1, _) => answered = Some(now()),
            (3, 1, code) => {
                let waited = answered.expect("answered before it is cut").elapsed();
                assert_eq!(code, [0; 4], "NO_ERROR");
                assert!(
                    waited >= Duration::from_millis(500) && waited < Duration::from_secs(10),
                    "{waited:?}"
                );
                break;
            }
            _ => {}
        }
    }
    // And one that goes on and on.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body");
    std::fs::write(&file, vec![b'x'; 64 << 20]).unwrap();
    let begun = now();
    upload(&gateway, file.to_str().unwrap());
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

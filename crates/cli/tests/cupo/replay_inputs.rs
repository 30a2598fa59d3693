//! `cupo replay` on files: gzip, several of them, the progress bar, and what cannot be opened.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::process::{PolicyFile, cupo, run, run_to_end};

const POLICY: &str = "rules:\n  - { name: r, key: ip, limit: 3/minute }\n";

fn log(from: u64, to: u64) -> String {
    let line = |second: u64| {
        let (minute, second) = (second / 60 % 60, second % 60);
        format!(
            "203.0.113.9 - - [29/Nov/2026:21:{minute:02}:{second:02} +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n"
        )
    };
    (from..to).map(line).collect()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_is_known_by_its_first_bytes() {
    let policy = PolicyFile::new(POLICY);
    let plain = run(&["replay", &policy.path()], log(0, 500));
    assert_eq!((plain.code, plain.out.lines().count()), (Some(0), 500), "{}", plain.err);
    // As one member, and as several, which is how rotated logs are appended.
    let members = [gzip(&log(0, 200)), gzip(&log(200, 500))].concat();
    for bytes in [gzip(&log(0, 500)), members] {
        let ran = run(&["replay", &policy.path()], bytes);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), plain.err.as_str()));
        assert!(ran.out == plain.out);
    }
    // Events, too.
    let events = "{\"t_us\":1}\n{\"t_us\":2}\n";
    assert_eq!(
        run(&["replay", &policy.path()], gzip(events)).out,
        run(&["replay", &policy.path()], events).out
    );
}

#[test]
fn gzip_that_ends_in_the_middle_is_an_error() {
    let policy = PolicyFile::new(POLICY);
    let mut bytes = gzip(&log(0, 3_000));
    bytes.truncate(bytes.len() - 20);
    let ran = run(&["replay", &policy.path()], bytes);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.err.contains("error: stdin cannot be read to its end: "), "{}", ran.err);
    assert!(run(&["replay", &policy.path()], &b"\x1f\x8b nonsense"[..]).code == Some(3));
}

#[test]
fn several_files_are_one_log() {
    let policy = PolicyFile::new(POLICY);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (older, newer) = (file("access.log.1.gz"), file("access.log"));
    fs::write(&older, gzip(&log(0, 100))).unwrap();
    fs::write(&newer, log(100, 150)).unwrap();
    let ran = run(&["replay", &policy.path(), "--input", &older, "-i", &newer], "");
    assert_eq!(ran.err, format!("{older} is read as combined\n"));
    assert!(ran.out == run(&["replay", &policy.path()], log(0, 150)).out);
    // Stdin in between, and lines that cannot be read by the file that they are in.
    let ran = run(&["replay", &policy.path(), "-i", &older, "-i", "-", "-i", &newer], "nonsense\n");
    assert_eq!(ran.out.lines().count(), 150);
    assert!(ran.err.contains("\n  stdin, line 1: "), "{}", ran.err);
    // Events by their own names.
    fs::write(&newer, "{\"t_us\":5}\n{}\n").unwrap();
    let ran = run(&["replay", &policy.path(), "-i", &newer], "");
    assert!(ran.code == Some(1) && ran.err.starts_with(&format!("error: {newer}, line 2: ")), "{ran:?}");
    assert_eq!(ran.out.lines().count(), 1);
}

#[test]
fn what_cannot_be_opened_is_named() {
    let policy = PolicyFile::new(POLICY);
    let ran = run(&["replay", &policy.path(), "-i", "/nowhere/access.log"], "");
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.starts_with("error: `/nowhere/access.log` cannot be read: "), "{}", ran.err);
    let ran = run(&["replay", &policy.path(), "/nowhere/cupo.yaml"], "");
    assert!(ran.code == Some(1) && ran.err.contains("/nowhere/cupo.yaml"), "{ran:?}");
    for options in [["--format", "apache"].as_slice(), &["--key", "r"], &["--input"]] {
        assert_eq!(run(&[&["replay", &policy.path()], options].concat(), "").code, Some(2), "{options:?}");
    }
}

/// What a command writes to a terminal that is its stderr.
fn on_terminal(arguments: &[&str], input: &Path) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let end = || File::options().read(true).write(true).open(&name).unwrap();
    let mut command = cupo();
    command.args(arguments).arg("-i").arg(input);
    // Wide enough for a bar.
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&terminal, size).unwrap();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(end())
        .env("TERM", "xterm")
        .spawn()
        .unwrap();
    // Ours of the child's end has to be closed for its output to end.
    drop(command);
    let reader = thread::spawn(move || {
        let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
        // The end of a terminal is an error.
        while let Ok(count @ 1..) = File::from(terminal.try_clone().unwrap()).read(&mut buffer) {
            seen.extend_from_slice(&buffer[..count]);
        }
        String::from_utf8_lossy(&seen).into_owned()
    });
    assert_eq!(child.wait().unwrap().code(), Some(0));
    reader.join().unwrap()
}

#[test]
fn a_bar_tells_a_person_how_far_it_is() {
    let policy = PolicyFile::new(POLICY);
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("access.log");
    fs::write(&input, log(0, 60).repeat(500)).unwrap();
    let seen = on_terminal(&["replay", &policy.path(), "--summary"], &input);
    assert!(seen.contains("% [") && seen.contains(" MiB") && seen.contains("left"), "{seen:?}");
    assert!(seen.contains("lines a second"), "{seen:?}");
    // Nobody else sees it.
    let mut command = cupo();
    command.args(["replay", &policy.path(), "--summary", "-i"]).arg(&input);
    let ran = run_to_end(command, "");
    let said: Vec<&str> = ran.err.lines().collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[0], format!("{} is read as combined", input.display()));
    assert!(said[1].ends_with(" lines a second"), "{said:?}");
}

//! Lines that are no events: named, and everything before them answered.

use crate::process::{PolicyFile, run};

fn refused(line: &[u8], parts: &[&str]) {
    let policy = PolicyFile::new("rules:\n  - { name: r, key: ip, limit: 5/minute }\n");
    // Two good ones and a blank one before it, and good ones after.
    let events = [b"{\"t_us\":1}\n\n{\"t_us\":2}\n", line, b"\n{\"t_us\":3}\n{\"t_us\":4}\n"].concat();
    let ran = run(&["replay", &policy.path()], events);
    let about = String::from_utf8_lossy(&line[..line.len().min(200)]);
    assert_eq!(ran.code, Some(1), "{about}: {ran:?}");
    let answered: Vec<&str> = ran.out.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(answered, ["{\"t_us\":1", "{\"t_us\":2"], "{about}");
    assert!(ran.err.starts_with("error: events, line 4: "), "{about}: {}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{about}: {}", ran.err);
    assert!(ran.err.len() < 500, "{about}: {} bytes", ran.err.len());
    for part in parts {
        assert!(ran.err.contains(part), "{about}: {part} is not in {}", ran.err);
    }
}

#[test]
fn what_is_no_json_object() {
    for line in [
        "nothing",
        "[0]",
        "[1,null,null,null,{},{},1]",
        "null",
        "\"t_us\"",
        "17",
        "\u{feff}{\"t_us\":0}",
        "#",
        "}",
    ] {
        refused(line.as_bytes(), &["no JSON object", "cupo replay --help"]);
    }
    for line in [
        r#"{"t_us":0"#,
        r#"{"t_us":0}}"#,
        r#"{"t_us":0}{"t_us":1}"#,
        r#"{'t_us':0}"#,
        r#"{"t_us":0,}"#,
        "{t_us:0}",
    ] {
        refused(line.as_bytes(), &["column ", "cupo replay --help"]);
    }
}

#[test]
fn what_has_the_wrong_fields() {
    refused(b"{}", &["missing field `t_us`"]);
    refused(br#"{"path":"/"}"#, &["missing field `t_us`"]);
    refused(br#"{"t_us":0,"time":1}"#, &["unknown field `time`", "`t_us`", "column 16"]);
    refused(br#"{"t_us":0,"t_us":1}"#, &["duplicate field `t_us`"]);
    refused(br#"{"t_us":"0"}"#, &["u64"]);
    refused(br#"{"t_us":0,"peer":"example.com"}"#, &["IP address"]);
    refused(br#"{"t_us":0,"peer":"203.0.113.9:80"}"#, &["IP address"]);
    refused(br#"{"t_us":0,"headers":{"a":1}}"#, &["a text or a list of texts"]);
    refused(br#"{"t_us":0,"headers":{"a":[["b"]]}}"#, &["a string"]);
    refused(br#"{"t_us":0,"headers":["a"]}"#, &["an object of names and texts"]);
    refused(br#"{"t_us":0,"descriptors":{"a":["b"]}}"#, &["a text"]);
    refused(br#"{"t_us":0,"descriptors":{"a":"b","a":"c"}}"#, &["`a` comes twice"]);
}

#[test]
fn what_has_the_wrong_numbers() {
    for number in ["-1", "1.5", "1e3", "18446744073709551616", "0x10", "01", "NaN"] {
        refused(format!("{{\"t_us\":{number}}}").as_bytes(), &["column "]);
        refused(format!("{{\"t_us\":0,\"cost\":{number}}}").as_bytes(), &["column "]);
    }
    // Nanoseconds, by the looks of it: refused rather than all taken for the same instant.
    for number in ["4503599627370496", "1795986000000000000", "18446744073709551615"] {
        refused(format!("{{\"t_us\":{number}}}").as_bytes(), &[number, "microseconds since the Unix epoch"]);
    }
}

#[test]
fn what_no_request_says() {
    refused(br#"{"t_us":0,"method":"G T"}"#, &["`G T` is not a method"]);
    refused(br#"{"t_us":0,"method":""}"#, &["is not a method"]);
    refused(br#"{"t_us":0,"path":"x"}"#, &["`x` is not a path"]);
    refused(br#"{"t_us":0,"path":""}"#, &["is not a path"]);
    refused(br#"{"t_us":0,"path":"http://a/"}"#, &["is not a path"]);
    refused(br#"{"t_us":0,"path":"/a b"}"#, &["`/a b` is not a path"]);
    refused(br#"{"t_us":0,"path":"/\u0000"}"#, &["is not a path"]);
    refused(br#"{"t_us":0,"headers":{"a b":"c"}}"#, &["`a b` is not a header name"]);
    refused(br#"{"t_us":0,"headers":{"":"c"}}"#, &["is not a header name"]);
    refused(br#"{"t_us":0,"headers":{"a":"b\nc"}}"#, &["the value of the header `a`"]);
    let long = "x".repeat(100_000);
    refused(format!("{{\"t_us\":0,\"path\":\"{long}\"}}").as_bytes(), &["is not a path"]);
    refused(format!("{{\"t_us\":0,\"path\":\"/{long}\"}}").as_bytes(), &["is not a path"]);
    refused(format!("{{\"t_us\":0,\"method\":\"{long} \"}}").as_bytes(), &["is not a method"]);
}

#[test]
fn bytes_that_are_no_text() {
    refused(b"\xff\xfe", &["no JSON object"]);
    refused(b"{\"t_us\":0,\"path\":\"/\xff\"}", &["unicode"]);
    refused(b"{\"t_us\":0,\"headers\":{\"a\":\"\xc3\"}}", &["unicode"]);
    refused(b"{\"t_us\":0,\"path\":\"/\\ud800\"}", &["column "]);
    refused(b"{\"t_us\":0\0}", &["column "]);
}

#[test]
fn a_line_that_is_too_long() {
    let line = |length: usize| {
        let start = "{\"t_us\":9,\"headers\":{\"a\":\"";
        format!("{start}{}\"}}}}", "x".repeat(length - start.len() - 3)).into_bytes()
    };
    refused(&line((1 << 20) + 1), &["1 MiB"]);
    refused(&line(20 << 20), &["1 MiB"]);
    let policy = PolicyFile::new("rules:\n  - { name: r, key: ip, limit: 5/minute }\n");
    let ran = run(&["replay", &policy.path()], line(1 << 20));
    assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 1), "{}", ran.err);
}

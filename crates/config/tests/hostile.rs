//! Text from anywhere is refused or understood, never a panic.

#![allow(clippy::panic, clippy::unwrap_used)]

use cupo_config::{Problem, load, parse};
use proptest::prelude::*;

const GOOD: &str = include_str!("good/every-setting.yaml");
const HANDBOOK: &str = include_str!("good/handbook.yaml");

/// Parses, and where that fails renders every error; an error is somewhere, says something and has a hint.
fn survives(text: &str) {
    let Err(errors) = parse("cupo.yaml", text) else { return };
    assert!(errors.iter().count() > 0, "an error without errors for {text:?}");
    let lines = text.replace("\r\n", "\n").split(['\r', '\n']).count();
    for error in &errors {
        assert!((1..=lines).contains(&error.line()), "line {} of {lines} in {text:?}", error.line());
        assert!(error.column() > 0 && !error.message().is_empty() && !error.hint().is_empty());
    }
    let shown = errors.to_string();
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
}

#[derive(Debug, Clone)]
enum Edit {
    Replace(usize, u8),
    Insert(usize, u8),
    Delete(usize, usize),
    Repeat(usize, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let byte = prop_oneof![
        3 => proptest::sample::select(b"\t\r\n -:?,[]{}#&*!|>'\"%@`0123456789.~<=ab\\".to_vec()),
        1 => any::<u8>()
    ];
    prop_oneof![
        (any::<usize>(), byte.clone()).prop_map(|(at, byte)| Edit::Replace(at, byte)),
        (any::<usize>(), byte).prop_map(|(at, byte)| Edit::Insert(at, byte)),
        (any::<usize>(), 1..40_usize).prop_map(|(at, length)| Edit::Delete(at, length)),
        (any::<usize>(), 1..40_usize).prop_map(|(at, length)| Edit::Repeat(at, length)),
    ]
}

fn edited(text: &str, edits: &[Edit]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for edit in edits {
        let length = bytes.len().max(1);
        match *edit {
            Edit::Replace(at, byte) => bytes.iter_mut().skip(at % length).take(1).for_each(|b| *b = byte),
            Edit::Insert(at, byte) => bytes.insert(at % (bytes.len() + 1), byte),
            Edit::Delete(at, n) => {
                let (from, to) = (at % length, at % length + n);
                let mut i = 0..;
                bytes.retain(|_| i.next().is_none_or(|i| i < from || i >= to));
            }
            Edit::Repeat(at, n) => {
                let piece: Vec<u8> = bytes.iter().copied().skip(at % length).take(n).collect();
                bytes.extend(piece);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        survives(&text);
    }

    #[test]
    fn any_text_of_the_characters_of_yaml(text in "[ \t\r\na-c0-9:,\\[\\]{}#&*!|>'\"%@`~?.<=-]{0,80}") {
        survives(&text);
    }

    #[test]
    fn any_value_in_any_field(
        field in proptest::sample::select(vec!["listen", "upstream", "workers", "store", "limits", "timeouts", "trusted_proxies", "health_path", "ipv6_prefix"]),
        value in "\\PC{0,30}",
    ) {
        survives(&format!("{field}: {value}\nrules: [{{ name: all, key: ip, limit: 1/s }}]"));
        survives(&format!("rules:\n  - name: all\n    key: ip\n    limit: {value}\n"));
        survives(&format!("rules:\n  - name: all\n    key: {value}\n    limit: 1/s\n"));
    }

    #[test]
    fn good_files_with_slips(handbook in any::<bool>(), edits in prop::collection::vec(edit(), 1..6)) {
        let bytes = edited(if handbook { HANDBOOK } else { GOOD }, &edits);
        survives(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_by_position() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), b"rules:\n  - \xc3\xa9\xff").unwrap();
    let error = load(file.path()).unwrap_err().into_iter().next().unwrap();
    assert!(matches!(error.problem(), Problem::NotUtf8));
    assert_eq!((error.line(), error.column()), (2, 6));
}

/// Each of these would take ages, or the stack, if it were followed.
#[test]
fn bombs_are_refused() {
    let aliases: String = (1..60)
        .map(|i| {
            format!(
                "a{i}: &a{i} [*a{p}, *a{p}, *a{p}, *a{p}, *a{p}, *a{p}, *a{p}, *a{p}, *a{p}]\n",
                p = i - 1
            )
        })
        .collect();
    let nested_blocks: String = (0..1_000).map(|i| format!("{}a:\n", " ".repeat(i))).collect();
    for text in [
        format!("a0: &a0 boom\n{aliases}"),
        "[".repeat(1_000_000),
        "{a: ".repeat(250_000),
        format!("rules: {}{}", "[".repeat(400_000), "]".repeat(400_000)),
        "- ".repeat(500_000),
        "? ".repeat(500_000),
        nested_blocks,
        "&a *a".repeat(100_000),
        "a: 1\n".repeat(20_000),
        format!("\"{}", "\\u0041".repeat(170_000)),
        format!("rules:\n  - {}: 1", "x".repeat(1_000_000)),
        "-\n".repeat(50_000),
        "x: [".repeat(200_000),
    ] {
        survives(&text);
        assert!(parse("cupo.yaml", &text).is_err());
    }
}

//! What the READMEs show is so.

use std::path::Path;

use serde_json::Value;

use crate::client::get;
use crate::process::{Gateway, PolicyFile, root, run};

const READMES: [&str; 2] = ["README.md", "README.es.md"];

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap()
}

/// The code blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut parts = text.split("\n```");
    let mut blocks = Vec::new();
    parts.next();
    // Every other fence opens a block.
    while let (Some(block), _) = (parts.next(), parts.next()) {
        let (tag, code) = block.split_once('\n').unwrap();
        if tag == language {
            blocks.push(format!("{code}\n"));
        }
    }
    blocks
}

/// The lines of a policy without comments and empty ones.
fn bare(yaml: &str) -> Vec<String> {
    let lines = yaml.lines().map(|line| line.split(" #").next().unwrap().trim_end());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn its_policy_is_the_example_and_is_valid() {
    let example = read("examples/cupo.yaml");
    for readme in READMES {
        let policies = blocks(&read(readme), "yaml");
        assert_eq!(bare(&policies[0]), bare(&example), "{readme}");
        // What comes after is to be added to a policy.
        let mut added = policies.iter().skip(1).map(|lines| format!("{lines}{example}")).collect::<Vec<_>>();
        added.push(policies[0].clone());
        assert_eq!(added.len(), 2, "{readme}");
        for policy in added {
            let ran = run(&["check", &PolicyFile::new(&policy).path()], "");
            assert_eq!(ran.code, Some(0), "{readme}: {}", ran.err);
        }
    }
}

#[test]
fn its_headers_are_those_of_its_first_command() {
    for readme in READMES {
        let text = read(readme);
        let command = blocks(&text, "sh")[0].trim().to_owned();
        let options = command.strip_prefix("cargo run --release -- serve ").expect(&command);
        let options: Vec<&str> = options.split(' ').collect();
        let response = get(Gateway::start(&options).address, "/");
        let shown = blocks(&text, "");
        assert_eq!(shown.len(), 1, "{readme}");
        let shown: Vec<(&str, &str)> = shown[0].lines().map(|line| line.split_once(": ").unwrap()).collect();
        let sent: Vec<(&str, &str)> = response
            .headers
            .iter()
            .filter(|(name, _)| name.contains("ratelimit"))
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(shown.len(), sent.len(), "{readme}: {sent:?}");
        for ((name, value), (sent_name, sent_value)) in shown.iter().zip(&sent) {
            assert!(name.eq_ignore_ascii_case(sent_name), "{readme}: {name}, {sent:?}");
            if name.ends_with("-Reset") {
                // An instant, which is another each time.
                assert_eq!((value.len(), sent_value.len()), (10, 10), "{readme}");
                assert!(value.parse::<u64>().is_ok() && sent_value.parse::<u64>().is_ok());
            } else {
                assert_eq!(value, sent_value, "{readme}: {name}");
            }
        }
    }
}

#[test]
fn its_commands_and_files_exist() {
    for readme in READMES {
        let text = read(readme);
        let commands = blocks(&text, "sh").concat();
        let mut cupo_lines = 0;
        for line in commands
            .lines()
            .map(|line| line.split(" #").next().unwrap().trim())
            .filter(|line| !line.is_empty())
        {
            let mut words = line.split(' ');
            match words.next().unwrap() {
                "./scripts/test.sh" => assert!(root().join("scripts/test.sh").exists()),
                "cargo" if line.contains("--path ") => {
                    let path = line.split("--path ").nth(1).unwrap().trim();
                    assert!(root().join(path).join("Cargo.toml").exists(), "{line}");
                }
                "cargo" => assert!(line.starts_with("cargo run --release -- "), "{line}"),
                "for" => assert!(line.contains("curl "), "{line}"),
                "cupo" => {
                    cupo_lines += 1;
                    let files = words.clone().filter(|word| word.starts_with("examples/"));
                    files.for_each(|file| assert!(root().join(file).exists(), "{readme}: {file}"));
                    let command = words.next().unwrap();
                    assert_eq!(run(&[command, "--help"], "").code, Some(0), "{line}");
                    if command == "replay" {
                        let (policy, events) = line.split_once(" < ").expect(line);
                        let policy = root().join(policy.split(' ').nth(2).unwrap());
                        let ran = run(&["replay", policy.to_str().unwrap()], read(events.trim()));
                        assert_eq!(ran.code, Some(0), "{line}: {}", ran.err);
                        let refused = |line: &&str| {
                            let answer: Value = serde_json::from_str(line).unwrap();
                            answer["allowed"] == false
                        };
                        assert!(ran.out.lines().any(|line| refused(&line)), "it shows a refusal");
                    }
                }
                other => panic!("{readme} names {other}, of which this test knows nothing"),
            }
        }
        assert_eq!(cupo_lines, 3, "{readme}");
        // Its links lead somewhere.
        for target in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let file = target.split('#').next().unwrap();
            if !file.contains("://") && !file.is_empty() {
                assert!(Path::new(&root()).join(file).exists(), "{readme}: {file}");
            }
        }
    }
}

#[test]
fn both_languages_show_the_same_code() {
    let [english, spanish] = READMES.map(read);
    assert_eq!(blocks(&english, ""), blocks(&spanish, ""));
    assert_eq!(blocks(&english, "rust"), blocks(&spanish, "rust"));
    let without_comments =
        |text: &str| -> Vec<String> { blocks(text, "sh").iter().flat_map(|block| bare(block)).collect() };
    assert_eq!(without_comments(&english), without_comments(&spanish));
}

//! Every file in `bad/` has exactly one error, and its rendering is kept beside it, in the file of the same name that ends
//! in `.txt`. `CUPO_BLESS=1 cargo test -p cupo-config --test bad` writes those anew; read the difference before keeping it.

#![allow(clippy::panic, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use cupo_config::ConfigErrors;

fn bad_files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir("tests/bad").unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files
}

fn errors(path: &PathBuf) -> ConfigErrors {
    match cupo_config::load(path) {
        Ok(config) => panic!("{} was taken for {config:?}", path.display()),
        Err(errors) => errors,
    }
}

#[test]
fn every_bad_file_has_its_one_error() {
    let files = bad_files();
    assert!(files.len() >= 40, "only {} files", files.len());
    let mut failures = Vec::new();
    for path in &files {
        let errors = errors(path);
        let rendered = format!("{errors}\n");
        let snapshot = path.with_extension("txt");
        if std::env::var_os("CUPO_BLESS").is_some() {
            fs::write(&snapshot, &rendered).unwrap();
        }
        let expected = fs::read_to_string(&snapshot).unwrap_or_else(|_| "(no snapshot)\n".to_owned());
        if errors.iter().count() != 1 {
            failures.push(format!("{} has several errors:\n{rendered}", path.display()));
        } else if rendered != expected {
            failures.push(format!("{}\nexpected:\n{expected}found:\n{rendered}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_snapshot_has_its_file() {
    for entry in fs::read_dir("tests/bad").unwrap() {
        let path = entry.unwrap().path();
        assert!(path.with_extension("yaml").exists(), "{} is a snapshot of nothing", path.display());
    }
}

/// Whoever adds a problem adds a file that shows it.
#[test]
fn every_problem_is_shown_by_a_file() {
    let variant = |debug: String| debug.split(['(', ' ', '{']).next().unwrap_or_default().to_owned();
    let shown: BTreeSet<String> =
        bad_files().iter().flat_map(errors).map(|error| variant(format!("{:?}", error.problem()))).collect();
    let source = fs::read_to_string("src/problem.rs").unwrap();
    let body = source.split("pub enum Problem {").nth(1).unwrap().split("\n}").next().unwrap();
    let all: BTreeSet<String> = body
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .map(|line| line.split(['(', ' ', ',']).next().unwrap().to_owned())
        .collect();
    let elsewhere = ["Read", "FileTooLarge", "Unusable"].map(str::to_owned).into();
    let missing: Vec<_> =
        all.difference(&shown).filter(|name| !BTreeSet::contains(&elsewhere, *name)).collect();
    assert!(all.len() > 20 && missing.is_empty(), "no bad file shows {missing:?}");
}

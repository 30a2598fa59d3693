//! The shape of the workspace, kept by a test: which crate may use which, and how long a file may get.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What each crate may use of ours. A crate uses lower layers and never a sibling.
const ALLOWED: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("http", &["core"]),
    ("config", &["core"]),
    ("store-memory", &["core"]),
    ("store-redis", &["core"]),
    ("tower", &["core", "http"]),
    ("server", &["core", "http", "config", "store-memory", "store-redis", "tower"]),
    ("cli", &["core", "http", "config", "store-memory", "store-redis", "tower", "server"]),
    ("cupo", &["core", "http", "config", "store-memory", "store-redis", "tower"]),
    ("testkit", &["core"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn crates() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files
}

#[test]
fn every_crate_uses_only_the_layers_below_it() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    for name in crates() {
        let manifest = fs::read_to_string(root().join("crates").join(&name).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let package = manifest["package"]["name"].as_str().unwrap();
        let expected = if name == "cupo" { "cupo".to_owned() } else { format!("cupo-{name}") };
        assert_eq!(package, expected, "the folder crates/{name} holds the package {expected}");
        let layers = *allowed
            .get(name.as_str())
            .unwrap_or_else(|| panic!("crates/{name} has no layer: see ARCHITECTURE.md"));
        for section in ["dependencies", "build-dependencies"] {
            let dependencies = manifest.get(section).and_then(toml::Value::as_table).into_iter().flatten();
            for (dependency, _) in dependencies {
                let ours =
                    dependency.strip_prefix("cupo-").or_else(|| (dependency == "cupo").then_some("cupo"));
                if let Some(ours) = ours {
                    assert!(
                        layers.contains(&ours),
                        "crates/{name} must not use crates/{ours}: see ARCHITECTURE.md"
                    );
                }
            }
        }
        assert_eq!(
            manifest["lints"]["workspace"].as_bool(),
            Some(true),
            "crates/{name} keeps the workspace's lints"
        );
    }
    assert_eq!(crates().len(), allowed.len(), "every layer that is listed exists");
}

#[test]
fn core_depends_on_no_io_no_runtime_and_no_http() {
    let manifest = fs::read_to_string(root().join("crates/core/Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let mut names: Vec<&str> =
        manifest["dependencies"].as_table().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["arc-swap", "hmac", "ipnet", "regex", "sha2", "smallvec", "subtle", "thiserror"],
        "core grows by a decision, not by the way"
    );
}

#[test]
fn files_are_short() {
    let mut lengths: Vec<(usize, PathBuf)> = rust_files(&root().join("crates"))
        .into_iter()
        .map(|path| (fs::read_to_string(&path).unwrap().lines().count(), path))
        .collect();
    lengths.sort();
    let (longest, path) = lengths.last().unwrap();
    assert!(*longest <= 600, "{} has {longest} lines; none may have more than 600", path.display());
    let (median, _) = &lengths[lengths.len() / 2];
    assert!(*median <= 150, "the median source file has {median} lines; at most 150");
    let (ninth, path) = &lengths[lengths.len() * 9 / 10];
    assert!(*ninth <= 400, "nine in ten source files have at most 400 lines; {} has {ninth}", path.display());
    let main = fs::read_to_string(root().join("crates/cli/src/main.rs")).unwrap().lines().count();
    assert!(main <= 60, "main.rs has {main} lines; at most 60");
}

#[test]
fn every_algorithm_has_its_vectors_and_its_page() {
    for algorithm in cupo::Algorithm::ALL {
        let name = algorithm.name();
        for file in [
            format!("crates/core/src/algorithm/{name}.rs"),
            format!("vectors/{name}.json"),
            format!("docs/algorithms/{name}.md"),
        ] {
            assert!(root().join(&file).exists(), "{name} lacks {file}");
        }
    }
}

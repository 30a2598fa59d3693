//! The pictures of the documents are what the code decides today.

#![allow(clippy::panic, reason = "this is a test")]

#[path = "../examples/algorithm_pictures/pictures/mod.rs"]
mod pictures;

use std::path::Path;

use cupo_core::Algorithm;
use pictures::{PHASES, Scene};

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn pictures_are_drawn_from_decisions_of_today() {
    for (title, limit) in pictures::limits().unwrap() {
        let name = format!("img/{}.svg", limit.algorithm());
        let same = read(&name) == pictures::draw(&title, &limit);
        assert!(same, "{name} is stale: cargo run -p cupo-core --example algorithm_pictures");
    }
}

#[test]
fn the_index_counts_what_the_pictures_show() {
    let index = read("README.md");
    for (_, limit) in pictures::limits().unwrap() {
        let scene = Scene::play(&limit);
        let name = limit.algorithm().name();
        let mut row = format!("| [`{name}`]({name}.md) |");
        for phase in 0..PHASES.len() {
            row += &format!(" {} |", scene.admitted(phase));
        }
        row += &format!(" {} |", scene.most_passed());
        assert!(index.contains(&row), "the table of the index should say: {row}");
    }
}

#[test]
fn no_window_of_an_exact_algorithm_holds_more_than_the_limit() {
    for (_, limit) in pictures::limits().unwrap() {
        let most = Scene::play(&limit).most_passed();
        if matches!(limit.algorithm(), Algorithm::SlidingWindowLog | Algorithm::LeakyBucket) {
            assert_eq!(most, limit.quota(), "{limit}");
        } else {
            assert!(most > limit.quota(), "{limit}: the arrivals do not show what it lets through");
        }
    }
}

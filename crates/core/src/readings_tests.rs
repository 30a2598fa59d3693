use proptest::prelude::*;

use super::{Readings, is_doubtful};
use crate::path::normalise;

fn readings(path: &str) -> Vec<String> {
    let readings = Readings::of(path);
    let mut all = vec![readings.normal().to_owned()];
    all.extend_from_slice(readings.others());
    all
}

#[test]
fn a_plain_path_has_one_reading() {
    for path in [
        "/",
        "",
        "*",
        "/a",
        "/a/b.c/",
        "/.well-known/x",
        "/a/...",
        "/a/..b",
        "/%61/%20",
        "/a%3F",
        "/é",
        "/a%252f",
        "/a?x=/../;",
        "/a#//",
    ] {
        assert_eq!(readings(path), [normalise(path)], "{path}");
    }
}

#[test]
fn a_doubtful_path_is_all_that_servers_take_it_for() {
    for (path, taken_for) in [
        ("/admin/..;/free", ["/free", "/admin/..;/free"].as_slice()),
        ("/admin/..;x=1/free", &["/free", "/admin/..;x=1/free"]),
        ("/admin/..%2ffree", &["/free", "/admin/..%2Ffree", "/admin/../free"]),
        ("/admin%2f..%2Ffree", &["/free", "/admin%2F..%2Ffree", "/admin/../free"]),
        ("/admin/..\\free", &["/free", "/admin/..%5Cfree", "/admin/../free"]),
        ("/admin/..%5cfree", &["/free", "/admin/..%5Cfree"]),
        ("/admin/%2e%2E/free", &["/free", "/admin/../free"]),
        ("/admin/%2e./free", &["/free", "/admin/../free"]),
        ("/admin/x/../../free", &["/free", "/admin/x/../../free"]),
        ("/free%3bx", &["/free", "/free;x"]),
        ("/free;x", &["/free", "/free;x"]),
        // What is empty is a step, or is none.
        ("/a//../free", &["/free", "/a/free"]),
        // Only what is not encoded is resolved, by the server or by a proxy before it.
        ("/a/%2e%2e/../free", &["/free", "/a/free"]),
        ("/a/..;/../free", &["/free", "/a/free"]),
        ("/a%2fb/../c%2ffree", &["/a/c/free", "/c/free", "/c%2Ffree"]),
        ("/..", &["/", "/.."]),
        ("..", &["/", "/.."]),
    ] {
        assert!(is_doubtful(path), "{path}");
        let readings = readings(path);
        for one in taken_for {
            assert!(readings.iter().any(|reading| reading == one), "{path} as {one}: {readings:?}");
        }
    }
}

/// What paths are made of where they are doubtful.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "/", "/", "/", "a", "b", ".", "..", "%2e", "%2E", "\\", "%2f", "%2F", "%5c", ";", "%3b", "//", "%",
        "é", "%00",
    ]);
    prop::collection::vec(part, 0..14).prop_map(|parts| format!("/{}", parts.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn the_normal_reading_is_the_normal_path_and_no_reading_comes_twice(path in hostile()) {
        let mut readings = readings(&path);
        prop_assert_eq!(&readings[0], &normalise(&path));
        prop_assert!(readings.len() <= 16);
        let length = readings.len();
        readings.sort_unstable();
        readings.dedup();
        prop_assert_eq!(readings.len(), length);
        prop_assert!(is_doubtful(&path) || length == 1);
    }
}

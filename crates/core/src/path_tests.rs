use super::{Template, TemplateError, collapse, normalise};

#[test]
fn every_spelling_of_a_path_is_one() {
    for spelling in [
        "/users/7/Posts",
        "//users/7/Posts",
        "/users//7/Posts/",
        "/users/./7/Posts/.",
        "/x/../users/7/Posts",
        "/../../users/7/Posts",
        "/%75sers/7/Posts",
        "/users%2f7%2FPosts",
        "/users\\7/Posts",
        "/users%5c7/Posts",
        "/users/%2e/7/Posts",
        "/x/%2E%2e/users/7/Posts",
        "/users;a=b/7;c/Posts;",
        "/users%3Ba=b/7/Posts",
        "/users/7/Posts?q=1",
        "/users/7/Posts#f",
        "users/7/Posts",
    ] {
        assert_eq!(normalise(spelling), "/users/7/Posts", "{spelling}");
    }
}

#[test]
fn what_differs_stays_different() {
    let paths = ["/a", "/A", "/a%00", "/a%2500", "/a%C3%A9", "/a%25", "/", "/a%20b", "/%zz", "/%"];
    for (i, a) in paths.iter().enumerate() {
        for (j, b) in paths.iter().enumerate() {
            assert_eq!(i == j, normalise(a) == normalise(b), "{a} {b}");
        }
    }
    assert_eq!(normalise("/é"), normalise("/%c3%a9"));
    assert_eq!(normalise(""), "/");
    assert_eq!(normalise("/.."), "/");
}

#[test]
fn normalising_twice_changes_nothing() {
    for path in ["/a%2525", "/%2e%2e%252e", "/a/%25%32%66b", "/.%2e/;x/", "/é%", "*", "/a b", "/%252f"] {
        let once = normalise(path).into_owned();
        assert_eq!(normalise(&once), once, "{path}");
    }
}

#[test]
fn ids_collapse() {
    assert_eq!(collapse("/users/42/posts"), "/users/{id}/posts");
    assert_eq!(collapse("/o/6f1b2c3d-0000-4000-8000-00ABCDEF0123"), "/o/{id}");
    assert_eq!(collapse("/v1/a1b"), "/v1/a1b");
    assert_eq!(collapse("/"), "/");
}

#[test]
fn templates_match_whole_segments() {
    let matches = |template: &str, path: &str| Template::parse(template).unwrap().matches(path);
    assert!(matches("/users/{id}/posts", "/users/x/posts"));
    assert!(!matches("/users/{id}/posts", "/users/posts"));
    assert!(!matches("/users/{id}", "/users/x/posts"));
    assert!(!matches("/users/{id}", "/users"));
    assert!(!matches("/login", "/Login"));
    assert!(!matches("/login", "/login2"));
    assert!(matches("/search/**", "/search"));
    assert!(matches("/search/**", "/search/a/b"));
    assert!(!matches("/search/**", "/searches"));
    assert!(matches("/**", "/"));
    assert!(matches("/", "/"));
    assert!(!matches("/", "/a"));
}

#[test]
fn bad_templates_say_what_to_write() {
    assert!(matches!(Template::parse("login"), Err(TemplateError::NotAbsolute(_))));
    assert!(matches!(Template::parse("/a/**/b"), Err(TemplateError::OpenInside(_))));
    for bad in ["/a*", "/{}", "/{a", "/a}", "/{a}b", "/*", "/{a{b}}"] {
        assert!(matches!(Template::parse(bad), Err(TemplateError::Segment { .. })), "{bad}");
    }
    let error = Template::parse("/login/").unwrap_err().to_string();
    assert!(error.contains("write `/login`"), "{error}");
}

#[test]
fn the_more_specific_template_is_greater() {
    let order = ["/**", "/{a}", "/{a}/x", "/a/**", "/a/{b}", "/a/b"];
    let parsed: Vec<_> = order.iter().map(|t| Template::parse(t).unwrap()).collect();
    for pair in parsed.windows(2) {
        assert!(pair[0].specificity() < pair[1].specificity(), "{} < {}", pair[0].as_str(), pair[1].as_str());
    }
}

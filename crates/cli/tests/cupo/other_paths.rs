//! Paths that are no spelling of another one, though some servers take them for one: what the reference says of them holds.

use crate::client::{Client, get};
use crate::process::{Gateway, PolicyFile, root};
use crate::upstream;

const OTHERS: [&str; 8] = [
    "/admin%20",
    "/admin.",
    "/admin..",
    "/ADMIN",
    "/%2561dmin",
    "/%25%36%31dmin",
    "/admin%2520",
    "/admin%00",
];

/// A server that trims, folds or decodes more than Cupo does has to be told not to.
#[test]
fn other_names_are_other_paths() {
    let policy = PolicyFile::new(
        "rules:
  - { name: admin, match: { path: '/admin/**' }, key: ip, limit: 1/1000d }
  - { name: all, key: ip, limit: 100/1000d }
",
    );
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    let mut client = Client::new(gateway.address);
    for (target, status) in [("/admin", 200), ("/admin/x", 429), ("/%61dmin", 429), ("/admin/", 429)] {
        assert_eq!(client.get(target).status, status, "{target}");
    }
    for (index, target) in OTHERS.into_iter().enumerate() {
        let response = client.get(target);
        assert_eq!((response.status, response.of_rules("r").get("admin")), (200, None), "{target}");
        // The rule without a path counts them.
        assert_eq!(response.of_rules("r")["all"], 98 - u64::try_from(index).unwrap(), "{target}");
    }
}

#[test]
fn what_is_not_named_can_be_blocked() {
    let reference = std::fs::read_to_string(root().join("docs/policy.md")).unwrap();
    let block = r#"block: [{ name: unknown, not: [{ path: "/api/**" }, { path: "/healthz" }] }]"#;
    assert!(reference.contains(block), "the advice of the reference");
    assert!(OTHERS.iter().filter(|path| reference.contains(&format!("`{path}`"))).count() >= 4);
    let policy = PolicyFile::new(&format!("{block}\nrules: [{{ name: all, key: ip, limit: 100/1000d }}]\n"));
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    for target in ["/api", "/api/admin", "/healthz", "/%61pi/x"] {
        assert_eq!(get(gateway.address, target).status, 200, "{target}");
    }
    for target in
        OTHERS.into_iter().chain(["/", "/API/x", "/%2561pi", "/api%20/x", "/healthz.", "/api/../admin"])
    {
        assert_eq!(get(gateway.address, target).status, 403, "{target}");
    }
}

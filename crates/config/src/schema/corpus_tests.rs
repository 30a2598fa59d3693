//! What the schemas let pass and what they catch, of every policy that is kept as good or bad.

use std::collections::BTreeSet;
use std::path::Path;

use super::support::{callers_schema, document, files, good_policies, policy_schema, validator};

/// The bad policies that no schema catches, and why not. All others are caught.
const BEYOND: &[(&str, &[&str])] = &[
    ("it is no YAML of ours, so that there is no value to look at", NOT_READ),
    ("the value is another only in its spelling: of a number, or of a name in capitals", SPELLING),
    ("several fields or entries have to be compared", COMPARED),
    ("it takes arithmetic or a parser to know", COMPUTED),
    ("it depends on files and on the environment", WORLD),
];

const NOT_READ: &[&str] = &[
    "alias-unknown",
    "anchor",
    "at-sign",
    "bad-escape",
    "bad-indentation",
    "braces-in-unquoted-path",
    "callers-empty",
    "callers-not-yaml",
    "colon-in-text",
    "control-character",
    "deep-nesting",
    "directive",
    "duplicate-in-flow",
    "duplicate-in-rule",
    "duplicate-top-level",
    "empty-file",
    "field-is-a-list",
    "field-is-null",
    "field-out-of-line",
    "merge-key",
    "mismatched-bracket",
    "not-utf8",
    "null-document",
    "only-comments",
    "several-documents",
    "tab-in-rule",
    "tab-indentation",
    "tag",
    "unclosed-bracket",
    "unclosed-quote",
    "unquoted-ipv6-listen",
    "utf16",
];
const SPELLING: &[&str] = &[
    "boolean-capital",
    "match-header-twice",
    "number-exponent",
    "number-hexadecimal",
    "number-leading-zero",
    "number-octal",
    "number-point",
    "response-header-twice",
    "responses-language-twice",
    "socket-mode",
];
const COMPARED: &[&str] = &[
    "admin-token-twice",
    "allow-name-taken",
    "callers-plan-not-asked",
    "callers-twice",
    "callers-unknown-plan",
    "charge-in-leaky-bucket",
    "cost-above-limit",
    "cost-above-share",
    "cost-default-above-max",
    "cost-open-in-leaky-bucket",
    "cost-reserve-above-limit",
    "health-path-is-the-status-path",
    "match-not-contradicts",
    "match-not-covers-path",
    "match-plan-unknown",
    "name-taken",
    "plan-callers-without-file",
    "plan-claim-without-jwt",
    "plan-cost-above-tier",
    "plan-default-unknown",
    "plan-delay-without-slots",
    "plan-header-without-proxies",
    "plan-lacks-number",
    "plan-number-unknown",
    "responses-header-twice",
    "responses-language-without-messages",
    "status-path-is-another-health-path",
    "status-path-is-the-health-path",
    "stop-before-others",
];
const COMPUTED: &[&str] = &[
    "block-client-host-bits",
    "burst-out-of-domain",
    "callers-host-bits",
    "callers-times-out-of-domain",
    "jwt-leeway-too-long",
    "limit-out-of-domain",
    "match-client-host-bits",
    "match-header-regex-too-large",
    "match-header-regex-unclosed",
    "match-header-regex-unicode",
    "proxy-host-bits",
    "responses-jitter-too-long",
    "size-overflow",
    "size-too-small",
    "time-zone-unknown",
];
const WORLD: &[&str] = &[
    "admin-no-such-token",
    "admin-token-short",
    "admin-token-text",
    "allow-secret-too-short",
    "allow-secret-without-variable",
    "callers-missing",
    "secret-env-too-short",
    "secret-env-unset",
];

#[test]
fn every_good_file_is_valid() {
    let policies = validator(&policy_schema());
    let good = good_policies();
    assert!(good.len() >= 12, "{}", good.len());
    for path in good {
        let errors: Vec<String> = policies
            .iter_errors(&document(&path).unwrap())
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
    }
    let callers = validator(&callers_schema());
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/callers.yaml");
    assert!(callers.is_valid(&document(&example).unwrap()));
}

/// Whether the schema catches what is wrong with the bad policy; where that is in the file of callers, its schema.
fn is_caught(path: &Path, policies: &jsonschema::Validator, callers: &jsonschema::Validator) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    let beside =
        name.strip_prefix("callers-").map(|name| path.parent().unwrap().join("../callers").join(name));
    match beside.filter(|path| path.exists()) {
        Some(path) => document(&path).is_some_and(|document| !callers.is_valid(&document)),
        None => document(path).is_some_and(|document| !policies.is_valid(&document)),
    }
}

#[test]
fn every_bad_policy_that_a_schema_can_catch_is_caught() {
    let (policies, callers) = (validator(&policy_schema()), validator(&callers_schema()));
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let missed: BTreeSet<String> = files("tests/bad")
        .iter()
        .filter(|path| !is_caught(path, &policies, &callers))
        .map(|path| name(path))
        .collect();
    let listed: Vec<&str> = BEYOND.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let known: BTreeSet<String> = listed.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(known.len(), listed.len(), "a name is listed twice");
    let new: Vec<_> = missed.difference(&known).collect();
    assert!(
        new.is_empty(),
        "the schema does not catch these; let it, or list them with the reason: {new:#?}"
    );
    let stale: Vec<_> = known.difference(&missed).collect();
    assert!(stale.is_empty(), "these are caught, or gone: strike them off the list: {stale:#?}");
}

/// Beyond the schema is what the reader refuses, and nothing else is called so.
#[test]
fn what_is_called_unread_is_not_read() {
    let unread = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let callers =
            name.strip_prefix("callers-").map(|name| path.parent().unwrap().join("../callers").join(name));
        document(&callers.filter(|path| path.exists()).unwrap_or_else(|| path.to_owned())).is_none()
    };
    let unread: BTreeSet<String> = files("tests/bad")
        .iter()
        .filter(|path| unread(path))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(unread, NOT_READ.iter().map(|&name| name.to_owned()).collect());
}

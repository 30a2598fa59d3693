//! What `bad/` cannot show: several errors at once, files that cannot be read, and what the accessors say.

#![allow(clippy::panic, clippy::unwrap_used)]

use cupo_config::{ConfigErrors, MAX_FILE_BYTES, Problem, load, parse};

fn errors(text: &str) -> ConfigErrors {
    match parse("cupo.yaml", text) {
        Ok(config) => panic!("taken for {config:?}"),
        Err(errors) => errors,
    }
}

/// Line, column, path and message of each.
fn listed(errors: &ConfigErrors) -> Vec<String> {
    errors.iter().map(|e| format!("{}:{} {}: {}", e.line(), e.column(), e.path(), e.message())).collect()
}

#[test]
fn all_that_is_wrong_is_reported_in_the_order_of_the_file() {
    let errors = errors(
        r#"listen: 8080
workers: many
rules:
  - name: a
    key: [ip, usr, ""]
    limit: { algorithm: token_bucket, capacity: -1, refill: 5, window: 1m }
    cost: 1.5
    action: drop
  - name: b
    kye: ip
    limit: 100/fortnight
  - name: c
    key: ip
    limit: 10/s
    cost: 11
  - name: c
    key: ip
    limit: 10/s
    match: { method: [GET, post], path: login }
    action: delay
timeouts: { connect: 0s }
"#,
    );
    assert_eq!(
        listed(&errors),
        [
            "1:9 listen: `8080` is not an address and port to listen on",
            "2:10 workers: `many` is not a whole number",
            "5:15 rules[0].key[1]: `usr` is not a part of a key; write one of: global, ip, api_key, user, route, method, host, header(NAME), query(NAME), cookie(NAME), descriptor(NAME), claim(NAME)",
            "5:20 rules[0].key[2]: a key needs at least one part and none may be blank; write one of: global, ip, api_key, user, route, method, host, header(NAME), query(NAME), cookie(NAME), descriptor(NAME), claim(NAME)",
            "6:49 rules[0].limit.capacity: `-1` is not a whole number",
            "6:61 rules[0].limit.refill: `5` is not a rate: write COUNT/PERIOD, as in `100/minute`, `5 per 10s` or `20/500ms`",
            "6:64 rules[0].limit.window: there is no field `window` here",
            "7:11 rules[0].cost: `1.5` is not a whole number",
            "8:13 rules[0].action: `drop` is not an action",
            "9:5 rules[1]: `key` is missing",
            "10:5 rules[1].kye: there is no field `kye` here",
            "11:12 rules[1].limit: `fortnight` in `100/fortnight` is not a unit of time: use ms, s, m, h or d, or their long names (milliseconds, seconds, minutes, hours, days)",
            "15:11 rules[2].cost: a cost of 11 never fits a limit that holds 10; lower the cost, raise the limit, or write a limit of 0 to block everything",
            "16:11 rules[3].name: the name `c` is taken by rules[2]; counters are kept by name, so give each rule its own",
            "19:28 rules[3].match.method: `post` is not a method; write it in upper case, as in `GET`",
            "19:41 rules[3].match.path: the path template `login` does not begin with `/`",
            "20:13 rules[3].action: `action: delay` needs slots to hold requests for, and only `leaky_bucket` has them; use that algorithm or `action: deny`",
            "21:22 timeouts.connect: `0` in `0s` is not a length of time: write a whole number above 0 and a unit, together at most 26000 days, as in `500ms`, `10s` or `1h`",
        ]
    );
    assert!(errors.iter().all(|error| error.file() == "cupo.yaml" && !error.hint().is_empty()));
}

#[test]
fn indices_count_the_rules_of_the_file_and_not_those_that_could_be_read() {
    let errors = errors(
        "rules:\n- {name: a, key: ip}\n- {name: b, key: ip, limit: 1/s}\n- {name: b, key: ip, limit: 1/s, cost: 2}\n",
    );
    assert_eq!(
        listed(&errors),
        [
            "2:3 rules[0]: `limit` is missing",
            "4:10 rules[2].name: the name `b` is taken by rules[1]; counters are kept by name, so give each rule its own",
            "4:40 rules[2].cost: a cost of 2 never fits a limit that holds 1; lower the cost, raise the limit, or write a limit of 0 to block everything",
        ]
    );
}

#[test]
fn structure_and_meaning_are_reported_together() {
    let errors = errors("workers: &w 0\nworkers: 4\nlisten: !!str 8080\nrules: []\n? [a]\n: b\n");
    assert_eq!(
        listed(&errors),
        [
            "1:10 workers: anchors and aliases are not part of a policy file",
            "1:13 workers: 0 is out of range",
            "2:1 workers: `workers` comes twice; the first is in line 1",
            "3:9 listen: tags are not part of a policy file",
            "4:8 rules: a policy without rules protects nothing; write at least one rule",
            "5:3 : the name of a field is a word, not a list, a map or nothing",
        ]
    );
}

#[test]
fn an_error_is_rendered_with_its_line() {
    let error = errors("rules:\n  - name: all\n    key: ip\n    limit: 100/fortnight\n");
    assert_eq!(
        error.to_string(),
        "\
error: `fortnight` in `100/fortnight` is not a unit of time: use ms, s, m, h or d, or their long names (milliseconds, seconds, minutes, hours, days)
 --> cupo.yaml:4:12
  |
4 |     limit: 100/fortnight
  |            ^^^^^^^^^^^^^
  = at: rules[0].limit
  = hint: for example `100/minute`, or `5/10s`"
    );
}

#[test]
fn very_many_errors_are_counted() {
    let errors = errors(&format!("rules: [{}]", "x, ".repeat(1_000)));
    assert_eq!(errors.iter().count(), 1_000);
    let shown = errors.to_string();
    assert_eq!(shown.matches("error:").count(), 50);
    assert!(shown.ends_with("and 950 more"), "{shown}");
}

#[test]
fn a_file_that_is_not_there() {
    let errors = load("tests/no-such-file.yaml").expect_err("there is no such file");
    let error = errors.into_iter().next().unwrap();
    assert!(matches!(error.problem(), Problem::Read(_)));
    let shown = error.to_string();
    assert!(shown.starts_with("error: cannot read the file: No such file"), "{shown}");
    assert!(shown.contains("--> tests/no-such-file.yaml:1:1\n"), "{shown}");
}

#[test]
fn a_directory_is_no_file() {
    let errors = load("tests").expect_err("a directory");
    assert!(matches!(errors.iter().next().unwrap().problem(), Problem::Read(_)));
}

#[test]
fn a_file_that_never_ends() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "#".repeat(MAX_FILE_BYTES + 1)).unwrap();
    let errors = load(file.path()).unwrap_err();
    assert!(matches!(
        errors.iter().next().unwrap().problem(),
        Problem::FileTooLarge { limit: MAX_FILE_BYTES }
    ));
    let errors = load("/dev/zero").unwrap_err();
    assert!(matches!(errors.iter().next().unwrap().problem(), Problem::Read(_)));
    std::fs::write(
        file.path(),
        format!("rules: [{{ name: all, key: ip, limit: 1/s }}]\n{}", "#".repeat(1_000_000)),
    )
    .unwrap();
    load(file.path()).unwrap();
}

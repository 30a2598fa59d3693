//! `cupo admin`: the admin API from a shell.

use serde_json::Value;

use crate::administrator::administered;
use crate::client::request;
use crate::process::{Gateway, PolicyFile, Ran, cupo, run, run_to_end};
use crate::upstream;

const RULES: &str = "rules:
  - { name: per-client, key: ip, limit: 5/1000d }
  - { name: by-key, match: { header: { x-api-key: present } }, key: api_key, limit: 3/1000d }
";

/// A gateway, its policy, and how to reach its admin API.
fn gateway() -> (PolicyFile, Gateway, String) {
    let policy = PolicyFile::new(&format!("admin: {{ listen: 127.0.0.1:0 }}\n{RULES}"));
    let upstream = format!("http://{}", upstream::ok());
    let (gateway, admin) = administered(&["-c", &policy.path(), "--upstream", &upstream]);
    (policy, gateway, format!("http://{}", admin.address()))
}

fn said(ran: &Ran) -> &str {
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    ran.out.trim_end()
}

#[test]
fn keys_are_looked_at_reset_given_to_and_blocked() {
    let (_policy, gateway, url) = gateway();
    let admin =
        |arguments: &[&str], stdin: &str| run(&[&["admin", "--url", &url], arguments].concat(), stdin);
    let ask = || request(gateway.address, "GET", "/", &["X-Api-Key: k1"]).status;
    assert_eq!([ask(), ask(), ask(), ask()], [200, 200, 200, 429]);
    let state = admin(&["state", "per-client", "127.0.0.1"], "");
    let lines: Vec<&str> = said(&state).lines().collect();
    assert_eq!(lines[0], "per-client ip=127.0.0.1");
    assert!(
        lines[1].starts_with("  sliding_window_counter, 5 per 1000d: 3 of 5 used, 2 left, whole again in "),
        "{state:?}"
    );
    assert_eq!(
        said(&admin(&["grant", "per-client", "127.0.0.1", "--units", "2"], "")),
        "per-client ip=127.0.0.1: 2 given back, 4 of 5 left (2 before)"
    );
    assert_eq!(
        said(&admin(&["reset", "per-client", "127.0.0.1"], "")),
        "per-client ip=127.0.0.1: 1 used units are forgotten"
    );
    let near = admin(&["nearest"], "");
    assert!(
        said(&near).starts_with("by-key api_key=sha256:") && near.out.contains("3 of 3 used, 0 left"),
        "{near:?}"
    );
    // A key is a secret, and comes by stdin.
    let blocked = admin(&["block", "by-key", "-", "--for", "10m"], "k1\n");
    assert!(said(&blocked).ends_with(": blocked for 10m") && !blocked.out.contains("k1"), "{blocked:?}");
    assert_eq!(ask(), 403);
    assert!(said(&admin(&["blocks"], "")).contains(": for "));
    assert!(said(&admin(&["unblock", "by-key", "-"], "k1\n")).contains("blocked no more"));
    assert_eq!(said(&admin(&["blocks"], "")), "no key is blocked");
    assert_eq!(ask(), 429);
    let explained = admin(&["explain", "/", "--header", "x-api-key: k1"], "");
    assert!(said(&explained).contains("429") && explained.out.contains("by-key"), "{explained:?}");
    let audit = admin(&["audit", "-n", "2"], "");
    assert_eq!(said(&audit).lines().count(), 2, "{audit:?}");
    assert!(audit.out.contains("  local  unblock  "), "{audit:?}");
    let json: Value =
        serde_json::from_str(&admin(&["--json", "state", "per-client", "127.0.0.1"], "").out).unwrap();
    assert_eq!(json["counters"][0]["used"], 0);
}

#[test]
fn policies_are_shown_reloaded_and_rolled_back() {
    let (policy, gateway, url) = gateway();
    let admin = |arguments: &[&str]| run(&[&["admin", "--url", &url], arguments].concat(), "");
    let shown = admin(&["policy"]);
    assert!(
        said(&shown).contains("per-client")
            && shown.out.contains("  limit    sliding_window_counter, 5 per 1000d"),
        "{shown:?}"
    );
    assert!(said(&admin(&["reload"])).ends_with(" is in force, as before"));
    std::fs::write(
        policy.path(),
        format!("admin: {{ listen: 127.0.0.1:0 }}\n{}", RULES.replace("5/1000d", "7/1000d")),
    )
    .unwrap();
    said(&admin(&["reload"]));
    assert_eq!(request(gateway.address, "GET", "/", &[]).header("x-ratelimit-limit"), Some("7"));
    assert!(said(&admin(&["rollback"])).contains(" was before"));
    assert_eq!(request(gateway.address, "GET", "/", &[]).header("x-ratelimit-limit"), Some("5"));
    let history = admin(&["history"]);
    assert_eq!(said(&history).lines().filter(|line| line.starts_with('*')).count(), 1, "{history:?}");
    assert!(history.out.contains("by admin local, by going back"), "{history:?}");
    std::fs::write(policy.path(), "rules: [").unwrap();
    let refused = admin(&["reload"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{refused:?}");
    assert!(
        refused.err.starts_with("error: the gateway refused: ") && refused.err.contains("cupo.yaml:1:"),
        "{refused:?}"
    );
}

#[test]
fn what_cannot_be_done_says_so_with_its_exit_code() {
    let (_policy, gateway, url) = gateway();
    let admin = |arguments: &[&str]| run(&[&["admin"], arguments].concat(), "");
    let unknown = admin(&["--url", &url, "state", "nobody", "127.0.0.1"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.err.contains("no rule of this name"), "{unknown:?}");
    drop(gateway);
    let gone = admin(&["--url", &url, "blocks"]);
    assert_eq!(gone.code, Some(3), "{gone:?}");
    assert!(gone.err.contains("cannot be reached") && gone.err.contains(&url), "{gone:?}");
    for wrong in ["ftp://a", "http://a/b", "http://u:p@a", "unix:relative", "nonsense"] {
        let ran = admin(&["--url", wrong, "blocks"]);
        assert_eq!(ran.code, Some(2), "{wrong}: {ran:?}");
    }
    let variable = admin(&["--url", &url, "--token-env", "CUPO_TEST_NO_SUCH_VARIABLE", "blocks"]);
    assert!(variable.code == Some(2) && variable.err.contains("CUPO_TEST_NO_SUCH_VARIABLE"), "{variable:?}");
    assert_eq!(admin(&["block", "r", "k"]).code, Some(2), "an end is always there");
    assert_eq!(admin(&["--url", &url, "state", "by-key", "-"]).code, Some(2), "stdin has no line");
}

#[test]
fn it_speaks_by_a_unix_socket_and_by_tls_with_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("admin.sock");
    let policy = PolicyFile::new(&format!("admin: {{ listen: \"unix:{}\" }}\n{RULES}", path.display()));
    let mut gateway = Gateway::with_policy(&policy, upstream::ok());
    gateway.line(|line| line.starts_with("cupo answers administrators on unix:"));
    let url = format!("unix:{}", path.display());
    assert_eq!(said(&run(&["admin", "--url", &url, "blocks"], "")), "no key is blocked");

    let certificates = crate::certificates::Certificates::new(folder.path());
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let policy = PolicyFile::new(&format!(
        "admin:\n  listen: 127.0.0.1:0\n  tokens: [{{ name: ops, token_env: OPS }}]\n  \
         tls: {{ cert_file: {}, key_file: {}, client_ca_file: {} }}\n{RULES}",
        certificates.server, certificates.server_key, certificates.authority
    ));
    let mut command = cupo();
    command.env("OPS", "0123456789abcdef");
    let upstream = format!("http://{}", upstream::ok());
    let (mut gateway, admin) =
        crate::administrator::Administrator::of(command, &["-c", &policy.path(), "--upstream", &upstream]);
    let url = format!("https://localhost:{}", admin.address().port());
    let ask = |more: &[&str]| {
        let mut command = cupo();
        command
            .env("OPS", "0123456789abcdef")
            .args(["admin", "--url", &url, "--token-env", "OPS"])
            .args(more);
        command.args(["reset", "per-client", "127.0.0.1"]);
        run_to_end(command, "")
    };
    let ca = file("ca.pem");
    let own = ["--ca-file", &ca, "--cert-file", &certificates.client, "--key-file", &certificates.client_key];
    let done = ask(&own);
    assert_eq!(said(&done), "per-client ip=127.0.0.1: nothing was used");
    let line = gateway.line(|line| line.contains("an administrator changed something"));
    assert!(line.contains("who=\"ops (CN=alice)\""), "{line}");
    // Without a certificate nobody is let in, and one of another authority is none.
    assert_eq!(ask(&own[..2]).code, Some(3));
    assert_eq!(ask(&["--ca-file", &certificates.other]).code, Some(3), "the gateway's own is looked at too");
    assert_eq!(ask(&[]).code, Some(2), "an authority has to be named");
}

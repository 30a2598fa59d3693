//! Keys and users that come several times: whoever is blocked stays blocked, and a small plan stays small.

use crate::client::request;
use crate::process::{Gateway, PolicyFile, run};

fn hash(key: &str) -> String {
    let policy = PolicyFile::new("rules: [{ name: one, key: ip, limit: 1/s }]\n");
    let ran = run(&["hash-key", "-c", &policy.path()], key);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.out.trim().to_owned()
}

fn gateway(header: &str) -> Gateway {
    let policy = PolicyFile::new(&format!(
        "trusted_proxies: [127.0.0.1]
api_key_header: {header}
plans: {{ trial: {{ r: 2/1000d }}, free: {{ r: 50/1000d }} }}
plan: {{ from: [callers], default: free }}
callers: callers.yaml
block: [{{ name: listed, api_key_hash: {} }}]
rules:
  - {{ name: all, key: api_key | user | ip, limit: {{ plan: r }} }}
",
        hash("bearer listed-key")
    ));
    policy.beside(
        "callers.yaml",
        &format!(
            "callers:
  - {{ api_key_hash: {}, blocked: true }}
  - {{ api_key_hash: {}, plan: trial }}
  - {{ user: mallory, blocked: true }}
  - {{ user: tom, plan: trial }}
",
            hash("bearer blocked-key"),
            hash("bearer trial-key")
        ),
    );
    Gateway::start(&["-c", &policy.path(), "--upstream", "demo"])
}

#[test]
fn a_second_line_is_no_way_around_a_block_or_a_plan() {
    for header in ["x-api-key", "authorization"] {
        let gateway = gateway(header);
        let status = |fields: &[String]| {
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            request(gateway.address, "GET", "/", &fields).status
        };
        // Credentials have one spelling; other keys are as they are sent.
        let scheme = if header == "authorization" { "BEARER  " } else { "bearer " };
        let line = |key: &str| format!("{header}: {scheme}{key}");
        let empty = format!("{header}: ");
        for key in ["listed-key", "blocked-key"].map(line) {
            for fields in [
                vec![key.clone()],
                vec![key.clone(), key.clone()],
                vec![key.clone(), empty.clone()],
                vec![empty.clone(), key.clone()],
                vec![line("other"), line("third"), key.clone()],
            ] {
                assert_eq!(status(&fields), 403, "{fields:?}");
            }
        }
        let user = |name: &str| format!("X-User: {name}");
        for fields in [
            vec![user("mallory")],
            vec![user("mallory"), user("mallory")],
            vec![user("alice"), user("mallory")],
            vec![user("mallory"), user("")],
        ] {
            assert_eq!(status(&fields), 403, "{fields:?}");
        }
        for fields in [
            vec![line("trial-key")],
            vec![line("trial-key"), line("trial-key")],
            vec![user("tom")],
            vec![user("tom"), user("tom")],
        ] {
            let statuses = [(); 3].map(|()| status(&fields));
            assert_eq!(statuses, [200, 200, 429], "{fields:?}");
        }
        assert_eq!(status(&[line("other"), line("third")]), 200);
    }
}

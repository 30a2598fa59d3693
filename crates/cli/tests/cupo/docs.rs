//! `cupo docs`: the page for those who use an API.

use std::collections::{BTreeMap, BTreeSet};

use crate::page::Page;
use crate::process::{Gateway, PolicyFile, root, run, run_to_end};

fn docs(policy: &str, options: &[&str]) -> String {
    let ran = run(&[&["docs", "-c", policy], options].concat(), "");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{policy} {options:?}: {ran:?}");
    ran.out
}

fn html(policy: &str, language: &str) -> Page {
    Page::read(docs(policy, &["--format", "html", "--lang", language]))
}

/// The rows of the first table of a Markdown page, in cells.
fn table(markdown: &str) -> Vec<Vec<String>> {
    let rows =
        markdown.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    // A bar in a cell is escaped.
    let cells = |row: &str| {
        let row = row.replace("\\|", "\u{1}");
        let inner = row.strip_prefix("| ").unwrap().strip_suffix(" |").unwrap();
        inner.split(" | ").map(|cell| cell.replace('\u{1}', "|")).collect()
    };
    rows.filter(|row| !row.starts_with("|---")).map(cells).collect()
}

/// What stands in the code block after this text.
fn code_after<'a>(markdown: &'a str, text: &str) -> &'a str {
    let after = markdown.split_once(text).unwrap_or_else(|| panic!("{text} is not in {markdown}")).1;
    after.split_once("```").unwrap().1.split_once('\n').unwrap().1.split_once("\n```").unwrap().0
}

fn examples() -> Vec<String> {
    let mut files: Vec<String> = std::fs::read_dir(root().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .filter(|path| path.ends_with(".yaml") && !path.ends_with("/callers.yaml"))
        .collect();
    files.sort();
    assert!(files.len() >= 6, "{files:?}");
    files
}

#[test]
fn every_example_has_a_page_in_both_languages_and_forms() {
    for policy in examples() {
        let mut shapes = Vec::new();
        for (language, title) in [("en", "Rate limits"), ("es", "Límites de uso")] {
            let page = html(&policy, language);
            page.assert_policy();
            assert_eq!(page.all("html").next().unwrap().attributes["lang"], language);
            assert_eq!((page.texts("title"), page.texts("h1")), (vec![title], vec![title]));
            // Landmarks; a heading for each section, and a link to each.
            for landmark in ["header", "nav", "main", "footer"] {
                assert_eq!(page.all(landmark).count(), 1, "{landmark}");
            }
            let ids: Vec<&str> = page.all("h2").map(|heading| heading.attributes["id"].as_str()).collect();
            let links: Vec<&str> = page.all("a").map(|link| &link.attributes["href"][1..]).collect();
            assert_eq!((ids.len(), &ids), (page.all("section").count(), &links));
            // Heads of columns and of rows.
            let scopes = |scope: &str| page.all("th").filter(|th| th.attributes["scope"] == scope).count();
            assert_eq!(scopes("row"), page.all("tr").count() - page.all("thead").count());
            assert!(scopes("col") >= 4 * page.all("table").count().min(1));
            for attribute in page.elements.iter().flat_map(|element| element.attributes.keys()) {
                assert!(
                    !["src", "style", "srcset"].contains(&attribute.as_str()) && !attribute.starts_with("on")
                );
            }
            let markdown = docs(&policy, &["--lang", language]);
            assert!(markdown.starts_with(&format!("# {title}\n")));
            assert_eq!(markdown.matches("\n## ").count(), page.all("h2").count());
            // Both forms have the same cells.
            let of_markdown = table(&markdown).concat();
            let of_html: Vec<&str> = {
                let cells = page.elements.iter().filter(|e| e.name == "th" || e.name == "td");
                cells.take(of_markdown.len()).map(|cell| cell.text.as_str()).collect()
            };
            let plain: Vec<String> = of_markdown.iter().map(|cell| cell.replace(['`', '\\'], "")).collect();
            assert_eq!(plain, of_html);
            shapes.push((ids.len(), of_markdown.len(), page.all("pre").count()));
        }
        assert_eq!(shapes[0], shapes[1], "{policy}: both languages say as much");
    }
}

#[test]
fn numbers_are_those_of_the_policy() {
    let row = |cells: &[&str]| -> Vec<String> { cells.iter().map(|cell| (*cell).to_owned()).collect() };
    let plans = root().join("examples/plans.yaml");
    let plans = docs(plans.to_str().unwrap(), &[]);
    let expected = [
        row(&["Limit", "Applies to", "Counted", "`free`", "`premium`", "`internal`"]),
        row(&[
            "`requests`",
            "all requests",
            "per API key, else per user, else per IP address",
            "100 per hour",
            "10,500 per hour",
            "unlimited",
        ]),
        row(&[
            "`at-once`",
            "all requests",
            "per API key, else per user, else per IP address",
            "10 at once, then 1 per second",
            "100 at once, then 20 per second",
            "1,000 at once, then 500 per second",
        ]),
        row(&[
            "`per-address`",
            "all requests",
            "per IP address",
            "50,000 per hour",
            "50,000 per hour",
            "50,000 per hour",
        ]),
    ];
    assert_eq!(table(&plans), expected);
    assert!(plans.contains("Callers without a plan of their own are on `free`."));
    let forms = "rules:
  - { name: a, match: { method: [GET, POST], path: '/a/{id}' }, key: [user, route], limit: 100/500ms, cost: 5 }
  - { name: b, match: { host: [a.example, '*.b.example'] }, key: global, limit: { algorithm: leaky_bucket, rate: 6/minute, queue: 5 }, action: delay }
  - { name: c, key: header(x-team), limit: { algorithm: fixed_window, count: 7, calendar: week, time_zone: Africa/Cairo, week_starts: sunday } }
  - { name: d, key: 'claim(org.id) | ip', limit: { algorithm: fixed_window, rate: 20/2h, anchor: first_request, burst: 5 } }
  - { name: e, match: { header: { x-inside: Secret7 }, not: { path: /secret } }, key: query(q), limit: { algorithm: leaky_bucket, rate: 3/second, queue: 1 } }
jwt: { keys_file: k.json, algorithms: [RS256] }
";
    let policy = PolicyFile::new(forms);
    assert_eq!(
        table(&docs(&policy.path(), &["--lang", "es"])),
        [
            row(&["Límite", "Se aplica a", "Se cuenta", "Permite", "Cada petición consume"]),
            row(&[
                "`a`",
                "`GET, POST /a/{id}`",
                "por usuario y por operación",
                "100 cada 500 milisegundos",
                "5"
            ]),
            row(&[
                "`b`",
                "todas las peticiones en `*.b.example` o `a.example`",
                "para todos en conjunto",
                "6 por minuto, a ritmo uniforme; 5 pueden esperar",
                "1",
            ]),
            row(&[
                "`c`",
                "todas las peticiones",
                "por valor de la cabecera `x-team`",
                "7 por semana natural (Africa/Cairo)",
                "1",
            ]),
            row(&[
                "`d`",
                "todas las peticiones",
                "por valor de `org.id` en el token; si no hay, por dirección IP",
                "25 cada 2 horas desde la primera petición",
                "1",
            ]),
            row(&[
                "`e`",
                "algunas peticiones, con excepciones",
                "por valor del parámetro `q`",
                "3 por segundo, 2 de una vez",
                "1",
            ]),
        ]
    );
    let english = docs(&policy.path(), &[]);
    for part in [
        "with 100 units has room for 20 requests",
        "calendar in Africa/Cairo (weeks begin on Sunday)",
        "token in the header `authorization`",
    ] {
        assert!(english.contains(part), "{part} is not in {english}");
    }
}

#[test]
fn costs_that_are_not_always_the_same_are_told() {
    let policy = PolicyFile::new(
        "trusted_proxies: [10.0.0.0/8]
rules:
  - { name: tokens, match: { path: /chat }, key: api_key | ip, limit: 1000/minute, cost: { header: x-inside-cost, reserve: 10 } }
  - { name: weighed, key: ip, limit: 100/minute, cost: { header: x-inside-weight, max: 5, default: 2 } }
  - { name: bytes, match: { method: PUT }, key: ip, limit: 2000/minute, cost: { body: 64KiB, max: 1500 } }
  - { name: guesses, match: { path: /login }, key: ip, limit: 5/minute, charge: { on: response, when: { status: [401, 403] } } }
",
    );
    for (language, expected, guard) in [
        (
            "en",
            [
                "what it turns out to cost; 10 until then",
                "1 to 5, by what is asked",
                "1 for each started 64 KiB of its body, at most 1,500",
                "1",
            ],
            "`guesses` counts only requests that are answered with status 401, 403;",
        ),
        (
            "es",
            [
                "lo que resulte costar; 10 hasta entonces",
                "de 1 a 5, según lo que se pida",
                "1 por cada 64 KiB empezados de su cuerpo, 1500 como máximo",
                "1",
            ],
            "`guesses` solo cuenta las peticiones que se responden con el estado 401, 403;",
        ),
    ] {
        let page = docs(&policy.path(), &["--lang", language]);
        let costs: Vec<String> = table(&page).into_iter().skip(1).map(|row| row[4].clone()).collect();
        assert_eq!(costs, expected);
        assert!(page.contains(guard) && !page.contains("x-inside"), "{page}");
        assert_eq!(html(&policy.path(), language).all("tr").count(), page.matches("\n| ").count());
    }
}

/// What only the operator has to know stays there.
#[test]
fn what_is_nobodys_business_is_not_told() {
    let policy = PolicyFile::new(
        "trusted_proxies: [10.11.12.0/24]
user_header: x-internal-user
upstream: http://upstream.internal:9000
status: none
store: { redis: { url: redis://redis.internal:6379, password_env: REDIS_PASSWORD } }
allow: [{ name: allowed-entry, path: /allowed }]
block: [{ name: blocked-entry, client: 198.51.100.7 }]
plans: { free: { n: 10/minute } }
plan: { from: [header(x-plan-inside)], default: free }
rules:
  - { name: watched, key: ip, limit: 77/minute, action: shadow }
  - { name: closed, match: { path: /closed-path }, key: global, limit: 0/second }
  - { name: seen, match: { client: 10.20.30.0/24, header: { x-condition: Value7 }, not: { path: /left-out } }, key: descriptor(inside-name), limit: { plan: n } }
",
    );
    for options in [["--format", "markdown"], ["--format", "html"]] {
        let page = docs(&policy.path(), &options);
        assert!(page.contains("seen") && page.contains("10 per minute"), "{page}");
        for secret in [
            "10.11.12.0",
            "x-internal-user",
            "upstream.internal",
            "redis",
            "REDIS_PASSWORD",
            "allowed",
            "blocked-entry",
            "198.51.100.7",
            "x-plan-inside",
            "watched",
            "77",
            "closed",
            "10.20.30.0",
            "x-condition",
            "Value7",
            "left-out",
            "inside-name",
        ] {
            assert!(!page.contains(secret), "{secret} is told: {page}");
        }
    }
}

#[test]
fn what_others_wrote_is_only_shown() {
    let policy = PolicyFile::new(
        r##"rules:
  - name: all
    match: { path: "/<script>alert(1)</script>|`'\"&/{id}" }
    key: ip
    limit: 1/minute
    response: { headers: { X-A: "</code><b>\"'`" }, body: "</pre><script>alert(2)</script>\n```\n# Heading\n<img src=x onerror=alert(3)>", content_type: text/html }
status: "/<i>'\"`x`|"
"##,
    );
    for language in ["en", "es"] {
        let page = html(&policy.path(), language);
        page.assert_policy();
        for element in ["script", "img", "b", "i"] {
            assert_eq!(page.all(element).count(), 0, "{element}");
        }
        let shown: String = page.texts("pre").concat();
        assert!(
            shown.contains("</pre><script>alert(2)</script>") && shown.contains("x-a: </code><b>\"'`\n"),
            "{shown}"
        );
        let markdown = docs(&policy.path(), &["--lang", language]);
        // What is in the body stays in its block, and cells in their cells.
        let refusal = markdown.split_once("````http\n").unwrap().1.split_once("\n````\n").unwrap().0;
        assert!(refusal.contains("```\n# Heading\n<img"), "{refusal}");
        assert!(table(&markdown).iter().all(|row| row.len() == 4), "{markdown}");
        assert!(markdown.contains("``/<script>alert(1)</script>\\|`'\"&/{id}``"), "{markdown}");
    }
    for url in
        ["https://a'; rm -rf /", "javascript:alert(1)", "https://", "https://a.example/?q=1", "ftp://a"]
    {
        let ran = run(&["docs", "-c", &policy.path(), "--base-url", url], "");
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{url}");
    }
}

/// The names of fields that speak of limits, and the refusal's body by its members.
#[test]
fn its_answers_are_those_of_the_gateway() {
    for headers in
        ["[x-ratelimit, ietf-11]", "ietf-06", "none", "[ietf-11, { limit: X-Quota, remaining: X-Left }]"]
    {
        let text = format!(
            "upstream: demo\nresponses: {{ headers: {headers} }}\nrules: [{{ name: all, key: ip, limit: 1/hour }}]"
        );
        let policy = PolicyFile::new(&text);
        let gateway = Gateway::start(&["-c", &policy.path()]);
        let url = format!("http://{}/", gateway.address);
        let markdown = docs(&policy.path(), &["--lang", "es"]);
        let is_limit = |name: &str| {
            name.contains("ratelimit") || name.starts_with("x-quota") || name.starts_with("x-left")
        };
        let names = |block: &str| -> BTreeSet<String> {
            let lines = block.lines().skip(1).take_while(|line| !line.is_empty());
            lines.map(|line| line.split_once(": ").unwrap().0.to_owned()).collect()
        };
        let of = |headers: &[(String, String)]| -> BTreeSet<String> {
            headers.iter().map(|(name, _)| name.clone()).collect()
        };
        let admitted = crate::curl::curl(&[&url]);
        let refused = crate::curl::curl(&["-H", "Accept-Language: es", &url]);
        assert_eq!((admitted.status, refused.status), (200, 429));
        let said: BTreeSet<String> =
            of(&admitted.headers).into_iter().filter(|name| is_limit(name)).collect();
        if headers == "none" {
            assert!(said.is_empty() && markdown.contains("no llevan cabeceras"));
        } else {
            assert_eq!(names(code_after(&markdown, "llevan estas cabeceras:")), said, "{headers}");
        }
        let example = code_after(&markdown, "RetryInfo`");
        let ours = |name: &String| is_limit(name) || name.starts_with("content-t") || name == "retry-after";
        let keep = |names: BTreeSet<String>| names.into_iter().filter(ours).collect::<BTreeSet<_>>();
        assert_eq!(keep(names(example)), keep(of(&refused.headers)), "{headers}");
        let members =
            |body: &str| -> BTreeMap<String, serde_json::Value> { serde_json::from_str(body).unwrap() };
        let (shown, mut real) = (members(example.split_once("\n\n").unwrap().1), members(&refused.body));
        assert_eq!(shown.keys().collect::<Vec<_>>(), real.keys().collect::<Vec<_>>());
        assert_eq!(shown["title"], real.remove("title").unwrap());
    }
}

/// The clients of the page, as they are printed, against a gateway that refuses them at first.
#[test]
fn its_clients_come_through() {
    let policy = PolicyFile::new(
        "upstream: demo
access_log: true
rules: [{ name: all, key: api_key, limit: { algorithm: sliding_window_log, count: 1, window: 4s } }]",
    );
    let mut gateway = Gateway::start(&["-c", &policy.path()]);
    let markdown = docs(&policy.path(), &["--base-url", &format!("http://{}", gateway.address)]);
    let url = format!("http://{}/", gateway.address);
    for (label, program, option) in [("**curl**", "sh", "-c"), ("**Python**", "python3", "-c")] {
        let client = code_after(&markdown, label);
        assert!(client.contains(&gateway.address.to_string()) && client.contains("YOUR_KEY"), "{client}");
        // Room is used up, so that the client has to wait.
        let mut next = || {
            let line: serde_json::Value =
                serde_json::from_str(&gateway.line(|line| line.starts_with('{'))).unwrap();
            line["status"].as_u64().unwrap()
        };
        loop {
            crate::curl::curl(&["-H", "x-api-key: YOUR_KEY", &url]);
            if next() == 429 {
                break;
            }
        }
        let mut command = std::process::Command::new(program);
        command.args([option, client]).env("NO_PROXY", "*").env("no_proxy", "*");
        let ran = run_to_end(command, "");
        assert_eq!(ran.code, Some(0), "{label}: {ran:?}");
        assert!(ran.out.contains(r#""method":"GET""#) && !ran.out.contains("429"), "{label}: {ran:?}");
        // It was refused, and waited long enough to be refused no more than once or twice.
        let refused = std::iter::from_fn(|| Some(next()).filter(|status| *status == 429)).count();
        assert!((1..=2).contains(&refused), "{label} was refused {refused} times");
    }
}

#[test]
fn a_policy_without_limits_for_callers_says_so() {
    let policy = PolicyFile::new("rules: [{ name: w, key: ip, limit: 1/s, action: shadow }]");
    assert!(docs(&policy.path(), &[]).contains("no limits at present"));
    let page = html(&policy.path(), "es");
    assert_eq!((page.all("table").count(), page.all("section").count()), (0, 0));
    // And none is no policy.
    let ran = run(&["docs", "-c", "/no/such.yaml"], "");
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.md");
    let ran = run(&["docs", "-c", &policy.path(), "-o", file.to_str().unwrap()], "");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
    assert!(std::fs::read_to_string(file).unwrap().starts_with("# Rate limits\n"));
}

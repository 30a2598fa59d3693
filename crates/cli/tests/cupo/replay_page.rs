//! The page that `cupo replay --html` writes, as a browser reads it.

use std::collections::BTreeSet;
use std::fs;

use tempfile::TempDir;

use crate::page::Page;
use crate::process::{Ran, run};

/// A folder with policies, and what was made of them.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new(policies: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, policy) in policies {
            fs::write(folder.path().join(name), policy).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn run(&self, policies: &[&str], options: &[&str], input: &str) -> Ran {
        let mut arguments = vec!["replay".to_owned(), "--html".to_owned(), self.path("page.html")];
        arguments.extend(options.iter().map(|&option| option.to_owned()));
        arguments.extend(policies.iter().map(|policy| self.path(policy)));
        run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), input)
    }

    fn page(&self, policies: &[&str], options: &[&str], input: &str) -> Page {
        let ran = self.run(policies, options, input);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        Page::read(fs::read_to_string(self.path("page.html")).unwrap())
    }
}

const STRICT: &str = "rules:
  - { name: per-client, key: ip, limit: { algorithm: token_bucket, capacity: 5, refill: 1/minute } }
  - { name: login, match: { path: /login }, key: ip, limit: 2/minute }
";

const LOOSE: &str = "rules:
  - { name: per-client, key: ip, limit: { algorithm: token_bucket, capacity: 50, refill: 1/second } }
";

/// Three clients for half an hour, one of which asks too often.
fn events() -> String {
    let event = |second: u64, client: u64, path: &str| {
        format!("{{\"t_us\":{},\"peer\":\"192.0.2.{client}\",\"path\":\"{path}\"}}\n", second * 1_000_000)
    };
    (0..1_800)
        .map(|second| match second % 6 {
            0..3 => event(second, 1, "/"),
            3 => event(second, 2, "/login"),
            _ => event(second / 60 * 60, 3, "/"),
        })
        .collect()
}

#[test]
fn it_needs_nothing_but_itself() {
    let page = Bench::new(&[("a.yaml", STRICT)]).page(&["a.yaml"], &[], &events());
    let known: BTreeSet<&str> = page.elements.iter().map(|element| element.name.as_str()).collect();
    let allowed = [
        "b",
        "body",
        "caption",
        "code",
        "div",
        "figcaption",
        "figure",
        "footer",
        "g",
        "h1",
        "h2",
        "head",
        "header",
        "html",
        "li",
        "main",
        "meta",
        "p",
        "path",
        "rect",
        "section",
        "span",
        "style",
        "svg",
        "table",
        "tbody",
        "td",
        "text",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
    ];
    assert_eq!(known.difference(&allowed.into()).collect::<Vec<_>>(), Vec::<&&str>::new());
    for attribute in page.elements.iter().flat_map(|element| element.attributes.keys()) {
        let loads = ["href", "src", "style", "action", "background", "data", "srcset", "xlink:href"];
        assert!(!loads.contains(&attribute.as_str()) && !attribute.starts_with("on"), "{attribute}");
    }
    let style = page.texts("style");
    assert!(style.len() == 1 && !style[0].contains("url(") && !style[0].contains("@import"));

    page.assert_policy();
}

#[test]
fn it_says_what_the_summary_says() {
    let bench = Bench::new(&[("a.yaml", STRICT), ("b.yaml", LOOSE)]);
    for policies in [["a.yaml"].as_slice(), &["a.yaml", "b.yaml"]] {
        let ran = bench.run(policies, &[], &events());
        let page = Page::read(fs::read_to_string(bench.path("page.html")).unwrap());
        // Every word of the table, in order.
        let table = ran.out.split("\n\n").nth(1).unwrap();
        let words: Vec<&str> = table.split_whitespace().collect();
        let shown: Vec<&str> = page.all("table").next().unwrap().text.split_whitespace().collect();
        assert_eq!(shown.concat(), words.concat());
        // And every key with its number.
        for line in ran
            .out
            .lines()
            .filter(|line| line.starts_with("  ") && line.contains("ip=192.0.2.") && !line.contains(" at "))
        {
            let (number, key) = line.trim().split_once("  ").unwrap();
            assert!(page.has("td", number) && page.has("code", key), "{line}");
        }
        assert!(page.has("h2", "Longest waits") && page.has("li", "requests: 1,800"));
    }
}

#[test]
fn its_charts_show_every_request() {
    let page = Bench::new(&[("a.yaml", STRICT)]).page(&["a.yaml"], &[], &events());
    let cell = |name: &str| -> u64 {
        let row = page.all("tr").find(|row| row.text.starts_with(name)).unwrap();
        row.text[name.len()..].replace(',', "").parse().unwrap()
    };
    let tips = page.tips();
    assert_eq!((tips["admitted"], tips["denied"]), (cell("admitted"), cell("denied")));
    // Who is refused by two rules counts for the one with the longer wait.
    let by_rule: u64 = ["per-client", "login"].iter().filter_map(|rule| tips.get(rule)).sum();
    assert_eq!(by_rule, tips["denied"]);
    let bars = |class: &str| {
        page.all("path")
            .filter(|path| path.class() == class)
            .map(|path| path.attributes["d"].matches('z').count())
            .sum::<usize>()
    };
    assert!(bars("yes") > 30 && bars("no") > 300, "{} and {}", bars("yes"), bars("no"));
    // Whatever it draws, it draws within the chart.
    for svg in page.all("svg").filter(|svg| svg.class() != "key") {
        assert!(svg.attributes["viewBox"] == "0 0 10400 2080" && !svg.attributes["aria-label"].is_empty());
    }
    for path in page.all("path") {
        let numbers =
            path.attributes["d"].split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty());
        assert!(numbers.map(|number| number.parse::<u64>().unwrap()).all(|number| number <= 10_400));
    }
}

#[test]
fn policies_stand_beside_each_other() {
    let bench = Bench::new(&[("a.yaml", STRICT), ("b.yaml", LOOSE)]);
    let page = bench.page(&["a.yaml", "b.yaml"], &[], &events());
    let figures = |title: &str| page.all("section").filter(|section| section.text.starts_with(title)).count();
    assert_eq!(figures("Denied requests, policy beside policy"), 1);
    let captions = page.texts("figcaption");
    let of = |policy: &str, what: &str| {
        captions.iter().filter(|c| c.starts_with(&format!("{}, {what} in ", bench.path(policy)))).count()
    };
    for policy in ["a.yaml", "b.yaml"] {
        assert_eq!((of(policy, "requests"), of(policy, "denied")), (1, 1), "{captions:?}");
    }
    for line in ["l0", "l1"] {
        assert!(page.all("path").any(|path| path.class() == line), "{line}");
    }
}

#[test]
fn the_balance_of_the_keys_that_are_asked_for() {
    let bench = Bench::new(&[("a.yaml", STRICT), ("b.yaml", LOOSE)]);
    let options = ["--key", "per-client ip=192.0.2.1", "-k", "per-client ip=192.0.2.9"];
    let page = bench.page(&["a.yaml", "b.yaml"], &options, &events());
    let section = |title: &str| {
        page.all("section").find(|section| section.text.starts_with(title)).map(|s| s.text.as_str())
    };
    let first = section("Balance of per-client ip=192.0.2.1").unwrap();
    assert!(
        first.contains("what it has left") && first.contains("50") && first.contains("denied"),
        "{first}"
    );
    assert_eq!(
        section("Balance of per-client ip=192.0.2.9"),
        Some("Balance of per-client ip=192.0.2.9No request was counted by this key.")
    );
    assert!(page.all("path").any(|path| path.class() == "c1 band"));
    // Unasked, it is the first that is denied.
    let page = bench.page(&["a.yaml"], &[], &events());
    let titles: Vec<&str> =
        page.texts("h2").into_iter().filter(|title| title.starts_with("Balance")).collect();
    assert_eq!(titles, ["Balance of per-client ip=192.0.2.1"]);
    let many: Vec<&str> = ["--key", "x"].repeat(5);
    assert_eq!(bench.run(&["a.yaml"], &many, "").code, Some(2));
}

#[test]
fn what_strangers_wrote_is_only_text() {
    let name = "<img src=x onerror=alert(1)>&\"'.yaml";
    let policy = "rules:\n  - { name: job, key: descriptor(job), limit: 1/day }\n  - { name: host, key: host, limit: 2/day }\n";
    let bench = Bench::new(&[(name, policy)]);
    let job = "</code><script>alert(1)</script>\\\"'<!--";
    let event = format!(
        "{{\"t_us\":0,\"descriptors\":{{\"job\":\"{job}\\\"\"}},\"headers\":{{\"host\":\"<svg/onload=alert(1)>\"}}}}\n"
    );
    let page = bench.page(&[name], &["--key", "<u>"], &event.repeat(5));
    assert!(page.all("title").next().unwrap().text.ends_with(name));
    assert!(
        page.has("figcaption", &format!("{}, requests in 1 msdeniedadmitted", bench.path(name))),
        "{:?}",
        page.texts("figcaption")
    );
    assert!(
        page.texts("code").iter().any(|code| code.contains("</code><script>alert(1)</script>")),
        "{:?}",
        page.texts("code")
    );
    for element in ["script", "img", "u"] {
        assert_eq!(page.all(element).count(), 0, "{element}");
    }
    assert!(!page.bytes.contains("<script") && !page.bytes.contains("<img") && !page.bytes.contains("<svg/"));
}

#[test]
fn it_is_small_however_much_there_is() {
    /// Names of rules are as long as they may be.
    const LONG: &str = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghi";
    let rules: String = (0..20)
        .map(|n| format!("  - {{ name: {LONG}-{n}, match: {{ path: /{n} }}, key: ip, limit: 1/minute }}\n"))
        .collect();
    let policy = format!("rules:\n{rules}");
    let names = ["1", "2", "3", "4", "5", "6", "7", "8"];
    let bench = Bench::new(&names.map(|name| (name, policy.as_str())));
    let event = |n: u64| {
        format!("{{\"t_us\":{},\"peer\":\"192.0.2.1\",\"path\":\"/{}\"}}\n", n / 40 * 300_000_000, n % 20)
    };
    let events = |count: u64| (0..count).map(event).collect::<String>();
    let keys: Vec<String> =
        (1..5).flat_map(|n| ["-k".to_owned(), format!("{LONG}-{n} ip=192.0.2.1")]).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let page = bench.page(&names, &keys, &events(8_000));
    assert!(page.bytes.len() > 100_000 && page.bytes.len() < 1 << 20, "{} bytes", page.bytes.len());
    assert_eq!(page.tips()["denied"], 8 * 4_000);
    // Rules without a colour of their own are one.
    assert!(page.texts("span").contains(&"other rules"));
    // Fewer policies have finer charts.
    let page = bench.page(&["1"], &[], &events(20_000));
    assert!(page.bytes.len() < 1 << 20);
}

#[test]
fn it_is_written_over_what_was_there() {
    let bench = Bench::new(&[("a.yaml", STRICT)]);
    fs::write(bench.path("page.html"), "old".repeat(1 << 20)).unwrap();
    let first = bench.page(&["a.yaml"], &[], &events()).bytes;
    assert_eq!(bench.page(&["a.yaml"], &[], &events()).bytes, first);
    let empty = bench.page(&["a.yaml"], &[], "");
    assert!(empty.has("li", "requests: 0") && empty.all("svg").count() == 0);
    // What cannot be written is found out before the work, and what is there stays where the work fails.
    let ran = run(&["replay", &bench.path("a.yaml"), "--html", "/nowhere/page.html"], "");
    assert!(ran.code == Some(3) && ran.err.contains("`/nowhere/page.html` cannot be written: "), "{ran:?}");
    assert_eq!(bench.run(&["a.yaml"], &[], "{\"t_us\":1}\nnonsense\n").code, Some(1));
    assert_eq!(fs::read_to_string(bench.path("page.html")).unwrap(), empty.bytes);
}

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use cupo_config::StoreSource;
use cupo_core::Engine;
use cupo_server::{ForwardSettings, Forwarding, Upstream};
use cupo_tower::CupoLayer;
use tempfile::TempDir;

use super::{By, Candidate, NotReloaded, Reloader, Started};
use crate::serve::alarm::Alarm;
use crate::store::AnyStore;

/// A gateway's reloader beside its policy file.
struct Fixture {
    folder: TempDir,
    reloader: Reloader,
}

fn policy(limit: &str) -> String {
    format!("rules: [{{ name: all, key: ip, limit: {limit} }}]\n")
}

fn upstream(port: u16) -> Upstream {
    SocketAddr::from(([127, 0, 0, 1], port)).into()
}

fn admin() -> By {
    By::Admin("ada".into())
}

impl Fixture {
    /// Started with the policy in this text, and these files beside it; `before_it_looks` happens right after the start.
    fn start(text: &str, beside: &[(&str, &str)], before_it_looks: impl Fn(&Fixture)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cupo.yaml");
        fs::write(&path, text).unwrap();
        beside.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
        let first = Candidate::load(&path, None).map_err(|failure| failure.to_string()).unwrap();
        let store = AnyStore::open(&StoreSource::default(), None).unwrap();
        let engine = Engine::new(Arc::clone(&first.config.policy), store);
        let engine = Arc::new(engine.with_observer(Arc::new(Alarm::new(None))));
        let handle = CupoLayer::new(engine).answers(first.answers.clone()).reload_handle();
        let overruled = if text.starts_with("store") { vec!["listen"] } else { vec!["store"] };
        let started = Started::with(&first, upstream(1), overruled);
        let forwarding = Forwarding::new(ForwardSettings::new(upstream(1)));
        let fixture = Self { reloader: Reloader::of_file(handle, forwarding, path, first, started), folder };
        before_it_looks(&fixture);
        fixture.settle();
        fixture
    }

    fn new(limit: &str) -> Self {
        Self::start(&policy(limit), &[], |_| {})
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, text: &str) {
        fs::write(self.path("cupo.yaml"), text).unwrap();
    }

    /// Looks until there is nothing new.
    fn settle(&self) {
        for _ in 0..3 {
            while self.reloader.look() {}
        }
    }

    /// The limit that the engine decides by.
    fn limit(&self) -> String {
        let policy = self.reloader.handle.engine().policy();
        assert!(Arc::ptr_eq(&policy, &self.reloader.in_force().revision.policy));
        policy.rules()[0].limits().next().unwrap().unwrap().to_string()
    }

    /// How often the policy was swapped.
    fn swaps(&self) -> u64 {
        self.reloader.handle.engine().generation()
    }

    fn error(&self) -> String {
        self.reloader.report().last_error.map(String::from).unwrap_or_default()
    }

    fn history(&self) -> Vec<Box<str>> {
        self.reloader.history().iter().map(|entry| entry.revision.id.clone()).collect()
    }
}

#[test]
fn what_the_file_says_is_in_force_once_it_has_come_to_rest() {
    let gateway = Fixture::new("1/s");
    let first = gateway.reloader.in_force().revision.id.clone();
    assert_eq!(gateway.swaps(), 0);
    gateway.write(&policy("2/s"));
    assert!(gateway.reloader.look(), "it may still be written");
    assert_eq!(gateway.swaps(), 0);
    gateway.settle();
    assert_eq!((gateway.limit(), gateway.swaps()), ("sliding_window_counter, 2 per 1s".to_owned(), 1));
    let entry = gateway.reloader.in_force();
    assert_eq!((&entry.by, entry.rollback, gateway.history().len()), (&By::File, false, 2));
    assert_eq!(gateway.history()[1], first);
    assert_eq!(entry.revision.source.as_ref().unwrap().text(), policy("2/s"));
    // The same once more, by other ways, is nothing new.
    gateway.write(&policy("2/s"));
    gateway.settle();
    fs::write(gateway.path("new"), policy("2/s")).unwrap();
    fs::rename(gateway.path("new"), gateway.path("cupo.yaml")).unwrap();
    gateway.settle();
    gateway.reloader.look_at_once();
    assert!(gateway.reloader.reload(&admin()).is_ok());
    assert_eq!(gateway.swaps(), 1);
}

#[test]
fn whatever_is_wrong_is_refused_and_what_is_right_again_is_taken() {
    let gateway = Fixture::new("1/s");
    let whole = "rules:\n  - { name: all, key: ip, limit: 2/s }\n  - { name: more, key: ip, limit: 3/s }\n";
    for length in 0..whole.len() - 1 {
        // As the file is while it is being written: with an end that is a policy of its own it would be another policy.
        let text = &whole[..length];
        if cupo_config::parse("cupo.yaml", text).is_ok() {
            continue;
        }
        gateway.write(text);
        gateway.settle();
        assert_eq!(gateway.swaps(), 0, "{text}");
        assert!(!gateway.error().is_empty(), "{text}");
    }
    for text in [
        "",
        "\n",
        "# nothing\n",
        "rules: []\n",
        "{}\n",
        "\0\0\0\0",
        "\u{feff}",
        "rules: [{ name: all, key: ip, limt: 1/s }]",
    ] {
        gateway.write(text);
        gateway.settle();
        assert!(gateway.error().starts_with("cupo.yaml:1:"), "{text:?}: {}", gateway.error());
        let refused = gateway.reloader.reload(&admin()).unwrap_err().to_string();
        assert!(refused.contains("cupo.yaml:1:") && refused.contains("= hint: "), "{refused}");
    }
    assert_eq!(gateway.error(), "cupo.yaml:1:9: `limit` is missing (and 1 more)");
    fs::remove_file(gateway.path("cupo.yaml")).unwrap();
    gateway.settle();
    assert!(gateway.error().contains("cannot read"), "{}", gateway.error());
    fs::create_dir(gateway.path("cupo.yaml")).unwrap();
    gateway.settle();
    assert!(gateway.error().contains("cannot read"), "{}", gateway.error());
    assert_eq!((gateway.swaps(), gateway.limit()), (0, "sliding_window_counter, 1 per 1s".to_owned()));

    fs::remove_dir(gateway.path("cupo.yaml")).unwrap();
    gateway.write(&policy("1/s"));
    gateway.settle();
    assert_eq!((gateway.error(), gateway.swaps()), (String::new(), 0), "as it was");
    gateway.write("rules: [");
    gateway.settle();
    gateway.write(&policy("2/s"));
    gateway.settle();
    assert_eq!(
        (gateway.error(), gateway.limit()),
        (String::new(), "sliding_window_counter, 2 per 1s".to_owned())
    );
}

#[test]
fn what_changes_between_the_start_and_the_first_look_is_seen() {
    let gateway = Fixture::start(&policy("1/s"), &[], |gateway| gateway.write(&policy("2/s")));
    assert_eq!((gateway.limit(), gateway.swaps()), ("sliding_window_counter, 2 per 1s".to_owned(), 1));
}

const CALLERS: &str = "callers: callers.yaml\nrules: [{ name: all, key: ip, limit: 1/s }]\n";

#[test]
fn files_that_the_policy_names_are_looked_at_too() {
    let gateway = Fixture::new("1/s");
    // A file that is not there yet is waited for, and nothing else changes.
    gateway.write(CALLERS);
    gateway.settle();
    assert!(gateway.error().contains("cannot read the file of callers"), "{}", gateway.error());
    for (turn, users) in
        ["[{ user: a, times: 2 }]", "[{ user: a, times: 2 }, { user: b, times: 2 }]"].into_iter().enumerate()
    {
        fs::write(gateway.path("callers.yaml"), format!("callers: {users}\n")).unwrap();
        gateway.settle();
        let callers = gateway.reloader.in_force().revision.policy.callers();
        assert_eq!((gateway.error(), callers), (String::new(), turn + 1));
    }
    fs::write(gateway.path("callers.yaml"), "").unwrap();
    gateway.settle();
    assert!(gateway.error().starts_with("callers.yaml:1:1"), "{}", gateway.error());
    assert_eq!(gateway.reloader.in_force().revision.policy.callers(), 2);
    // A rollback restores what was said of callers as well.
    gateway.reloader.rollback(None, &admin()).unwrap();
    assert_eq!(gateway.reloader.in_force().revision.policy.callers(), 1);
}

#[test]
fn keys_of_tokens_swap_and_go_back_with_the_policy() {
    let text =
        "jwt: { keys_file: jwks.json, algorithms: HS256 }\nrules: [{ name: all, key: user, limit: 1/s }]\n";
    let key = |letter: &str| format!(r#"{{"keys":[{{"kty":"oct","k":"{}"}}]}}"#, letter.repeat(44));
    let gateway = Fixture::start(text, &[("jwks.json", &key("A"))], |_| {});
    let first = gateway.reloader.in_force().revision.id.clone();
    fs::write(gateway.path("jwks.json"), key("B")).unwrap();
    gateway.settle();
    assert_eq!(gateway.swaps(), 1);
    fs::write(gateway.path("jwks.json"), "{}").unwrap();
    gateway.settle();
    assert!(gateway.error().starts_with("cupo.yaml:1:"), "{}", gateway.error());
    assert_eq!(gateway.swaps(), 1);
    let back = gateway.reloader.rollback(Some(&first), &admin()).unwrap();
    assert_eq!((back.after, gateway.swaps()), (first, 2));
}

#[test]
fn a_rollback_stays_until_the_file_changes_or_somebody_reloads() {
    let gateway = Fixture::new("1/s");
    assert!(matches!(gateway.reloader.rollback(None, &admin()), Err(NotReloaded::NoneBefore)));
    assert!(
        matches!(gateway.reloader.rollback(Some("x"), &admin()), Err(NotReloaded::Unknown(id)) if *id == *"x")
    );
    gateway.write(&policy("2/s"));
    gateway.settle();
    gateway.write(&policy("3/s"));
    gateway.settle();
    let ids = gateway.history();
    let back = gateway.reloader.rollback(None, &admin()).unwrap();
    assert_eq!((&back.before, &back.after), (&ids[0], &ids[1]));
    let entry = gateway.reloader.in_force();
    assert_eq!((entry.by, entry.rollback, gateway.reloader.report().rollback), (admin(), true, true));
    // Neither a look, nor a signal, nor the same text again ends it.
    gateway.settle();
    gateway.reloader.look_at_once();
    gateway.write(&policy("3/s"));
    gateway.settle();
    gateway.write("rules: [");
    gateway.settle();
    gateway.write(&policy("3/s"));
    gateway.settle();
    assert_eq!(gateway.limit(), "sliding_window_counter, 2 per 1s");
    let again = gateway.reloader.reload(&admin()).unwrap();
    assert_eq!((&again.before, &again.after), (&ids[1], &ids[0]));
    assert!(!gateway.reloader.report().rollback);

    let first = gateway.reloader.rollback(Some(&ids[2]), &admin()).unwrap();
    assert_eq!(
        (first.after, gateway.limit()),
        (ids[2].clone(), "sliding_window_counter, 1 per 1s".to_owned())
    );
    gateway.write(&policy("4/s"));
    gateway.settle();
    assert_eq!(gateway.limit(), "sliding_window_counter, 4 per 1s");
    assert_eq!(gateway.history().len(), 4, "each is there once");
}

#[test]
fn settings_that_wait_for_a_restart_are_named_and_the_rest_swaps() {
    let gateway = Fixture::new("1/s");
    let other = "listen: 127.0.0.1:1\nworkers: 3\ntimeouts: { idle: 5s }\nstatus: /other\nstore: { memory: { max_keys: 9 } }\n";
    gateway.write(&format!("{other}{}", policy("2/s")));
    gateway.settle();
    assert_eq!(gateway.limit(), "sliding_window_counter, 2 per 1s");
    let waiting = ["listen", "workers", "timeouts.idle"];
    assert_eq!(gateway.reloader.report().waiting_for_restart, waiting, "an option overrules the store");
    assert_eq!(gateway.reloader.reload(&admin()).unwrap().waiting, waiting);
    gateway.write(&policy("3/s"));
    gateway.settle();
    assert!(gateway.reloader.report().waiting_for_restart.is_empty());
}

#[test]
fn the_upstream_swaps_with_the_policy_and_goes_back_with_it() {
    let text = |rest: &str, limit| format!("{rest}\n{}", policy(limit));
    let gateway = Fixture::start(&text("upstream: http://127.0.0.1:1", "1/s"), &[], |_| {});
    let forwarding = || gateway.reloader.forwarding.settings();
    let first = forwarding();
    gateway.write(&text("upstream: http://127.0.0.1:1", "2/s"));
    gateway.settle();
    assert!(Arc::ptr_eq(&first, &forwarding()), "connections are kept");
    gateway.write(&text(
        "upstream: http://127.0.0.1:2\ntimeouts: { connect: 1s, idle: 7s }\nlimits: { body_bytes: 9 }",
        "2/s",
    ));
    gateway.settle();
    let second = forwarding();
    assert_eq!((&second.upstream, second.max_body_bytes), (&upstream(2), Some(9)));
    assert_eq!((second.timeouts.connect.as_secs(), second.timeouts.idle), (1, first.timeouts.idle));
    assert_eq!(gateway.reloader.report().waiting_for_restart, ["timeouts.idle"]);
    for other in ["upstream: demo", ""] {
        gateway.write(&text(other, "3/s"));
        gateway.settle();
        assert_eq!(
            (&forwarding().upstream, gateway.limit().as_str()),
            (&upstream(1), "sliding_window_counter, 3 per 1s")
        );
        assert_eq!(gateway.reloader.report().waiting_for_restart, ["upstream"]);
    }
    let before = gateway.history()[2].clone();
    gateway.reloader.rollback(Some(&before), &admin()).unwrap();
    assert_eq!(forwarding().upstream, upstream(2));
}

#[test]
fn files_that_matter_to_a_start_are_looked_at_too() {
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    fs::write(&password, "one").unwrap();
    let text = |admin: &str| {
        let password = password.display();
        format!(
            "store: {{ redis: {{ url: \"redis://h\", password_file: {password} }} }}\nlisten: 127.0.0.1:1\n{admin}{}",
            policy("1/s")
        )
    };
    let gateway = Fixture::start(&text(""), &[], |_| {});
    let waiting = || {
        gateway.settle();
        gateway.reloader.report().waiting_for_restart
    };
    assert!(waiting().is_empty());
    fs::write(&password, "two").unwrap();
    assert_eq!(waiting(), ["store.redis.password_file"]);
    assert_eq!(gateway.swaps(), 0);
    fs::write(&password, "").unwrap();
    gateway.settle();
    assert!(gateway.error().starts_with("cupo.yaml:1:"), "{}", gateway.error());
    fs::write(&password, "one").unwrap();
    assert!(waiting().is_empty() && gateway.error().is_empty());
    gateway.write(
        &text("admin: { listen: 127.0.0.1:1 }\n")
            .replace("listen: 127.0.0.1:1\nadmin", "listen: 127.0.0.1:2\nadmin"),
    );
    assert_eq!(waiting(), ["admin"]);
    gateway.write(&text("").replace("redis://h", "redis://i").replace("listen: 127.0.0.1:1", "workers: 1"));
    assert_eq!(waiting(), ["workers", "store.redis.url"]);
}

#[test]
fn of_many_quick_changes_the_last_is_in_force() {
    let gateway = Fixture::new("1/s");
    for count in 2..200 {
        fs::write(gateway.path("new"), policy(&format!("{count}/s"))).unwrap();
        fs::rename(gateway.path("new"), gateway.path("cupo.yaml")).unwrap();
        gateway.reloader.look();
    }
    assert!(gateway.swaps() >= 10, "a file that never rests is read now and then");
    gateway.settle();
    assert_eq!(gateway.limit(), "sliding_window_counter, 199 per 1s");
    assert_eq!(gateway.history().len(), 10);
}

#[test]
fn a_policy_of_options_has_nothing_to_reload() {
    let Reloader { handle, forwarding, .. } = Fixture::new("1/s").reloader;
    let fixed = Reloader::fixed(handle, forwarding);
    assert!(!fixed.look() && !fixed.has_file());
    fixed.look_at_once();
    assert!(matches!(fixed.reload(&admin()), Err(NotReloaded::NoFile)));
    assert!(matches!(fixed.rollback(None, &admin()), Err(NotReloaded::NoneBefore)));
    assert_eq!(fixed.history().len(), 1);
}

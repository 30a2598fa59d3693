//! `action: delay`: requests are held until their slot, in order, and a full queue refuses.

use std::sync::mpsc::channel;
use std::time::Duration;

use crate::client::{Client, get};
use crate::process::{BOUND, Gateway, PolicyFile, now};
use crate::upstream;

/// Requests to `/held` are held; every admitted request also counts under `all`, by which one sees from outside whether another
/// has been decided.
fn policy(limit: &str) -> PolicyFile {
    PolicyFile::new(&format!(
        "rules:
  - {{ name: all, key: global, limit: 100000/1000d }}
  - {{ name: held, match: {{ path: '/held/**' }}, key: ip, limit: {limit}, action: delay }}
"
    ))
}

/// Counts what the gateway has admitted.
struct Probe {
    client: Client,
    probes: u64,
}

impl Probe {
    fn new(gateway: &Gateway) -> Self {
        Self { client: Client::new(gateway.address), probes: 0 }
    }

    fn admitted(&mut self) -> u64 {
        self.probes += 1;
        100_000 - self.client.get("/probe").of_rules("r")["all"] - self.probes
    }

    fn until_admitted(&mut self, count: u64) {
        let start = now();
        while self.admitted() < count {
            assert!(start.elapsed() < BOUND, "no {count} requests were admitted");
        }
    }
}

fn ask(gateway: &Gateway, target: &str) -> Client {
    let client = Client::new(gateway.address);
    client.ask("GET", target, &[]);
    client
}

#[test]
fn the_held_leave_in_order_and_evenly_spaced() {
    const SLOT: Duration = Duration::from_millis(400);
    let (sender, seen) = channel();
    let address = upstream::telling(move |head| {
        if head.starts_with("GET /held/") {
            let _ = sender.send((head.split(' ').nth(1).unwrap().to_owned(), now()));
        }
    });
    let gateway =
        Gateway::with_policy(&policy("{ algorithm: leaky_bucket, rate: 1/400ms, queue: 50 }"), address);
    let mut probe = Probe::new(&gateway);
    let start = now();
    let targets: Vec<String> = (0..5).map(|number| format!("/held/{number}")).collect();
    let clients: Vec<Client> = (1_u64..)
        .zip(&targets)
        .map(|(count, target)| {
            let client = ask(&gateway, target);
            probe.until_admitted(count);
            client
        })
        .collect();
    for (number, mut client) in (0..).zip(clients) {
        let response = client.read(true).unwrap();
        assert_eq!(response.status, 200);
        assert!(start.elapsed() >= SLOT * number, "response {number} came after {:?}", start.elapsed());
    }
    for (number, target) in (0..).zip(&targets) {
        let (came, at) = seen.recv_timeout(BOUND).unwrap();
        assert_eq!(&came, target, "in order");
        assert!(at - start >= SLOT * number, "{target} came after {:?}", at - start);
    }
}

#[test]
fn a_full_queue_refuses_and_a_client_that_leaves_gives_its_place_back() {
    // The next slot is days away: what is held stays held.
    let gateway = Gateway::with_policy(
        &policy("{ algorithm: leaky_bucket, rate: 10/1000d, queue: 3 }"),
        upstream::ok(),
    );
    let mut probe = Probe::new(&gateway);
    assert_eq!(get(gateway.address, "/held/first").status, 200);
    let mut held: Vec<Client> = (2..=4)
        .map(|count| {
            let client = ask(&gateway, "/held/waiting");
            probe.until_admitted(count);
            client
        })
        .collect();
    for _ in 0..3 {
        let refused = get(gateway.address, "/held/more");
        assert_eq!((refused.status, refused.remaining()), (429, 0), "{refused:?}");
        assert!(refused.number("retry-after").unwrap() > 3_600, "{refused:?}");
        assert_eq!(refused.json()["violated-policies"], serde_json::json!(["held"]));
    }
    assert_eq!(probe.admitted(), 4);

    // The last in the queue leaves, and somebody else gets in.
    drop(held.pop());
    let start = now();
    'places: loop {
        let mut client = ask(&gateway, "/held/next");
        // It is refused as long as the gateway has not noticed, and held from then on.
        loop {
            assert!(start.elapsed() < BOUND, "the place was not given back");
            if probe.admitted() == 5 {
                held.push(client);
                break 'places;
            }
            client.socket().set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let mut first = [0];
            if client.socket().peek(&mut first).is_ok_and(|count| count == 1) {
                client.socket().set_read_timeout(Some(BOUND)).unwrap();
                assert_eq!(client.read(true).unwrap().status, 429);
                break;
            }
        }
    }
    assert_eq!(get(gateway.address, "/held/more").status, 429, "one place came back, not two");
}

#[test]
fn without_a_file_a_leaky_bucket_delays() {
    let options = ["--upstream", "demo", "--limit", "1/1s", "--algorithm", "leaky_bucket", "--burst", "1"];
    let gateway = Gateway::start(&options);
    let start = now();
    let clients: Vec<Client> = (0..2).map(|_| ask(&gateway, "/")).collect();
    for mut client in clients {
        assert_eq!(client.read(true).unwrap().status, 200);
    }
    assert!(start.elapsed() >= Duration::from_secs(1), "{:?}", start.elapsed());
}

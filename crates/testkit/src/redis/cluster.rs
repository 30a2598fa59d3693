//! A cluster of three masters with a replica each.

use super::client::Reply;
use super::port::free_port;
use super::server::RedisServer;
use super::wait::until;

/// Slots of a cluster.
const SLOTS: u16 = 16_384;

/// Six servers: nodes 0, 1 and 2 start as masters of a third of the slots each, 3, 4 and 5 as their replicas.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<RedisServer>,
}

impl Cluster {
    /// Starts it and waits until every node agrees that it is whole.
    ///
    /// # Panics
    /// Where that does not come about.
    #[must_use]
    pub fn start() -> Self {
        let node = || {
            RedisServer::standalone()
                .config("cluster-enabled", "yes")
                .config("cluster-config-file", "nodes.conf")
                .config("cluster-port", free_port())
                .config("cluster-node-timeout", 2_000)
                // A new replica must not wait 5 s for its first copy: until then it cannot replace its master.
                .config("repl-diskless-sync-delay", 0)
                .start()
        };
        let cluster = Self { nodes: (0..6).map(|_| node()).collect() };
        for (i, node) in cluster.nodes.iter().enumerate() {
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(i + 1).to_string()]);
        }
        for (i, node) in (0..3).zip(&cluster.nodes) {
            let (first, last) = (SLOTS / 3 * i, if i == 2 { SLOTS } else { SLOTS / 3 * (i + 1) } - 1);
            node.command(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
        }
        for node in &cluster.nodes[1..] {
            let bus = node.command(&["CONFIG", "GET", "cluster-port"]).array()[1].text().to_owned();
            cluster.nodes[0].command(&["CLUSTER", "MEET", "127.0.0.1", &node.port().to_string(), &bus]);
        }
        until("the nodes know each other", || {
            cluster
                .nodes
                .iter()
                .all(|node| lines(node).len() == 6 && !lines(node).concat().contains("handshake"))
                .then_some(())
        });
        for i in 0..3 {
            cluster.nodes[i + 3].command(&["CLUSTER", "REPLICATE", &cluster.id(i)]);
        }
        cluster.until_whole();
        cluster
    }

    /// Waits until every node says that all slots are served, and knows three replicas whose copies are complete.
    ///
    /// # Panics
    /// Where that does not come about.
    pub fn until_whole(&self) {
        until("the cluster is whole", || {
            let whole = |node: &RedisServer| {
                let state = node.command(&["CLUSTER", "INFO"]).text().contains("cluster_state:ok");
                let lines = lines(node);
                let replicas = lines.iter().filter(|l| l.contains("slave") && !l.contains("fail")).count();
                let role = node.info("replication", "role");
                let synced = role == "master" || node.info("replication", "master_link_status") == "up";
                state && replicas == 3 && synced
            };
            self.nodes.iter().all(whole).then_some(())
        });
    }

    /// A node.
    pub fn node(&mut self, number: usize) -> &mut RedisServer {
        &mut self.nodes[number]
    }

    /// `redis://` addresses of all nodes.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(RedisServer::url).collect()
    }

    /// The slot of a key, as the servers compute it.
    #[must_use]
    pub fn slot(&self, key: impl AsRef<[u8]>) -> u16 {
        let slot = self.nodes[0].command(&[b"CLUSTER", &b"KEYSLOT"[..], key.as_ref()]).int();
        u16::try_from(slot).unwrap()
    }

    /// The number of the node that serves `slot`, as node `witness` sees it.
    ///
    /// # Panics
    /// Where none does.
    #[must_use]
    pub fn owner(&self, slot: u16, witness: usize) -> usize {
        let serves = |line: &&String| {
            let ranges = line.split(' ').skip(8).filter(|range| !range.starts_with('['));
            let mut ends = ranges.map(|range| range.split_once('-').unwrap_or((range, range)));
            ends.any(|(a, b)| (a.parse::<u16>().unwrap()..=b.parse().unwrap()).contains(&slot))
        };
        let lines = lines(&self.nodes[witness]);
        let line = lines.iter().find(serves).expect("the slot is served");
        let port = line.split([' ', ':', '@']).nth(2).unwrap();
        self.nodes.iter().position(|node| node.port().to_string() == port).unwrap()
    }

    /// Moves a slot with its keys from its owner to the master `to`, while clients go on. In between they are asked to
    /// ASK and, for several keys at once, to TRYAGAIN.
    ///
    /// # Panics
    /// Where the cluster refuses.
    pub fn move_slot(&self, slot: u16, to: usize) {
        let from = self.owner(slot, to);
        self.begin_move(slot, to);
        loop {
            let keys = self.nodes[from].command(&["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "100"]);
            if keys.array().is_empty() {
                break;
            }
            let port = self.nodes[to].port().to_string();
            for key in keys.array() {
                self.nodes[from].command(&[
                    b"MIGRATE",
                    &b"127.0.0.1"[..],
                    port.as_bytes(),
                    key.bytes(),
                    b"0",
                    b"5000",
                ]);
            }
        }
        self.end_move(slot, to);
    }

    /// The first half of [`move_slot`](Self::move_slot): from now on the slot is in two places.
    ///
    /// # Panics
    /// Where the cluster refuses.
    pub fn begin_move(&self, slot: u16, to: usize) {
        let (from, slot_text) = (self.owner(slot, to), slot.to_string());
        self.nodes[to].command(&["CLUSTER", "SETSLOT", &slot_text, "IMPORTING", &self.id(from)]);
        self.nodes[from].command(&["CLUSTER", "SETSLOT", &slot_text, "MIGRATING", &self.id(to)]);
    }

    /// The last part of [`move_slot`](Self::move_slot): `to` owns the slot.
    ///
    /// # Panics
    /// Where the cluster refuses.
    pub fn end_move(&self, slot: u16, to: usize) {
        let (id, from) = (self.id(to), self.owner(slot, to));
        for node in [to, from] {
            self.nodes[node].command(&["CLUSTER", "SETSLOT", &slot.to_string(), "NODE", &id]);
        }
        until("all nodes know the slot's new owner", || {
            (0..self.nodes.len()).all(|witness| self.owner(slot, witness) == to).then_some(())
        });
    }

    /// Makes node `replica` the master of its slots, in an orderly manner, and waits for it.
    ///
    /// # Panics
    /// Where that does not come about.
    pub fn failover(&self, replica: usize) {
        let node = &self.nodes[replica];
        node.command(&["CLUSTER", "FAILOVER"]);
        until("the replica is the master", || (node.info("replication", "role") == "master").then_some(()));
    }

    /// Waits until node `replica` has made itself the master, after its master has gone or hangs, and the living nodes
    /// serve all slots again.
    ///
    /// # Panics
    /// Where that does not come about.
    pub fn until_promoted(&self, replica: usize) {
        let node = &self.nodes[replica];
        until("the replica is the master", || {
            let promoted = node.info("replication", "role") == "master";
            (promoted && node.command(&["CLUSTER", "INFO"]).text().contains("cluster_state:ok")).then_some(())
        });
    }

    fn id(&self, number: usize) -> String {
        self.nodes[number].command(&["CLUSTER", "MYID"]).text().to_owned()
    }
}

fn lines(node: &RedisServer) -> Vec<String> {
    match node.command(&["CLUSTER", "NODES"]) {
        Reply::Bytes(text) => String::from_utf8_lossy(&text).lines().map(str::to_owned).collect(),
        other => panic!("{other:?}"),
    }
}

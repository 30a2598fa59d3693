//! What happens to a cluster, seen through a gateway.

use std::time::Duration;

use cupo_testkit::redis::{Cluster, RedisServer, until};

use crate::bad_days::live_through;
use crate::process::wait;

#[test]
fn a_slot_is_served_by_nobody() {
    let server = RedisServer::standalone().config("cluster-enabled", "yes").start();
    server.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    until("the cluster of one node is whole", || {
        server.command(&["CLUSTER", "INFO"]).text().contains("cluster_state:ok").then_some(())
    });
    live_through("CLUSTERDOWN", &format!("redis-cluster://{}", server.address()), || {
        server.command(&["CLUSTER", "DELSLOTSRANGE", "0", "99"]);
        until("the cluster is down", || {
            server.command(&["CLUSTER", "INFO"]).text().contains("cluster_state:fail").then_some(())
        });
        wait(Duration::from_millis(1_200));
        server.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "99"]);
    });
}

fn url(cluster: &Cluster) -> String {
    let hosts: Vec<String> = cluster.urls().iter().map(|url| url.replace("redis://", "")).collect();
    format!("redis-cluster://{}", hosts.join(","))
}

/// The primary that has what the load is counted by: both rules count by the address, so there is one.
fn owner(cluster: &mut Cluster) -> usize {
    (0..3).find(|&n| cluster.node(n).command(&["DBSIZE"]).int() > 0).expect("something is counted")
}

#[test]
fn a_primary_hangs_until_its_replica_has_replaced_it() {
    let mut cluster = Cluster::start();
    live_through("failover", &url(&cluster), || {
        let owner = owner(&mut cluster);
        cluster.node(owner).pause();
        cluster.until_promoted(owner + 3);
        cluster.node(owner).resume();
        cluster.until_whole();
    });
}

#[test]
fn a_slot_moves_to_and_fro() {
    let mut cluster = Cluster::start();
    live_through("resharding", &url(&cluster), || {
        let owner = owner(&mut cluster);
        let key = cluster.node(owner).command(&["RANDOMKEY"]);
        let slot = cluster.slot(key.bytes());
        for n in 1..=60 {
            cluster.move_slot(slot, (owner + n) % 3);
        }
    });
}

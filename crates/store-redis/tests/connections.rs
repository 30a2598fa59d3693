//! Ways to reach a server: sockets, databases, users, and what is said when it is the wrong one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic"
)]

mod support;

use cupo_core::{Refusal, Store, StoreError, Timestamp};
use cupo_store_redis::{ConnectionError, RedisError, RedisSettings, RedisStore, Secret};
use cupo_testkit::redis::{RedisServer, valkey_server};
use support::{bucket, one, patient};

async fn works(settings: RedisSettings) {
    RedisStore::try_connection(&settings).await.unwrap();
    let store = RedisStore::new(settings).unwrap();
    for n in 1..=3 {
        let executed = store.check(&one("a", bucket(3), 1), Timestamp::EPOCH).await.unwrap();
        assert_eq!((executed.is_admitted(), executed.decisions[0].remaining), (true, 3 - n));
    }
    assert!(!store.check(&one("a", bucket(3), 1), Timestamp::EPOCH).await.unwrap().is_admitted());
    assert_eq!((store.health().connected, store.health().disconnected), (1, 0));
}

async fn refusal(settings: &RedisSettings) -> ConnectionError {
    match RedisStore::try_connection(settings).await {
        Err(RedisError::Connection { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unix_socket_and_a_database() {
    let server = RedisServer::standalone().start();
    let mut settings = patient(&format!("unix://{}", server.unix_socket().display()));
    settings.database = 3;
    works(settings).await;
    server.assert_every_key_has_a_ttl();
    assert_eq!(server.info("keyspace", "db3").split(',').next(), Some("keys=1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password() {
    let server = RedisServer::standalone().password("p@ss").start();
    let mut settings = patient(&format!("redis://{}", server.address()));
    let without = refusal(&settings).await;
    assert!(
        matches!(without, ConnectionError::Store(StoreError::Refused(Refusal::Unauthenticated))),
        "{without:?}"
    );
    settings.password = Some(Secret::new("wrong"));
    let wrong = refusal(&settings).await;
    assert!(
        matches!(wrong, ConnectionError::Store(StoreError::Refused(Refusal::Unauthenticated))),
        "{wrong:?}"
    );
    let store = RedisStore::new(settings.clone()).unwrap();
    let answer = store.check(&one("a", bucket(1), 1), Timestamp::EPOCH).await;
    assert_eq!(answer, Err(StoreError::Refused(Refusal::Unauthenticated)));
    settings.password = Some(Secret::new("p@ss"));
    works(settings).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wrong_kind_of_server_is_told() {
    let server = RedisServer::standalone().start();
    let cluster = patient(&format!("redis-cluster://{}", server.address()));
    assert!(matches!(refusal(&cluster).await, ConnectionError::IsNoCluster));
    let sentinel = patient(&format!("redis-sentinel://{}/primary", server.address()));
    assert!(matches!(refusal(&sentinel).await, ConnectionError::IsNoSentinel));
    let node = RedisServer::standalone().config("cluster-enabled", "yes").start();
    assert!(matches!(refusal(&patient(&node.url())).await, ConnectionError::IsCluster));
    let replica = RedisServer::standalone().config("replicaof", "127.0.0.1 1").start();
    assert!(matches!(refusal(&patient(&replica.url())).await, ConnectionError::IsReplica));
    let nobody = patient("redis://127.0.0.1:1");
    assert!(matches!(refusal(&nobody).await, ConnectionError::Failed(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn valkey() {
    let Some(binary) = valkey_server() else { return };
    let server = RedisServer::standalone().binary(binary).start();
    works(patient(&server.url())).await;
    server.assert_every_key_has_a_ttl();
}

#[test]
fn no_runtime_is_an_error() {
    let made = RedisStore::new(patient("redis://127.0.0.1"));
    assert!(matches!(made, Err(RedisError::NoRuntime)), "{made:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_with_an_authority_and_a_client_certificate_of_its_own() {
    let server = RedisServer::standalone().tls().start();
    let certificates = server.certificates();
    let mut settings = patient(&format!("rediss://localhost:{}", server.tls_port()));
    assert!(RedisStore::try_connection(&settings).await.is_err(), "nobody knows the authority");
    settings.tls.ca = Some(certificates.authority.clone().into_bytes());
    assert!(RedisStore::try_connection(&settings).await.is_err(), "the server asks for a certificate");
    settings.tls.client_certificate = Some(certificates.client.clone().into_bytes());
    settings.tls.client_key = Some(Secret::new(certificates.client_key.clone()));
    assert!(!format!("{settings:?}").contains("PRIVATE KEY"));
    works(settings.clone()).await;

    settings.tls.ca = Some(b"no certificate".to_vec());
    let made = RedisStore::new(settings);
    assert!(matches!(made, Err(RedisError::NoAuthority)), "{made:?}");
}

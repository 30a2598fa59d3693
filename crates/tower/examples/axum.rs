//! An axum application behind a policy: `cargo run -p cupo-tower --features axum --example axum`, then
//! `curl -i http://127.0.0.1:3000/`, a few times.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use cupo_core::{Engine, KeySpec, Limit, MatchSource, Policy, PolicySource, Rate, RuleSource};
use cupo_store_memory::MemoryStore;
use cupo_tower::CupoLayer;
use tokio::net::TcpListener;

/// Five requests at once and one more every two seconds, per client; and a hundred searches a minute, by all together.
fn policy() -> Result<Arc<Policy>, Box<dyn Error + Send + Sync>> {
    let burst = Limit::token_bucket(5, Rate::new(1, Duration::from_secs(2)))?;
    let searches = Limit::sliding_window_counter(100, Duration::from_secs(60))?;
    let matches = MatchSource { path: Some("/search/{term}".to_owned()), ..MatchSource::default() };
    Ok(Policy::compile(PolicySource {
        rules: vec![
            RuleSource::new("burst", KeySpec::parse(&["ip"])?, burst),
            RuleSource { matches, ..RuleSource::new("searches", KeySpec::parse(&["global"])?, searches) },
        ],
        ..PolicySource::default()
    })?)
}

/// The application: its routes, and the layer over all of them.
pub(crate) fn app() -> Result<Router, Box<dyn Error + Send + Sync>> {
    let engine = Arc::new(Engine::new(policy()?, MemoryStore::new()));
    Ok(Router::new()
        .route("/", get(|| async { "¡Hay cupo!\n" }))
        .route("/search/{term}", get(|| async { "nothing found\n" }))
        .layer(CupoLayer::new(engine)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    // This is what tells the layer who is asking.
    let service = app()?.into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, service).await?)
}

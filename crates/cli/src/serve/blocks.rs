//! Keeps up with what is blocked in a store that several nodes share.

use std::sync::Arc;
use std::time::Duration;

use cupo_core::{Clock, Engine, Observer};
use tokio::runtime::Runtime;
use tokio::time::{MissedTickBehavior, interval};

use crate::store::AnyStore;

/// How often the store is asked: what one node blocks, the others do within half a second.
const EVERY: Duration = Duration::from_millis(400);

/// Asks from now on, until the runtime ends. A store in memory has no other nodes.
pub(super) fn follow<C: Clock + 'static, O: Observer + 'static>(
    engine: &Arc<Engine<AnyStore, C, O>>,
    runtime: &Runtime,
) {
    if engine.store().redis().is_none() {
        return;
    }
    let engine = Arc::clone(engine);
    runtime.spawn(async move {
        let mut tick = interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = false;
        loop {
            tick.tick().await;
            match engine.refresh_blocks().await {
                Ok(()) => told = false,
                Err(_) if told => {}
                Err(error) => {
                    told = true;
                    tracing::warn!(%error, "the store does not tell what is blocked; what is known stays blocked until its end");
                }
            }
        }
    });
}

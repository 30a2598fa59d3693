//! The admin API: a listener of its own, on a thread of its own, for those who run the gateway.
//!
//! It looks and puts right: the state of a key, resets, the policy in force. Every change is logged with who made it, and what
//! was before and after. Requests of web pages are refused, whatever they ask for.

mod audit;
mod auth;
mod control;
mod limiter;
mod listener;
mod name;
mod nearest;
mod problem;
mod router;
mod routes;
mod settings;
mod tls;

pub use self::audit::AUDIT_TARGET;
pub use self::control::{Control, NotReloaded, PolicyText, Reloaded, Revision};
pub use self::listener::{AdminListener, RunningAdmin};
pub use self::nearest::Nearest;
pub use self::settings::{AdminSettings, AdminToken};
pub use self::tls::AdminTls;

use std::sync::Arc;

use cupo_core::{Clock, Observer, Store, Upkeep};
use cupo_tower::ReloadHandle;

use crate::error::Error;
use audit::Audit;
use limiter::Limiter;

/// What requests are answered from.
pub(crate) struct Admin {
    settings: AdminSettings,
    limiter: Arc<dyn Limiter>,
    control: Arc<dyn Control>,
    audit: Audit,
    nearest: Arc<Nearest>,
}

/// Answers administrators on `listener`, about the layer of `handle`, on a thread of its own. `nearest` has to be shown every outcome
/// of its engine.
///
/// # Errors
/// [`Error::AdminOpen`] if others reach the listener and there is no token; [`Error::Worker`] if the thread or its runtime
/// cannot be started.
pub fn start_admin<S, C, O>(
    settings: AdminSettings,
    listener: AdminListener,
    handle: ReloadHandle<S, C, O>,
    nearest: Arc<Nearest>,
    control: Arc<dyn Control>,
) -> Result<RunningAdmin, Error>
where
    S: Store + Upkeep + 'static,
    C: Clock + 'static,
    O: Observer + 'static,
{
    if let Some(address) = listener.address().filter(|address| !address.ip().is_loopback())
        && settings.tokens.is_empty()
    {
        return Err(Error::AdminOpen { address });
    }
    let admin = Admin { settings, limiter: Arc::new(handle), control, audit: Audit::default(), nearest };
    listener.start(Arc::new(admin))
}

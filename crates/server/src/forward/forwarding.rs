//! How requests are forwarded, for all workers of a gateway.

use std::sync::Arc;

use arc_swap::{ArcSwap, Cache};

use super::settings::ForwardSettings;

/// How requests are forwarded, for all workers of a gateway. It can be swapped while requests go on: those under way end at the
/// upstream where they are, and connections to it are kept no longer.
#[derive(Debug, Clone)]
pub struct Forwarding(Arc<ArcSwap<ForwardSettings>>);

impl Forwarding {
    /// Forwards like this.
    #[must_use]
    pub fn new(settings: ForwardSettings) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(settings)))
    }

    /// How requests are forwarded now.
    #[must_use]
    pub fn settings(&self) -> Arc<ForwardSettings> {
        self.0.load_full()
    }

    /// Forwards like this from now on. Every call has all workers connect anew, so call it when something has changed.
    pub fn swap(&self, settings: ForwardSettings) {
        self.0.store(Arc::new(settings));
    }

    /// A copy that costs next to nothing to look at.
    pub(super) fn cache(&self) -> Following {
        Cache::new(Arc::clone(&self.0))
    }
}

/// A copy of the settings that follows them.
pub(super) type Following = Cache<Arc<ArcSwap<ForwardSettings>>, Arc<ForwardSettings>>;

//! What the files say besides the policy.

use cupo_config::{Config, UpstreamSource};

use crate::serve::LIVE;

/// A part of the file that is said otherwise.
pub(crate) struct Setting {
    /// What the file calls it.
    pub(crate) field: &'static str,
    /// Whether a gateway that runs goes on with what it was started with.
    pub(crate) needs_restart: bool,
}

pub(super) fn changed(old: &Config, new: &Config) -> Vec<Setting> {
    let mut fields = old.gateway.differences(&new.gateway);
    fields.extend(old.store.differences(&new.store));
    fields.extend((old.admin != new.admin).then_some("admin"));
    let servers = [&old.gateway.upstream, &new.gateway.upstream];
    let swaps_upstream = servers.iter().all(|one| matches!(one, Some(UpstreamSource::Http { .. })));
    let swaps = |field: &str| LIVE.contains(&field) || (field == "upstream" && swaps_upstream);
    let gateway = fields.into_iter().map(|field| Setting { field, needs_restart: !swaps(field) });
    let live = [("jwt", old.jwt != new.jwt), ("responses", old.responses != new.responses)];
    let live = live.into_iter().filter(|(_, differs)| *differs);
    gateway.chain(live.map(|(field, _)| Setting { field, needs_restart: false })).collect()
}

//! What holds from the start of the gateway on: settings that another policy cannot change.

use cupo_config::{AdminSource, GatewaySource, StoreSource};

use super::candidate::Candidate;

/// Fields that swap with the policy.
const LIVE: [&str; 1] = ["status"];

/// What the gateway was started with.
pub(crate) struct Started {
    gateway: GatewaySource,
    store: StoreSource,
    admin: Option<AdminSource>,
    /// What the files of the store and of the admin API said.
    files: Vec<(&'static str, Vec<u8>)>,
    /// Fields that options overrule.
    overruled: Vec<&'static str>,
}

impl Started {
    /// `overruled` names the fields that options overrule.
    pub(crate) fn with(candidate: &Candidate, overruled: Vec<&'static str>) -> Self {
        Self {
            gateway: candidate.config.gateway.clone(),
            store: candidate.config.store.clone(),
            admin: candidate.config.admin.clone(),
            files: candidate.files_of_the_start.clone(),
            overruled,
        }
    }

    /// The settings of a policy that wait for a restart, by their names.
    pub(super) fn waiting(&self, candidate: &Candidate) -> Vec<&'static str> {
        let mut waiting = self.gateway.differences(&candidate.config.gateway);
        waiting.extend(self.store.differences(&candidate.config.store));
        waiting.extend((self.admin != candidate.config.admin).then_some("admin"));
        // Files that both name, and that say something else now.
        let (before, now) = (&self.files, &candidate.files_of_the_start);
        let changed = |(field, said): &&(&'static str, Vec<u8>)| {
            before.iter().any(|(same, before)| same == field && before != said)
        };
        waiting.extend(now.iter().filter(changed).map(|(field, _)| *field));
        let overruled = |field: &str| {
            self.overruled.iter().any(|by| field == *by || (*by == "store" && field.starts_with("store.")))
        };
        waiting.retain(|field| !LIVE.contains(field) && !overruled(field));
        waiting
    }
}

//! What holds from the start of the gateway on: settings that another policy cannot change.

use cupo_config::{AdminSource, GatewaySource, StoreSource, UpstreamSource};
use cupo_server::{ForwardSettings, Upstream};

use super::candidate::Candidate;
use crate::serve::settings;

/// Fields that swap with the policy.
pub(crate) const LIVE: [&str; 6] = [
    "status",
    "upstream_protocol",
    "timeouts.connect",
    "timeouts.response_header",
    "limits.body_bytes",
    "limits.response_header_bytes",
];

/// What the gateway was started with.
pub(crate) struct Started {
    gateway: GatewaySource,
    store: StoreSource,
    admin: Option<AdminSource>,
    /// Where requests went, whoever said so.
    upstream: Upstream,
    /// What the files of the store and of the admin API said.
    files: Vec<(&'static str, Vec<u8>)>,
    /// Fields that options overrule.
    overruled: Vec<&'static str>,
}

impl Started {
    /// `overruled` names the fields that options overrule.
    pub(crate) fn with(candidate: &Candidate, upstream: Upstream, overruled: Vec<&'static str>) -> Self {
        Self {
            gateway: candidate.config.gateway.clone(),
            store: candidate.config.store.clone(),
            admin: candidate.config.admin.clone(),
            upstream,
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
        if self.upstream_of(candidate).is_some() {
            waiting.retain(|field| *field != "upstream");
        }
        let overruled = |field: &str| {
            self.overruled.iter().any(|by| field == *by || (*by == "store" && field.starts_with("store.")))
        };
        waiting.retain(|field| !LIVE.contains(field) && !overruled(field));
        waiting
    }

    /// How requests are forwarded by a policy while the gateway runs.
    pub(super) fn forward(&self, candidate: &Candidate) -> ForwardSettings {
        let (mut source, said) = (self.gateway.clone(), &candidate.config.gateway);
        source.upstream_protocol = said.upstream_protocol;
        source.timeouts.connect = said.timeouts.connect;
        source.timeouts.response_header = said.timeouts.response_header;
        source.limits.body_bytes = said.limits.body_bytes;
        source.limits.response_header_bytes = said.limits.response_header_bytes;
        let upstream = self.upstream_of(candidate).unwrap_or_else(|| self.upstream.clone());
        settings::forward(&source, upstream)
    }

    /// The upstream of a policy, where it can take the place of the one before: the demonstration is there from the start or not at
    /// all.
    fn upstream_of(&self, candidate: &Candidate) -> Option<Upstream> {
        let (before, now) = (self.gateway.upstream.as_ref()?, candidate.config.gateway.upstream.as_ref()?);
        let demo = [before, now].contains(&&UpstreamSource::Demo);
        if demo || self.overruled.contains(&"upstream") { None } else { now.to_string().parse().ok() }
    }
}

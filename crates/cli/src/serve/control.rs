//! What the command does for administrators.

use std::sync::Arc;

use cupo_server::{Control, NotReloaded, PolicyText, Reloaded, Revision};

use super::reload::{self, By, Reloader};

/// The policies of the gateway, for administrators.
pub(super) struct Controlled {
    pub(super) reloader: Arc<Reloader>,
}

impl Control for Controlled {
    fn policy_text(&self) -> Option<PolicyText> {
        let in_force = self.reloader.in_force();
        let source = in_force.revision.source.as_ref()?;
        Some(PolicyText { file: source.name().to_owned(), text: source.without_passwords()? })
    }

    fn reload(&self, who: &str) -> Result<Reloaded, NotReloaded> {
        self.reloader.reload(&By::Admin(who.into())).map(done).map_err(|error| not_done(&error))
    }

    fn rollback(&self, to: Option<&str>, who: &str) -> Result<Reloaded, NotReloaded> {
        self.reloader.rollback(to, &By::Admin(who.into())).map(done).map_err(|error| not_done(&error))
    }

    fn history(&self) -> Vec<Revision> {
        let entries = self.reloader.history().into_iter();
        let shown = entries.map(|entry| Revision {
            id: entry.revision.id.to_string(),
            since: entry.since,
            by: entry.by.to_string(),
            rollback: entry.rollback,
            rules: entry.revision.policy.rules().len(),
        });
        shown.collect()
    }
}

fn done(reloaded: reload::Reloaded) -> Reloaded {
    Reloaded {
        before: reloaded.before.into(),
        after: reloaded.after.into(),
        waiting: reloaded.waiting.into_iter().map(ToOwned::to_owned).collect(),
    }
}

fn not_done(error: &reload::NotReloaded) -> NotReloaded {
    let text = error.to_string().into();
    match error {
        reload::NotReloaded::Refused(_) => NotReloaded::Refused(text),
        reload::NotReloaded::Unknown(_) => NotReloaded::Unknown(text),
        reload::NotReloaded::NoFile | reload::NotReloaded::NoneBefore => NotReloaded::Impossible(text),
    }
}

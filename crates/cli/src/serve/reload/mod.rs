//! Another policy while the gateway runs: read and checked aside, swapped whole, and the last good ones kept to go back to.

mod candidate;
mod history;
mod started;
mod summary;
#[cfg(test)]
mod tests;
mod watched;

use std::path::PathBuf;
use std::sync::Arc;

use cupo_core::{Clock, SystemClock, Timestamp};
use cupo_server::{ForwardSettings, Forwarding, PolicyReport};
use cupo_tower::ReloadHandle;
use parking_lot::Mutex;
use thiserror::Error;

use crate::jwt::Tokens;
use crate::serve::alarm::Alarm;
use crate::store::AnyStore;
pub(crate) use candidate::{Candidate, Refused};
pub(crate) use history::{By, Entry, Revision};
pub(crate) use started::{LIVE, Started};

use history::History;
use summary::summary;
use watched::{Digest, Look, Watched};

/// What swaps the policy of the gateway.
pub(super) type Handle = ReloadHandle<AnyStore, SystemClock, Arc<Alarm>>;

/// Why the policy in force stays in force.
#[derive(Debug, Error)]
pub(crate) enum NotReloaded {
    #[error("there is no policy file: the policy is made of options")]
    NoFile,
    #[error("{}", .0.whole)]
    Refused(Refused),
    #[error("there is no policy `{0}` to go back to")]
    Unknown(Box<str>),
    #[error("there is no policy to go back to: this one is the first")]
    NoneBefore,
}

/// What became of a reload or a rollback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reloaded {
    /// What was in force before, and what is now; the same where nothing has changed.
    pub(crate) before: Box<str>,
    pub(crate) after: Box<str>,
    /// The settings of the policy file that wait for a restart.
    pub(crate) waiting: Vec<&'static str>,
}

/// Changes the policy of a gateway while it runs. Whoever changes it waits for whoever does already; asking what is in force
/// waits for nobody.
pub(crate) struct Reloader {
    handle: Handle,
    forwarding: Forwarding,
    clock: SystemClock,
    /// `None` where the policy is made of options.
    file: Option<Mutex<PolicyFile>>,
    shown: Mutex<Shown>,
}

/// The policy file as it was when it was last looked at.
struct PolicyFile {
    path: PathBuf,
    started: Started,
    watched: Watched,
    /// What the files said when they were last read; `None` where that is not known for sure.
    read: Option<Digest>,
    /// The last good policy that they held; not in force after a rollback.
    good: Good,
    /// What was told of the policy that they hold, if it is wrong.
    told: Option<String>,
    /// The settings that were told to wait for a restart.
    waiting: Vec<&'static str>,
}

struct Good {
    id: Box<str>,
    tokens: Option<Tokens>,
    /// Until it has been seen that the files say what was read at the start.
    first: Option<Candidate>,
}

/// What can be asked at any time.
struct Shown {
    history: History,
    refused: Option<String>,
    waiting: Vec<&'static str>,
}

impl Reloader {
    /// For a gateway with a policy made of options, of which there is no other.
    pub(super) fn fixed(handle: Handle, forwarding: Forwarding) -> Self {
        let revision = Revision {
            id: "options".into(),
            source: None,
            policy: handle.engine().policy(),
            answers: handle.answers(),
            forward: None,
            bytes: 0,
        };
        Self::new(handle, forwarding, revision, None)
    }

    /// For a gateway that has been started with `first`, the policy of the file at `path`.
    pub(super) fn of_file(
        handle: Handle,
        forwarding: Forwarding,
        path: PathBuf,
        first: Candidate,
        started: Started,
    ) -> Self {
        let file = PolicyFile {
            path,
            started,
            watched: Watched::new(first.config.files()),
            read: None,
            good: Good { id: first.id.clone(), tokens: first.tokens.clone(), first: None },
            told: None,
            waiting: Vec::new(),
        };
        let revision = file.revision(&first);
        let good = Good { first: Some(first), ..file.good };
        Self::new(handle, forwarding, revision, Some(PolicyFile { good, ..file }))
    }

    fn new(handle: Handle, forwarding: Forwarding, revision: Revision, file: Option<PolicyFile>) -> Self {
        let clock = SystemClock::new();
        let entry =
            Entry { revision: Arc::new(revision), since: clock.now(), by: By::Start, rollback: false };
        let shown = Shown { history: History::new(entry), refused: None, waiting: Vec::new() };
        Self { handle, forwarding, clock, file: file.map(Mutex::new), shown: Mutex::new(shown) }
    }

    /// Whether there is a file that may change.
    pub(crate) const fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Looks whether the files have changed, and puts what they say in force if so. Whether to look again soon: somebody is
    /// writing. Blocks on file I/O.
    pub(crate) fn look(&self) -> bool {
        let Some(mut file) = self.file.as_ref().map(Mutex::lock) else { return false };
        match file.watched.look() {
            Look::Same => false,
            Look::Moving => true,
            Look::Rested => {
                if file.has_changed() {
                    let _ = self.read(&mut file, &By::File, false);
                }
                false
            }
        }
    }

    /// The same at once, whether somebody writes or not, because a signal asked for it. What is wrong is told again.
    pub(crate) fn look_at_once(&self) {
        let Some(mut file) = self.file.as_ref().map(Mutex::lock) else { return };
        file.watched.look_at_once();
        if file.has_changed() || file.told.is_some() {
            let _ = self.read(&mut file, &By::Signal, false);
            return;
        }
        let in_force = self.in_force();
        if in_force.revision.id == file.good.id {
            tracing::info!(policy = %in_force.revision.id, "SIGHUP: the policy file has not changed");
        } else {
            tracing::warn!(
                policy = %in_force.revision.id,
                "SIGHUP: the policy file has not changed since the rollback, which stays in force"
            );
        }
    }

    /// Puts what the files say in force, changed or not, also after a rollback. Blocks on file I/O.
    ///
    /// # Errors
    /// [`NotReloaded`]: what is wrong; what was in force stays in force.
    pub(crate) fn reload(&self, by: &By) -> Result<Reloaded, NotReloaded> {
        let mut file = self.file.as_ref().ok_or(NotReloaded::NoFile)?.lock();
        file.watched.look_at_once();
        file.read = Some(file.watched.digest());
        self.read(&mut file, by, true).map_err(NotReloaded::Refused)
    }

    /// Goes back to a policy of the [`history`](Self::history), by its name, or to the one before. It stays in force until the
    /// files change, or somebody [reloads](Self::reload).
    ///
    /// # Errors
    /// [`NotReloaded`]: there is no such policy.
    pub(crate) fn rollback(&self, to: Option<&str>, by: &By) -> Result<Reloaded, NotReloaded> {
        // Nobody else changes the policy meanwhile.
        let file = self.file.as_ref().map(Mutex::lock);
        let target = {
            let shown = self.shown.lock();
            let mut entries = shown.history.iter();
            let found = match to {
                Some(id) => entries.find(|entry| *entry.revision.id == *id),
                None => entries.nth(1),
            };
            let unknown = || to.map_or(NotReloaded::NoneBefore, |id| NotReloaded::Unknown(id.into()));
            Arc::clone(&found.ok_or_else(unknown)?.revision)
        };
        let waiting = file.as_ref().map_or_else(Vec::new, |file| file.waiting.clone());
        let before = self.in_force().revision;
        if before.id != target.id {
            self.swap(&target, by, true);
        }
        Ok(Reloaded { before: before.id.clone(), after: target.id.clone(), waiting })
    }

    /// The policies that were in force, the newest first, each once.
    pub(crate) fn history(&self) -> Vec<Entry> {
        self.shown.lock().history.iter().cloned().collect()
    }

    /// What is in force.
    pub(crate) fn in_force(&self) -> Entry {
        self.shown.lock().history.in_force().clone()
    }

    /// What is told to everybody.
    pub(crate) fn report(&self) -> PolicyReport {
        let shown = self.shown.lock();
        let in_force = shown.history.in_force();
        PolicyReport {
            revision: in_force.revision.id.clone(),
            in_force_since: shown_time(in_force.since),
            rollback: in_force.rollback,
            last_error: shown.refused.as_deref().map(Into::into),
            waiting_for_restart: shown.waiting.clone(),
        }
    }

    /// Reads the files aside, and puts them in force if they are good and say something new, or if `anyway` also where they say
    /// what they said before a rollback.
    fn read(&self, file: &mut PolicyFile, by: &By, anyway: bool) -> Result<Reloaded, Refused> {
        let candidate = match Candidate::load(&file.path, file.good.tokens.as_ref()) {
            Ok(candidate) => candidate,
            Err(failure) => {
                let refused = Refused::new(&file.path, &failure);
                self.refuse(file, by, &refused);
                return Err(refused);
            }
        };
        if file.watched.follow(candidate.config.files()) {
            file.read = None;
        }
        let waiting = file.started.waiting(&candidate);
        self.accept(file, &waiting);
        let before = self.in_force().revision;
        let is_new = anyway || candidate.id != file.good.id;
        let after = if is_new && candidate.id != before.id {
            let next = Arc::new(file.revision(&candidate));
            self.swap(&next, by, false);
            next
        } else {
            Arc::clone(&before)
        };
        let (id, tokens) = (candidate.id.clone(), candidate.tokens.clone());
        // Files that were not watched before may have changed meanwhile.
        file.good = Good { id, tokens, first: file.read.is_none().then_some(candidate) };
        Ok(Reloaded { before: before.id.clone(), after: after.id.clone(), waiting })
    }

    /// Tells what is wrong, once unless somebody asks.
    fn refuse(&self, file: &mut PolicyFile, by: &By, refused: &Refused) {
        if file.watched.follow(refused.files.clone()) {
            file.read = None;
        }
        file.good.first = None;
        // Whoever reads the log finds the same in the health endpoint.
        self.shown.lock().refused = Some(refused.line.clone());
        if *by != By::File || file.told.as_ref() != Some(&refused.whole) {
            // In the text: fields would come after its last line.
            let (path, policy, errors) = (file.path.display(), self.in_force().revision, &refused.whole);
            tracing::error!(
                "by={by}: the policy file {path} is refused, {} stays in force\n{errors}",
                policy.id
            );
        }
        file.told = Some(refused.whole.clone());
    }

    /// The files are right, if they were wrong before.
    fn accept(&self, file: &mut PolicyFile, waiting: &[&'static str]) {
        {
            let mut shown = self.shown.lock();
            shown.refused = None;
            shown.waiting = waiting.to_vec();
        }
        if file.told.take().is_some() {
            tracing::warn!(file = %file.path.display(), "the policy file is right again");
        }
        if file.waiting != waiting {
            if !waiting.is_empty() {
                let settings = waiting.join(", ");
                tracing::warn!(file = %file.path.display(), %settings, "settings wait for a restart");
            }
            file.waiting = waiting.to_vec();
        }
    }

    fn swap(&self, next: &Arc<Revision>, by: &By, rollback: bool) {
        // A request goes where it is sent when its turn has come, which may be later than when it was decided.
        if let Some(forward) = next.forward.as_ref().filter(|next| !same(&self.forwarding.settings(), next)) {
            self.forwarding.swap(forward.clone());
        }
        // Where the health endpoint answers waits for a restart.
        let answers = next.answers.clone().health_as(&self.handle.answers());
        self.handle.swap(Arc::clone(&next.policy), answers);
        let entry = Entry { revision: Arc::clone(next), since: self.clock.now(), by: by.clone(), rollback };
        let before = {
            let mut shown = self.shown.lock();
            let before = Arc::clone(&shown.history.in_force().revision);
            shown.history.push(entry);
            before
        };
        let changes = summary(&before.policy.changes(&next.policy));
        tracing::warn!(
            %by, rollback, before = %before.id, after = %next.id, %changes,
            "another policy is in force"
        );
    }
}

impl PolicyFile {
    /// Whether the files say something else than when they were last read.
    fn has_changed(&mut self) -> bool {
        let now = self.watched.digest();
        // Without a digest it has to be seen whether they still say what was read.
        let known = self.read == Some(now)
            || (self.read.is_none() && self.good.first.as_ref().is_some_and(Candidate::is_current));
        self.read = Some(now);
        if known {
            self.good.first = None;
        }
        !known
    }

    fn revision(&self, candidate: &Candidate) -> Revision {
        Revision {
            id: candidate.id.clone(),
            source: Some(candidate.config.source.clone()),
            policy: Arc::clone(&candidate.config.policy),
            answers: candidate.answers.clone(),
            forward: Some(self.started.forward(candidate)),
            bytes: candidate.bytes(),
        }
    }
}

/// Whether requests are forwarded alike.
fn same(one: &ForwardSettings, other: &ForwardSettings) -> bool {
    one.upstream == other.upstream
        && one.upstream_protocol == other.upstream_protocol
        && one.timeouts == other.timeouts
        && one.max_body_bytes == other.max_body_bytes
        && one.max_response_head_bytes == other.max_response_head_bytes
}

/// A time for people and programs, to the second, in UTC.
fn shown_time(time: Timestamp) -> String {
    let seconds = i64::try_from(time.as_micros() / 1_000_000).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

//! Watches the file of callers, and puts what it says in force while requests go on.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cupo_config::Config;
use cupo_core::{Clock, Engine, Observer, Store};

/// The file of callers, as it was when it was last looked at.
pub(super) struct Callers {
    config: Config,
    seen: Option<Stamp>,
    /// Whether the file had the same stamp at two looks: written within a tick of the file system's clock, a second change
    /// shows no stamp of its own.
    confirmed: bool,
    /// What was told about the file as it is, if it is wrong.
    told: Option<String>,
}

/// What changes when a file does.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        Some(Self {
            device: file.dev(),
            inode: file.ino(),
            length: file.len(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }
}

impl Callers {
    /// `None` where the policy has no such file.
    pub(super) fn watch(config: Config) -> Option<Self> {
        config.callers.is_some().then(|| Self { config, seen: None, confirmed: false, told: None })
    }

    /// Puts what the file says in force if it has changed, or if somebody `asked`. A file that is wrong changes nothing, and
    /// is told about.
    pub(super) fn look<S: Store, C: Clock, O: Observer>(&mut self, engine: &Engine<S, C, O>, asked: bool) {
        let Some(file) = self.config.callers.clone() else { return };
        let stamp = Stamp::of(&file.path);
        let changed = stamp != self.seen;
        if !changed && self.confirmed && !asked {
            return;
        }
        self.confirmed = !changed;
        self.seen = stamp;
        if self.told.is_none() && file.is_current() {
            return;
        }
        match self.config.reload() {
            Ok(config) => {
                let was_wrong = self.told.take().is_some();
                if was_wrong || config.callers != self.config.callers {
                    engine.swap_policy(config.policy.clone());
                    let callers = config.callers.as_ref().map_or(0, |file| file.callers);
                    tracing::info!(file = %file.path.display(), callers, "the callers are in force");
                    self.config = config;
                }
            }
            Err(errors) => {
                let errors = errors.to_string();
                if asked || self.told.as_ref() != Some(&errors) {
                    let file = file.path.display();
                    tracing::error!(%file, "the file of callers is wrong, and what it said before stays in force\n{errors}");
                }
                self.told = Some(errors);
            }
        }
    }
}

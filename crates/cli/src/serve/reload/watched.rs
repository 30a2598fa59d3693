//! Files that are looked at again and again: whether they have changed, and whether whoever writes them is done.
//!
//! A look compares what the file system says of each file, through symbolic links, so that a file that is written in place, one
//! that is renamed over it and a folder that a link is turned to are all seen, on any file system and however many there are.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cupo_config::{MAX_CALLERS_BYTES, read_file};
use sha2::{Digest as _, Sha256};

/// What the files say, in short.
pub(super) type Digest = [u8; 32];

/// A file that does not come to rest is read after so many looks all the same.
const RESTLESS: u32 = 8;

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
    /// `None` where there is no file.
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

/// What a look has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing new.
    Same,
    /// A change just now: whoever writes may not be done.
    Moving,
    /// What may be new, and has come to rest.
    Rested,
}

/// Files, as they were when they were last looked at.
#[derive(Debug)]
pub(super) struct Watched {
    files: Vec<PathBuf>,
    seen: Vec<Option<Stamp>>,
    /// Looks in a row that found a change.
    moving: u32,
    /// Whether a later look found the same as the one after which they were read: written within a tick of the file system's
    /// clock, a second change shows no stamp of its own.
    confirmed: bool,
}

impl Watched {
    pub(super) fn new(files: Vec<PathBuf>) -> Self {
        let seen = stamps(&files);
        Self { files, seen, moving: 0, confirmed: false }
    }

    /// Watches these from now on; whether they are others than before.
    pub(super) fn follow(&mut self, files: Vec<PathBuf>) -> bool {
        if files == self.files {
            return false;
        }
        *self = Self::new(files);
        true
    }

    pub(super) fn look(&mut self) -> Look {
        let now = stamps(&self.files);
        if now != self.seen {
            self.seen = now;
            self.confirmed = false;
            self.moving = self.moving.saturating_add(1);
            if self.moving < RESTLESS {
                return Look::Moving;
            }
        } else if self.moving == 0 {
            // Once more, some time after the last change.
            return if std::mem::replace(&mut self.confirmed, true) { Look::Same } else { Look::Rested };
        }
        self.moving = 0;
        Look::Rested
    }

    /// As a look that has found them at rest, for who does not want to wait.
    pub(super) fn look_at_once(&mut self) {
        self.seen = stamps(&self.files);
        self.moving = 0;
        self.confirmed = false;
    }

    /// What they say, or why they say nothing. Blocks on file I/O.
    pub(super) fn digest(&self) -> Digest {
        let mut digest = Sha256::new();
        for path in &self.files {
            match read_file(path, MAX_CALLERS_BYTES) {
                Ok(bytes) => {
                    digest.update([1]);
                    digest.update(Sha256::digest(bytes));
                }
                Err(error) => {
                    digest.update([0]);
                    digest.update(Sha256::digest(error.to_string()));
                }
            }
        }
        digest.finalize().into()
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    files.iter().map(|path| Stamp::of(path)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::{Look, RESTLESS, Watched};

    /// Looks until there is nothing new, and tells whether there was.
    fn settled(watched: &mut Watched) -> bool {
        let looks: Vec<Look> =
            (0..4).map(|_| watched.look()).take_while(|look| *look != Look::Same).collect();
        assert!(looks.len() < 4, "{looks:?}");
        let moved = looks.first() == Some(&Look::Moving);
        assert!(!moved || looks[1..] == [Look::Rested, Look::Rested], "{looks:?}");
        moved
    }

    fn watched(folder: &Path) -> Watched {
        let mut watched = Watched::new(vec![folder.join("a"), folder.join("b")]);
        assert_eq!(watched.look(), Look::Rested, "what came between reading and looking");
        assert_eq!(watched.look(), Look::Same);
        watched
    }

    #[test]
    fn every_way_to_change_a_file_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let (path, b) = (folder.path(), folder.path().join("b"));
        fs::write(path.join("a"), "1").unwrap();
        let mut watched = watched(path);
        assert!(!settled(&mut watched));
        // It appears, is written in place at the same length, renamed over, touched, made unreadable and deleted.
        fs::write(&b, "1").unwrap();
        assert!(settled(&mut watched));
        let (digest, times) = (watched.digest(), fs::metadata(&b).unwrap().modified().unwrap());
        fs::write(&b, "2").unwrap();
        fs::File::options().write(true).open(&b).unwrap().set_modified(times).unwrap();
        assert!(settled(&mut watched), "the time of the change cannot be set back");
        assert_ne!(watched.digest(), digest);
        fs::write(path.join("new"), "2").unwrap();
        let digest = watched.digest();
        fs::rename(path.join("new"), &b).unwrap();
        assert!(settled(&mut watched));
        assert_eq!(watched.digest(), digest, "and it says the same");
        fs::remove_file(&b).unwrap();
        assert!(settled(&mut watched));
        assert_ne!(watched.digest(), digest);
        fs::create_dir(&b).unwrap();
        assert!(settled(&mut watched));
    }

    /// As Kubernetes mounts a ConfigMap: the file is a link through `..data`, which is turned to another folder.
    #[test]
    fn a_link_that_is_turned_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        for version in ["1", "2", "3"] {
            fs::create_dir(path.join(version)).unwrap();
            fs::write(path.join(version).join("a"), version).unwrap();
        }
        let turn = |version: &str| {
            symlink(version, path.join("..tmp")).unwrap();
            fs::rename(path.join("..tmp"), path.join("..data")).unwrap();
        };
        turn("1");
        symlink("..data/a", path.join("a")).unwrap();
        let mut watched = watched(path);
        for version in ["2", "3", "1"] {
            let before = watched.digest();
            turn(version);
            assert!(settled(&mut watched), "to {version}");
            assert_ne!(watched.digest(), before);
        }
    }

    #[test]
    fn a_file_that_is_being_written_is_waited_for_but_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let a = folder.path().join("a");
        fs::write(&a, "").unwrap();
        let mut watched = watched(folder.path());
        for turn in 1..=2 * RESTLESS {
            fs::write(&a, "x".repeat(turn as usize)).unwrap();
            let expected = if turn % RESTLESS == 0 { Look::Rested } else { Look::Moving };
            assert_eq!(watched.look(), expected, "{turn}");
        }
        assert_eq!([watched.look(), watched.look()], [Look::Rested, Look::Same]);
        fs::write(&a, "").unwrap();
        watched.look_at_once();
        assert_eq!([watched.look(), watched.look()], [Look::Rested, Look::Same]);
    }

    #[test]
    fn other_files_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let mut watched = watched(folder.path());
        let files = vec![folder.path().join("a"), folder.path().join("c")];
        assert!(watched.follow(files.clone()) && !watched.follow(files));
        assert!(!settled(&mut watched));
        fs::write(folder.path().join("c"), "1").unwrap();
        assert!(settled(&mut watched));
    }
}

//! Where the servers' binaries are.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The `redis-server` on the search path.
///
/// # Panics
/// Where there is none: tests that need a real server cannot be passed over.
#[must_use]
pub fn redis_server() -> PathBuf {
    on_path("redis-server").expect("redis-server is not installed; on Debian: apt-get install redis-server")
}

/// A Valkey server: `CUPO_VALKEY_SERVER`, the one that `scripts/fetch-valkey.sh` put under the build directory, or
/// `valkey-server` on the search path. `None` where there is none, which is said on stderr; tests with Valkey are then passed over.
///
/// # Panics
/// Where there is none and `CUPO_REQUIRE_VALKEY` is set.
#[must_use]
pub fn valkey_server() -> Option<PathBuf> {
    let named = std::env::var_os("CUPO_VALKEY_SERVER").map(PathBuf::from);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fetched = Some(workspace.join("target/valkey/valkey-server"));
    let found = [named, fetched].into_iter().flatten().find(|path| path.is_file());
    let found = found.or_else(|| on_path("valkey-server"));
    if found.is_none() {
        let required = std::env::var_os("CUPO_REQUIRE_VALKEY").is_some();
        assert!(
            !required,
            "no Valkey server, which CUPO_REQUIRE_VALKEY asks for: run scripts/fetch-valkey.sh"
        );
        // Not by a macro, whose output is hidden where the test passes.
        drop(writeln!(
            std::io::stderr(),
            "NOT TESTED with Valkey: there is no server; run scripts/fetch-valkey.sh"
        ));
    }
    found
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

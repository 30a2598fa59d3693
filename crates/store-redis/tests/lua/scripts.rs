//! The Lua files, and the scripts that they make up. `CUPO_LUA_DIR` names another folder than `lua/`, for mutants.

use std::path::{Path, PathBuf};

/// The files that decide: no I/O, no keys, no clock.
pub(crate) const PURE: [&str; 7] = [
    "number",
    "fixed_window",
    "ending_window",
    "sliding_window_log",
    "sliding_window_counter",
    "token_bucket",
    "leaky_bucket",
];

/// The text of a file.
pub(crate) fn file(name: &str) -> String {
    let shipped = || Path::new(env!("CARGO_MANIFEST_DIR")).join("lua");
    let folder = std::env::var_os("CUPO_LUA_DIR").map_or_else(shipped, PathBuf::from);
    let path = folder.join(format!("{name}.lua"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files in order. All but these are joined as functions of their name, which are called where they are needed.
fn joined(names: &[&str]) -> String {
    let join = |name: &&str| match *name {
        "number" | "state" | "shell" | "grant" | "settle" => file(name),
        clock if clock.starts_with("clock") => file(clock),
        name => format!("local function {name}()\n{}\nend", file(name)),
    };
    names.iter().map(join).collect::<Vec<_>>().join("\n")
}

/// The files that decide.
pub(crate) fn pure() -> String {
    joined(&PURE)
}

/// The script that carries, of which `shell` is a function.
pub(crate) fn carrying(clock: &str) -> String {
    let shell = format!("local function shell()\n{}\nend", file("shell"));
    [joined(&[&PURE[..], &[clock, "state", "log"]].concat()), shell, file("carry")].join("\n")
}

/// The script that runs in a server, with `clock` and `shell` for those two files.
pub(crate) fn deployed(clock: &str, shell: &str) -> String {
    joined(&[&PURE[..], &[clock, "state", "log", shell]].concat())
}

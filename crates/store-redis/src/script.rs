//! The scripts that run in the server: the `.lua` files, joined.

use crate::settings::StoreClock;

macro_rules! file {
    ($file:literal) => {
        concat!(include_str!(concat!("../lua/", $file)), "\n")
    };
    // Files that return functions, which are made only where a check needs them.
    ($file:literal as $function:literal) => {
        concat!("local function ", $function, "()\n", include_str!(concat!("../lua/", $file)), "\nend\n")
    };
}

macro_rules! script {
    ($clock:literal, $($shell:expr),+) => {
        concat!(
            file!("number.lua"),
            file!("fixed_window.lua" as "fixed_window"),
            file!("ending_window.lua" as "ending_window"),
            file!("sliding_window_log.lua" as "sliding_window_log"),
            file!("sliding_window_counter.lua" as "sliding_window_counter"),
            file!("token_bucket.lua" as "token_bucket"),
            file!("leaky_bucket.lua" as "leaky_bucket"),
            file!($clock),
            file!("state.lua"),
            file!("log.lua" as "log"),
            $($shell),+
        )
    };
}

/// A script and the hash that the server knows it by.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: &'static str,
    pub(crate) hash: String,
}

impl Script {
    fn new(text: &'static str) -> Self {
        Self { text, hash: redis::Script::new(text).get_hash().to_owned() }
    }
}

/// The scripts of a store.
#[derive(Debug)]
pub(crate) struct Scripts {
    pub(crate) check: Script,
    pub(crate) settle: Script,
    pub(crate) preview: Script,
    pub(crate) carry: Script,
    pub(crate) grant: Script,
    pub(crate) blocks: Script,
}

impl Scripts {
    pub(crate) fn new(clock: StoreClock) -> Self {
        match clock {
            StoreClock::Server => Self {
                check: Script::new(script!("clock.lua", file!("shell.lua"))),
                settle: Script::new(script!("clock.lua", file!("settle.lua"))),
                grant: Script::new(script!("clock.lua", file!("grant.lua"))),
                blocks: Script::new(concat!(file!("number.lua"), file!("clock.lua"), file!("blocks.lua"))),
                preview: Script::new(script!("clock.lua", file!("preview.lua"), file!("shell.lua"))),
                carry: Script::new(script!("clock.lua", file!("shell.lua" as "shell"), file!("carry.lua"))),
            },
            StoreClock::Caller => Self {
                check: Script::new(script!("clock_virtual.lua", file!("shell.lua"))),
                settle: Script::new(script!("clock_virtual.lua", file!("settle.lua"))),
                grant: Script::new(script!("clock_virtual.lua", file!("grant.lua"))),
                blocks: Script::new(concat!(
                    file!("number.lua"),
                    file!("clock_virtual.lua"),
                    file!("blocks.lua")
                )),
                preview: Script::new(script!("clock_virtual.lua", file!("preview.lua"), file!("shell.lua"))),
                carry: Script::new(script!(
                    "clock_virtual.lua",
                    file!("shell.lua" as "shell"),
                    file!("carry.lua")
                )),
            },
        }
    }
}

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cupo_fuzz::policy(data));

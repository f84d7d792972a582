//! Any text as a lock file.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::lock_file::check(input));

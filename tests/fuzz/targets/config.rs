//! Any text as a configuration file, read and edited.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::config::check(input));

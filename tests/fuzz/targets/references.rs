//! Any text with references as a value of the configuration.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::references::check(input));

//! Any entry and any smart patch of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::patch::check(input));

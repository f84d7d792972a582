//! Any bytes as a session id, as what is sealed in one, or as edits of one.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::sealed_ids::check(input));

//! Any bytes as a JSON-RPC frame.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::frames::check(input));

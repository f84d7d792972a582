//! Any bytes as the definition of a tool, and as instructions.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::scanner::check(input));

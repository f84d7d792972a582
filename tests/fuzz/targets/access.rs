//! Headers that say who asks, and rules that say what they may have.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::access::check(input));

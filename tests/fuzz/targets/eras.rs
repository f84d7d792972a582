//! The params of a request, a result, or an input schema.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::eras::check(input));

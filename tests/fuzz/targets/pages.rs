//! The size of a page, and any text.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::pages::check(input));

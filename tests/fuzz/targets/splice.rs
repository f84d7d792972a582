//! A script of edits on its first line, a JSON object after it.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::splice::check(input));

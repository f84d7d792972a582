//! Any challenge of a server and any address that a browser was sent back with.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::authorization::check(input));

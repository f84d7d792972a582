//! Any bytes as a stream of Server-Sent Events.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::sse::check(input));

//! Any text or JSON that a stranger wrote, on its way into a record.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::redaction::check(input));

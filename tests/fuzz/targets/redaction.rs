//! Any text or JSON that a stranger wrote, on its way into a record.
#![no_main]

use properties::{redaction::check_in, ways::Ways};

libfuzzer_sys::fuzz_target!(|input: &[u8]| check_in(Ways::chosen_by(input), input));

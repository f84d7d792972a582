//! Any entry and any smart patch of it.
#![no_main]

use properties::{patch::check_in, ways::Ways};

libfuzzer_sys::fuzz_target!(|input: &[u8]| check_in(Ways::chosen_by(input), input));

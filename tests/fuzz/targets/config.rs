//! Any text as a configuration file, read and edited.
#![no_main]

use properties::{config::check_in, ways::Ways};

libfuzzer_sys::fuzz_target!(|input: &[u8]| check_in(Ways::chosen_by(input), input));

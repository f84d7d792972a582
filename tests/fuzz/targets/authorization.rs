//! Any challenge of a server and any address that a browser was sent back with.
#![no_main]

use properties::{authorization::check_in, ways::Ways};

libfuzzer_sys::fuzz_target!(|input: &[u8]| check_in(Ways::chosen_by(input), input));

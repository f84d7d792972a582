//! Any bytes as a JSON-RPC frame.
#![no_main]

use properties::{frames::check_in, ways::Ways};

libfuzzer_sys::fuzz_target!(|input: &[u8]| check_in(Ways::chosen_by(input), input));

//! Any bytes as the definition of a tool, of a prompt or of a resource, and as instructions.
#![no_main]

use properties::{scanner::check_in, ways::Ways};

libfuzzer_sys::fuzz_target!(|input: &[u8]| check_in(Ways::chosen_by(input), input));

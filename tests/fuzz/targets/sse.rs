//! Any bytes as a stream of Server-Sent Events.
#![no_main]

use properties::{sse::check_in, ways::Ways};

libfuzzer_sys::fuzz_target!(|input: &[u8]| check_in(Ways::chosen_by(input), input));

//! Any bytes as the definition of a tool, and as instructions. A scan is slow: each input is read in one way, which it chooses itself, and
//! seldom twice.
#![no_main]

use properties::scanner::{READINGS, check_one};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let sum: usize = input.iter().map(|byte| usize::from(*byte)).sum();
    let read = READINGS[sum % READINGS.len()];
    let found = check_one(read, input);
    if sum.is_multiple_of(8) {
        assert_eq!(read(input), found);
    }
});

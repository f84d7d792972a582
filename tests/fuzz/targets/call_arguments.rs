//! Any arguments of a call through `call_tool_*`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::call_arguments::check(input));

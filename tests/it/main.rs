//! The integration tests: a file per feature, in the language of `support`.

#![allow(
    unreachable_pub,
    reason = "one binary, nothing is reached from outside"
)]

mod house;
mod support;
mod test_language;

//! Tests of the configuration as a whole, by what it promises.

mod edit;
mod keeper;
mod parse;
mod write;

//! What holds for every input, whoever wrote it: each `check` takes any bytes and panics where a property is broken.
//!
//! The fuzz targets look for such inputs, those that would be slow in one way at a time (`ways`); `tests/it/fuzz_corpus.rs` replays the ones that are kept in `corpus`.

pub mod access;
pub mod authorization;
pub mod call_arguments;
pub mod config;
pub mod eras;
pub mod frames;
mod json;
mod jsonc;
pub mod lock_file;
pub mod pages;
pub mod patch;
pub mod redaction;
pub mod references;
pub mod scanner;
pub mod sealed_ids;
pub mod splice;
pub mod sse;
pub mod ways;

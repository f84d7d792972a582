//! The part of clients' sessions that outlives the daemon: sealed session ids, and records on disk.

pub mod sealing;
pub mod session_records;

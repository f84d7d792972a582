//! What outlives a daemon of its clients' sessions: sealed ids, and records on disk.

pub mod sealing;
pub mod session_records;

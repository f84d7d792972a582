//! Failures as every face shows them: their codes with statuses, and their form as JSON.

pub mod error_code;
pub mod plain_words;
pub mod shown_failure;
pub mod step;

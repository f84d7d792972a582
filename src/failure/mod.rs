//! Failures as every face shows them: their codes with statuses, and their form as JSON.

mod error_code;
mod plain_words;
mod shown_failure;
mod step;

pub use self::{
    error_code::{ErrorCode, Failure, Result, as_step},
    plain_words::{for_model, in_plain_words, script_mistake},
    shown_failure::{RestFailure, shown_failure},
    step::NextStep,
};

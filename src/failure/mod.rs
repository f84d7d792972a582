//! Failures of mcpproxy itself: the codes with their statuses, the texts and next steps, and their form as JSON.

mod error_code;
mod hint_text;
mod own_failure;
mod plain_words;
mod step;

pub use self::{
    error_code::ErrorCode,
    hint_text::{HintText, NOTHING_RAN},
    own_failure::{Failure, MAY_HAVE_RUN, RestFailure, Result, as_step, shown_failure},
    plain_words::{for_model, in_plain_words, script_mistake},
    step::NextStep,
};

//! What a client declares that it can answer (revision 2025-11-25, lifecycle, "Capability Negotiation").

use super::{Raw, method};

/// What servers ask, in requests and in results (revision 2026-07-28, basic/patterns/mrtr).
pub(super) const QUESTIONS: [&str; 3] = [method::SAMPLING, method::ELICITATION, method::ROOTS_LIST];

/// The capability that a question of this method takes of a client.
pub fn capability_for(method: &str) -> Option<&'static str> {
    match method {
        method::SAMPLING => Some("sampling"),
        method::ELICITATION => Some("elicitation"),
        method::ROOTS_LIST => Some("roots"),
        // Of the task that a client made of a question (revision 2025-11-25).
        method::TASKS_GET | method::TASKS_RESULT | method::TASKS_CANCEL | method::TASKS_LIST => {
            Some("tasks")
        }
        _ => None,
    }
}

/// Whether a client with these capabilities can answer anything at all that servers ask.
pub fn answers_questions(capabilities: &Raw) -> bool {
    let can_answer = |method: &&str| can_answer(capabilities, method, None);
    QUESTIONS.iter().any(can_answer)
}

/// Whether these capabilities have what a question takes.
pub fn can_answer(capabilities: &Raw, method: &str, params: Option<&Raw>) -> bool {
    let is_there = |value: &Raw| !value.is_null() && value.as_bytes() != b"false";
    // What is no question of a server's no client can have declared.
    let declared = capability_for(method).and_then(|capability| capabilities.get(capability));
    let Some(declared) = declared.filter(is_there) else {
        return false;
    };
    let mode = params.and_then(|params| params.get("mode")?.string());
    // Forms are what elicitation began with; pages have to be declared.
    mode.as_deref() != Some("url") || declared.get("url").is_some_and(|url| is_there(&url))
}

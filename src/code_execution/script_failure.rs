//! Why a script ended without a value: one closed list of codes, each with what to do next.

use serde::{Deserialize, Serialize};

use super::limits;
use crate::text::cut::shortened;

/// What kind of end it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ScriptCode {
    /// It is no JavaScript.
    SyntaxError,
    /// It threw something that it did not catch.
    RuntimeError,
    /// It took too long, or computed too long.
    Timeout,
    /// It held too much.
    OutOfMemory,
    /// Its functions called each other too deep.
    StackOverflow,
    /// It wanted to make more calls than it may.
    MaxToolCallsExceeded,
    /// It logged too much, or its value is too large.
    OutputLimitExceeded,
    /// Its value cannot be written as JSON.
    SerializationError,
    /// The engine broke down.
    EngineFailed,
}

impl ScriptCode {
    /// Every code.
    #[rustfmt::skip]
    pub const ALL: [Self; 9] = [
        Self::SyntaxError, Self::RuntimeError, Self::Timeout, Self::OutOfMemory, Self::StackOverflow, Self::MaxToolCallsExceeded,
        Self::OutputLimitExceeded, Self::SerializationError, Self::EngineFailed,
    ];

    /// Its spelling and the next step.
    fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::SyntaxError => (
                "SYNTAX_ERROR",
                "Correct the script: use plain JavaScript, without types and modules.",
            ),
            Self::RuntimeError => (
                "RUNTIME_ERROR",
                "Correct the script; it has no network, files, timers or modules.",
            ),
            Self::Timeout => (
                "TIMEOUT",
                "Do less in one script; if it waited for calls, use call_tools or give a larger timeout_ms.",
            ),
            Self::OutOfMemory => ("OUT_OF_MEMORY", "Keep only what you need of each result."),
            Self::StackOverflow => ("STACK_OVERFLOW", "Use a loop instead of recursion."),
            Self::MaxToolCallsExceeded => ("MAX_TOOL_CALLS_EXCEEDED", "Make fewer calls."),
            Self::OutputLimitExceeded => (
                "OUTPUT_LIMIT_EXCEEDED",
                "Log and return only what you need.",
            ),
            Self::SerializationError => (
                "SERIALIZATION_ERROR",
                "Return plain data without deep nesting: objects, arrays, strings, numbers.",
            ),
            Self::EngineFailed => ("ENGINE_FAILED", "Keep less in memory at once."),
        }
    }

    /// The spelling.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    /// What to do next, after a script that made so many calls.
    pub fn hint(self, calls: usize) -> String {
        format!("{} {}", self.row().1, calls_before(calls))
    }
}

/// What became of the calls of a script that failed.
fn calls_before(calls: usize) -> String {
    match calls {
        0 => "No call ran.".to_owned(),
        1 => "Its call may have run.".to_owned(),
        n => format!("Its {n} calls may have run."),
    }
}

/// A place in a script.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePlace {
    /// Where, frame by frame; empty if that is not known.
    pub stack: String,
    /// The line of the script, from 1, and the column in it.
    pub position: Option<(u32, u32)>,
}

/// Why a script ended without a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFailure {
    /// The kind.
    pub code: ScriptCode,
    /// What happened, in a sentence.
    pub message: String,
    /// Where, frame by frame; empty if that is not known.
    pub stack: String,
    /// The line of the script, from 1, and the column in it.
    pub position: Option<(u32, u32)>,
}

impl ScriptFailure {
    /// One without a place.
    pub fn new(code: ScriptCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: shortened(message, limits::SHOWN),
            stack: String::new(),
            position: None,
        }
    }

    /// The same at this place.
    #[must_use]
    pub fn at(self, place: CodePlace) -> Self {
        Self {
            stack: place.stack,
            position: place.position,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_written_as_it_is_spelt() {
        for code in ScriptCode::ALL {
            let written = serde_json::to_value(code).expect("a text");
            assert_eq!(written, code.as_str());
            assert!(!code.hint(0).is_empty());
        }
    }

    #[test]
    fn a_message_is_cut_where_a_character_ends() {
        let failure = ScriptFailure::new(ScriptCode::RuntimeError, "ä".repeat(limits::SHOWN));
        assert_eq!(failure.message.chars().count(), limits::SHOWN / 2 + 1);
    }
}

//! Why a script ended without a value: a closed list of codes, each with a next step.

use serde::{Deserialize, Serialize};

use super::limits;
use crate::text::{cut::shortened, spelt};

spelt! {
    /// Why a script ended without a value.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    pub enum ScriptCode {
        /// It is not valid JavaScript.
        SyntaxError = "SYNTAX_ERROR",
        /// It threw something that it did not catch.
        RuntimeError = "RUNTIME_ERROR",
        /// It took too long, or computed too long.
        Timeout = "TIMEOUT",
        /// Its objects needed too much memory.
        OutOfMemory = "OUT_OF_MEMORY",
        /// Its functions called each other too deeply.
        StackOverflow = "STACK_OVERFLOW",
        /// It made more calls than it may.
        MaxToolCallsExceeded = "MAX_TOOL_CALLS_EXCEEDED",
        /// It logged too much, or its value is too large.
        OutputLimitExceeded = "OUTPUT_LIMIT_EXCEEDED",
        /// Its value cannot be written as JSON.
        SerializationError = "SERIALIZATION_ERROR",
        /// The engine failed.
        EngineFailed = "ENGINE_FAILED",
    }
}

impl ScriptCode {
    /// The next step after so many calls. A limit that is configured cannot be raised by options.
    pub fn step(self, calls: usize, is_configured: bool) -> &'static str {
        match self {
            Self::SyntaxError => {
                "Correct the script: use plain JavaScript, without types and modules."
            }
            Self::RuntimeError => "Correct the script. It can only compute and call tools.",
            Self::Timeout if calls == 0 => "Do less in one script.",
            Self::Timeout if is_configured => {
                "Do less in one script, or make calls together with call_tools."
            }
            Self::Timeout => {
                "Do less in one script, or make calls together with call_tools; a larger timeout_ms gives calls more time."
            }
            Self::OutOfMemory if calls > 0 => "Keep only what you need of each result.",
            Self::StackOverflow => "Use a loop instead of recursion.",
            Self::MaxToolCallsExceeded if is_configured => "Make fewer calls.",
            Self::MaxToolCallsExceeded => "Raise max_tool_calls, or make fewer calls.",
            Self::OutputLimitExceeded => "Log and return only what you need.",
            Self::SerializationError => {
                "Return plain data without deep nesting: objects, arrays, strings, numbers."
            }
            Self::OutOfMemory | Self::EngineFailed => "Keep less in memory at once.",
        }
    }

    /// The next step, and what became of the calls.
    pub fn hint(self, calls: usize, is_configured: bool) -> String {
        let step = self.step(calls, is_configured);
        format!("{step} {}", calls_before(calls))
    }
}

/// What became of the calls of a script that failed.
fn calls_before(calls: usize) -> String {
    match calls {
        0 => "No call ran.".to_owned(),
        1 => "The script's call may have run.".to_owned(),
        n => format!("The script's {n} calls may have run."),
    }
}

/// A place in a script.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePlace {
    /// The stack trace; empty if it is not known.
    pub stack: String,
    /// The line of the script and the column in it, both from 1.
    pub position: Option<(u32, u32)>,
}

/// Why a script ended without a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFailure {
    /// The kind of failure.
    pub code: ScriptCode,
    /// What happened, in a sentence.
    pub message: String,
    /// Where in the script.
    pub place: CodePlace,
}

impl ScriptFailure {
    /// A failure whose place is not known.
    pub fn new(code: ScriptCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: shortened(message, limits::SHOWN),
            place: CodePlace::default(),
        }
    }

    /// The same at this place.
    #[must_use]
    pub fn at(self, place: CodePlace) -> Self {
        Self { place, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_written_as_it_is_spelt() {
        for (code, word) in ScriptCode::ALL {
            let written = serde_json::to_value(code).expect("a text");
            assert_eq!(written, *word);
        }
    }

    #[test]
    fn calls_are_named_where_there_were_some() {
        let none = ScriptCode::Timeout.hint(0, false);
        assert_eq!(none, "Do less in one script. No call ran.");
        let many = ScriptCode::MaxToolCallsExceeded;
        let raise = "Raise max_tool_calls, or make fewer calls. The script's 2 calls may have run.";
        assert_eq!(many.hint(2, false), raise);
        let fewer = "Make fewer calls. The script's call may have run.";
        assert_eq!(many.hint(1, true), fewer);
    }

    #[test]
    fn a_message_is_cut_where_a_character_ends() {
        let failure = ScriptFailure::new(ScriptCode::RuntimeError, "ä".repeat(limits::SHOWN));
        assert_eq!(failure.message.chars().count(), limits::SHOWN / 2 + 1);
    }
}

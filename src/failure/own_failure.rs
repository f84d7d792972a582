//! Failures of mcpproxy itself: their texts, the next step in the words of each reader, and their JSON.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{error_code::ErrorCode, plain_words::for_model, step::NextStep};
use crate::{
    text::{cut::shortened, visible::visible_json},
    wire::Raw,
};

/// The result of what may fail with an own failure.
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// A failure of mcpproxy itself, as MCP results, REST and the command line show it: `{"error", "code", "server"?, "tool"?, "hint"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failure {
    /// What was not done, and why.
    // Never has an upstream's log lines or paths of this machine.
    pub error: String,
    /// The kind of failure.
    #[schemars(schema_with = "codes")]
    pub code: ErrorCode,
    /// The server with the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool with the failure, by the server's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Box<str>>,
    /// The next step.
    pub hint: String,
    /// The next step as data, for people who can run commands.
    #[serde(skip)]
    pub step: Option<Box<NextStep>>,
    /// A known name that was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closest: Option<Box<str>>,
}

/// For a model, after a failure of which [`ErrorCode::may_have_run`] is true.
pub const MAY_HAVE_RUN: &str = "It may have run. Check before you repeat it.";

/// Limit: bytes of a sentence. Names that a client made up stand in it, and would come back whole otherwise.
const LONGEST_SENTENCE: usize = 2048;

/// Limit: bytes of a name that is repeated.
const LONGEST_NAME: usize = 256;

impl Failure {
    /// A failure that concerns no particular server.
    pub fn new(code: ErrorCode, error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            error: shortened(error, LONGEST_SENTENCE),
            code,
            server: None,
            tool: None,
            hint: sentence(shortened(hint, LONGEST_SENTENCE)),
            step: None,
            closest: None,
        }
    }

    /// Begins with `outcome`, which says what was not done, where the text says only why.
    #[must_use]
    pub fn undone(mut self, outcome: &str) -> Self {
        if self.code.says_why_alone() {
            self.error.insert_str(0, &format!("{outcome}: "));
        }
        self
    }

    /// Names the server.
    #[must_use]
    pub fn of_server(mut self, server: impl fmt::Display) -> Self {
        self.server = Some(shortened(server.to_string(), LONGEST_NAME));
        self
    }

    /// With a next step for people who can run commands.
    #[must_use]
    pub fn with_step(mut self, step: NextStep) -> Self {
        self.step = Some(Box::new(step));
        self
    }

    /// With a next step in the words of a terminal; `hint` says the same without a command.
    #[must_use]
    pub fn at_terminal(self, step: impl Into<String>) -> Self {
        self.with_step(NextStep::act(step))
    }

    /// The next step for a terminal.
    pub fn terminal_step(&self) -> String {
        let server = self.server.as_deref().unwrap_or_default();
        let step = self.step.as_ref().map(|step| step.at_terminal(server));
        self.or_meant(step)
    }

    /// With a hint for the REST API.
    #[must_use]
    pub fn over_rest(self) -> Self {
        let server = self.server.as_deref().unwrap_or_default();
        let step = self.step.as_ref().and_then(|step| step.over_rest(server));
        Self {
            hint: sentence(self.or_meant(step)),
            ..self
        }
    }

    /// For a model: with quotes instead of backticks.
    #[must_use]
    pub fn for_model(&self) -> Self {
        Self {
            error: for_model(&self.error),
            hint: for_model(&self.hint),
            ..self.clone()
        }
    }

    /// With the hint in place of a step that is in the words of a terminal.
    #[must_use]
    pub fn without_commands(mut self) -> Self {
        if let Some(NextStep::Act { how, .. }) = self.step.as_deref_mut() {
            *how = self.hint.as_str().into();
        }
        self
    }

    /// This step, after the name that was probably meant; the hint where there is no step.
    fn or_meant(&self, step: Option<String>) -> String {
        match (step, &self.closest) {
            (Some(step), Some(meant)) => format!("Did you mean {meant}? {step}"),
            (Some(step), None) => step,
            (None, _) => self.hint.clone(),
        }
    }

    /// Names what was probably meant.
    #[must_use]
    pub fn with_closest(mut self, name: Option<&str>) -> Self {
        self.closest = name.map(Box::from);
        self
    }

    /// Names the tool.
    #[must_use]
    pub fn of_tool(mut self, tool: impl Into<String>) -> Self {
        self.tool = Some(shortened(tool, LONGEST_NAME).into());
        self
    }
}

/// A step in the form that follows "next step: " and stands beside a server: it begins with a small letter, and a single sentence ends
/// without a full stop. As the hint of a failure it is a sentence: see [`Failure::new`].
pub fn as_step(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().unwrap_or_default();
    let is_word = letters.clone().next().is_some_and(char::is_lowercase);
    let begun = if is_word && first.is_uppercase() {
        first.to_lowercase().chain(letters).collect()
    } else {
        text.to_owned()
    };
    match begun.strip_suffix('.') {
        Some(sentence) if !sentence.contains(". ") => sentence.to_owned(),
        _ => begun,
    }
}

/// A hint as a sentence, with a capital letter and a full stop, unless it begins with a command, a name or a sign.
fn sentence(text: String) -> String {
    let word = text.split([' ', ',', ':', ';']).next().unwrap_or_default();
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
    let mut text = match text.split_at_checked(1) {
        Some((first, rest)) if is_word && word != "mcpproxy" => first.to_ascii_uppercase() + rest,
        _ => text,
    };
    if text.starts_with(char::is_alphabetic) && !text.ends_with(['.', '?', '…']) {
        text.push('.');
    }
    text
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)
    }
}

impl std::error::Error for Failure {}

fn codes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ErrorCode::ALL })
}

/// The JSON of a failure. Invisible and control characters, which may stand in names that strangers chose, are escaped.
pub fn shown_failure(failure: &impl Serialize) -> Raw {
    let plain = Raw::author(failure);
    let shown = RawValue::from_string(visible_json(plain.as_str()));
    shown.map_or(plain, |shown| Raw::author(&shown))
}

/// A failure and the next step.
// Its hint names requests; its step is for clients that word it themselves, such as the web UI.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Failure")]
pub struct RestFailure {
    #[serde(flatten)]
    failure: Failure,
    /// The next step as data.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<Box<NextStep>>,
}

impl RestFailure {
    /// This failure in the words of REST.
    pub fn of(failure: Failure) -> Self {
        Self {
            step: failure.step.clone(),
            failure: failure.over_rest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_megabytes_does_not_come_back() {
        let name = "ä".repeat(1_000_000);
        let failure = Failure::new(ErrorCode::UnknownServer, &name, &name)
            .of_server(&name)
            .of_tool(&name);
        let text = serde_json::to_string(&failure).expect("it can be written");
        assert!(text.len() < 6_000 && text.contains("ää…"), "{}", text.len());
    }

    #[test]
    fn letters_that_nobody_sees_are_escaped() {
        let failure = Failure::new(ErrorCode::UnknownTool, "no", "look")
            .of_server("s\u{200b}")
            .of_tool("a\u{202e}b\u{200b}ä");
        let expected = r#"{"error":"no","code":"unknown_tool","server":"s\u200b","tool":"a\u202eb\u200bä","hint":"Look."}"#;
        assert_eq!(shown_failure(&failure).as_str(), expected);
    }
}

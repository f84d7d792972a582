//! Failures of mcpproxy itself: their texts, the next step in the words of each reader, and their JSON.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    error_code::ErrorCode,
    hint_text::{HintText, LONGEST_SENTENCE},
    plain_words::for_model,
    step::NextStep,
};
use crate::{
    text::{cut::shortened, names::did_you_mean, visible::visible_json},
    wire::{Raw, RpcError},
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
    pub server: Option<Box<str>>,
    /// The tool with the failure, by the server's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Box<str>>,
    /// The next step.
    #[schemars(with = "String")]
    pub hint: HintText,
    /// The next step as data, for people who can run commands.
    #[serde(skip)]
    pub step: Option<Box<NextStep>>,
    /// What only operators read after the error: it may quote a server.
    #[serde(skip)]
    pub aside: Option<Box<Cow<'static, str>>>,
    /// A known name that was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closest: Option<Box<str>>,
}

/// For a model, after a failure of which [`ErrorCode::may_have_run`] is true.
pub const MAY_HAVE_RUN: &str = "It may have run. Check before you repeat it.";

/// Limit: bytes of a name that is repeated.
const LONGEST_NAME: usize = 256;

impl Failure {
    /// A failure that concerns no particular server, with a hint for every reader.
    pub fn new(code: ErrorCode, error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            error: shortened(error, LONGEST_SENTENCE),
            code,
            server: None,
            tool: None,
            hint: HintText::new(hint),
            step: None,
            aside: None,
            closest: None,
        }
    }

    /// The same of a request of which nothing ran.
    pub fn not_run(code: ErrorCode, error: impl Into<String>, hint: impl Into<String>) -> Self {
        let mut failure = Self::new(code, error, hint);
        failure.hint.nothing_ran = !code.may_have_run();
        failure
    }

    /// The failure of a request whose hint is for agents. People get the step.
    pub fn for_agents(
        code: ErrorCode,
        error: impl Into<String>,
        hint: impl Into<String>,
        step: NextStep,
    ) -> Self {
        let mut failure = Self::not_run(code, error, hint);
        failure.hint.is_for_models = true;
        failure.with_step(step)
    }

    /// The same with a hint that names the outcome itself, and without a step: most of what fails so only agents ask for.
    pub fn agents_only(code: ErrorCode, error: impl Into<String>, hint: &str) -> Self {
        let mut failure = Self::new(code, error, hint);
        failure.hint.is_for_models = true;
        failure
    }

    /// The failure of what a mistake in the configuration file prevents.
    pub fn of_config(error: impl Into<String>) -> Self {
        let hint = "Correct the configuration file.";
        Self::new(ErrorCode::ConfigUnusable, error, hint).with_step(NextStep::CheckConfig)
    }

    /// Begins with `outcome`, which says what was not done, where the text says only why.
    #[must_use]
    pub fn undone(self, outcome: &str) -> Self {
        if self.code.says_why_alone() {
            return self.with_outcome(outcome);
        }
        self
    }

    /// Begins with `outcome`.
    #[must_use]
    pub fn with_outcome(mut self, outcome: &str) -> Self {
        self.error.insert_str(0, &format!("{outcome}: "));
        self
    }

    /// Names the server.
    #[must_use]
    pub fn of_server(mut self, server: impl fmt::Display) -> Self {
        self.server = Some(shortened(server.to_string(), LONGEST_NAME).into());
        self
    }

    /// With a next step for people who can run commands.
    #[must_use]
    pub fn with_step(mut self, step: NextStep) -> Self {
        let is_alone = self.hint.is_for_models;
        self.step = Some(Box::new(if is_alone { step.for_all() } else { step }));
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
            hint: HintText::new(self.or_meant(step)),
            ..self
        }
    }

    /// For a model: with the outcome before the hint, and quotes instead of backticks.
    #[must_use]
    pub fn for_model(&self) -> Self {
        Self {
            error: for_model(&self.error),
            hint: HintText::new(self.hint.for_model()),
            ..self.clone()
        }
    }

    /// The JSON-RPC error for a model, with the failure as data.
    pub fn as_rpc_error(&self) -> RpcError {
        let failure = self.for_model();
        let data = shown_failure(&failure);
        RpcError::new(RpcError::INTERNAL, failure.error).with_data(data)
    }

    /// With the step in the words of a terminal as its hint.
    #[must_use]
    pub fn with_commands(self) -> Self {
        let hint = HintText::new(self.terminal_step());
        Self { hint, ..self }
    }

    /// This step, after the name that was probably meant; the hint where there is no step.
    fn or_meant(&self, step: Option<String>) -> String {
        match (step, &self.closest) {
            (Some(step), Some(meant)) => format!("{} {step}", did_you_mean(&[meant])),
            (Some(step), None) => step,
            (None, _) => self.hint.for_people().to_owned(),
        }
    }

    /// With words for operators after the error, if there are any.
    #[must_use]
    pub fn with_aside(mut self, words: String) -> Self {
        self.aside = (!words.is_empty()).then(|| Box::new(words.into()));
        self
    }

    /// The error as operators read it.
    pub fn whole(&self) -> String {
        let aside = self.aside.as_ref().map(|aside| format!(": {aside}"));
        format!("{}{}", self.error, aside.unwrap_or_default())
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
    fn words_for_agents_are_for_nobody_else() {
        let step = NextStep::act("open it");
        let failure = Failure::for_agents(ErrorCode::ToolHeld, "no", "tell the user", step);
        let twice = failure.for_model().for_model();
        assert_eq!(twice.hint.for_people(), "Nothing ran. Tell the user.");
        assert_eq!(failure.hint.advice(), "Tell the user.");
        assert_eq!(failure.hint.for_people(), "");
        assert_eq!(failure.terminal_step(), "open it");
        assert_eq!(failure.over_rest().hint.for_people(), "Open it.");
        let (step, hint) = (NextStep::Wait, "It may have run.");
        let failure = Failure::for_agents(ErrorCode::TimedOut, "no", hint, step);
        assert_eq!(failure.hint.for_model(), hint);
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

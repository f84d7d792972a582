//! The answer of `code_execution`: `{"ok", "value" | "error", "logs"?, "tool_calls", "failed_calls"?}`.

use std::num::NonZero;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    code_execution::ScriptEnd,
    router::built_in::structured,
    wire::{Edit, Raw, splice, tool_result},
};

/// A script that has ended.
pub(super) struct EndedScript {
    pub(super) end: ScriptEnd,
    /// Whether a limit of the configuration ended it.
    pub(super) is_configured: bool,
    pub(super) logs: Vec<String>,
    pub(super) tool_calls: usize,
    pub(super) failed_calls: usize,
}

#[derive(Serialize)]
struct ScriptAnswer<'a> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ShownFailure<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    logs: &'a [String],
    tool_calls: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_calls: Option<NonZero<usize>>,
}

#[derive(Serialize)]
struct ShownFailure<'a> {
    code: &'static str,
    message: &'a str,
    stack: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    hint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    limited_by: Option<&'static str>,
}

impl EndedScript {
    /// The result of the tool, an error where the script failed.
    pub(super) fn result(&self) -> Raw {
        let (value, error) = match &self.end {
            ScriptEnd::Value(value) => (Some(&**value), None),
            ScriptEnd::Failed(failure) => {
                let shown = ShownFailure {
                    code: failure.code.as_str(),
                    message: &failure.message,
                    stack: &failure.place.stack,
                    line: failure.place.position.map(|(line, _)| line),
                    column: failure.place.position.map(|(_, column)| column),
                    hint: failure.code.hint(self.tool_calls, self.is_configured),
                    limited_by: self.is_configured.then_some("configuration"),
                };
                (None, Some(shown))
            }
        };
        let ok = error.is_none();
        let result = structured(&Raw::author(&ScriptAnswer {
            ok,
            value,
            error,
            logs: &self.logs,
            tool_calls: self.tool_calls,
            failed_calls: NonZero::new(self.failed_calls),
        }));
        if ok {
            return result;
        }
        let edits = [(tool_result::IS_ERROR, Edit::Set(Raw::author(&true)))];
        splice(&result, &edits).unwrap_or(result)
    }
}

//! What a client gets of a script: `{"ok", "value" | "error", "logs"?, "tool_calls", "failed_calls"?}`.

use std::num::NonZero;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    code_execution::{ScriptEnd, ScriptFailure},
    router::{Reply, built_in::structured},
    wire::{Edit, Raw, splice, tool_result},
};

/// A script that has ended.
pub(super) struct EndedScript {
    pub(super) end: ScriptEnd,
    pub(super) logs: Vec<String>,
    pub(super) tool_calls: usize,
    pub(super) failed_calls: usize,
}

#[derive(Serialize)]
pub(super) struct ScriptAnswer<'a> {
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
}

impl<'a> ShownFailure<'a> {
    fn after(failure: &'a ScriptFailure, calls: usize) -> Self {
        Self {
            code: failure.code.as_str(),
            message: &failure.message,
            stack: &failure.place.stack,
            line: failure.place.position.map(|(line, _)| line),
            column: failure.place.position.map(|(_, column)| column),
            hint: failure.code.hint(calls),
        }
    }
}

impl<'a> ScriptAnswer<'a> {
    pub(super) fn of(ended: &'a EndedScript) -> Self {
        let (value, error) = match &ended.end {
            ScriptEnd::Value(value) => (Some(&**value), None),
            ScriptEnd::Failed(failure) => {
                (None, Some(ShownFailure::after(failure, ended.tool_calls)))
            }
        };
        Self {
            ok: error.is_none(),
            value,
            error,
            logs: &ended.logs,
            tool_calls: ended.tool_calls,
            failed_calls: NonZero::new(ended.failed_calls),
        }
    }

    /// As the result of a tool, an error where the script failed.
    pub(super) fn reply(&self) -> Reply {
        let reply = structured(&Raw::author(self));
        match reply {
            Reply::Own(result) if !self.ok => {
                let edits = [(tool_result::IS_ERROR, Edit::Set(Raw::author(&true)))];
                let marked = splice(&result, &edits);
                Reply::Own(marked.unwrap_or(result))
            }
            reply => reply,
        }
    }
}

//! The outcome of a call, in one word. Pure.

use super::seen_call::CallEnd;
use crate::{
    failure::ErrorCode,
    wire::{Raw, result_type, tool_result},
};

impl CallEnd {
    /// `ok`, `tool_error`, `rpc_error`, `asked`, `refused`, `failed`, `invalid` or `withdrawn`.
    pub(super) fn outcome(&self) -> &'static str {
        match self {
            Self::Withdrawn => "withdrawn",
            Self::Result { outcome, .. } => outcome,
            Self::RpcError { .. } => "rpc_error",
            Self::Failed(failure) => outcome_of(failure.code),
            Self::Invalid { .. } => "invalid",
        }
    }
}

/// The outcome of a call with this result.
pub(super) fn outcome_of_result(result: &Raw) -> &'static str {
    let [is_error, kind] = result.look_up([tool_result::IS_ERROR, result_type::KEY]);
    let kind = kind.value.and_then(|kind| kind.string());
    if is_error.value.is_some_and(|value| value.is_true()) {
        "tool_error"
    } else if kind.as_deref() == Some(result_type::INPUT_REQUIRED) {
        "asked"
    } else {
        "ok"
    }
}

/// Whether an outcome is a failure, of the caller, the server or mcpproxy.
pub(super) fn is_failure(outcome: &str) -> bool {
    matches!(outcome, "failed" | "tool_error" | "rpc_error" | "invalid")
}

/// The outcome of a call that ended with this code: refused if a rule forbids it, invalid if it names nothing that exists or makes no sense,
/// else failed.
fn outcome_of(code: ErrorCode) -> &'static str {
    /// The exit code of the command line for what a policy refuses.
    const BY_POLICY: u8 = 4;
    match code {
        ErrorCode::InvalidArguments
        | ErrorCode::UnknownServer
        | ErrorCode::UnknownTool
        | ErrorCode::UnknownPrompt
        | ErrorCode::UnknownResource
        | ErrorCode::UnknownProfile
        | ErrorCode::UnknownRecord
        | ErrorCode::UnknownClient
        | ErrorCode::UnknownKey
        | ErrorCode::UnknownSecret
        | ErrorCode::UnknownToken
        | ErrorCode::UnknownPath => "invalid",
        _ if code.exit_code() == BY_POLICY => "refused",
        _ => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_request_is_invalid_and_no_failure() {
        for code in ErrorCode::ALL {
            let name = code.as_str();
            let is_wrong = name.starts_with("unknown_") || name == "invalid_arguments";
            assert_eq!(outcome_of(*code) == "invalid", is_wrong, "{name}");
        }
        assert_eq!(outcome_of(ErrorCode::ToolHeld), "refused");
        assert_eq!(outcome_of(ErrorCode::TimedOut), "failed");
    }
}

//! The answer that a script gets to a call: `{"ok": true, "result"}` or `{"ok": false, "error": {"code", "message", …}}`.

use serde::Serialize;

use super::arguments::InnerCall;
use crate::{
    code_execution::limits,
    failure::{ErrorCode, Failure, HintText},
    router::{Reply, RequestError},
    text::cut::beginning,
    wire::{Outcome, Raw, tool_result},
};

/// The answer to one call.
pub(super) struct CallAnswer {
    pub(super) json: Vec<u8>,
    /// Why the call failed.
    pub(super) failure: Option<String>,
}

#[derive(Serialize)]
struct AnswerBody<'a> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<CallFailure<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Raw>,
}

#[derive(Default, Serialize)]
struct CallFailure<'a> {
    code: &'a str,
    message: &'a str,
    /// The failure's own code, or that of the server's JSON-RPC error.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

/// The hint after a call with wrong arguments.
const NOT_SENT: &str =
    "Write call_tool(server, tool, args), with args as a plain object, not deeply nested.";

impl CallAnswer {
    /// The answer to a call that was made, or that mcpproxy refused.
    pub(super) fn of(call: &InnerCall, called: &Result<Reply, RequestError>) -> Self {
        match called {
            Ok(Reply::Own(result) | Reply::Passed(Outcome::Result(result))) => {
                Self::result(call, result)
            }
            Ok(Reply::Passed(Outcome::Error(error))) => Self::rpc_error(call, error),
            Err(RequestError::Failed(failure)) => Self::failed(failure),
            Err(RequestError::Rpc(error)) => Self::not_sent(&error.message),
        }
    }

    /// The answer to a call with wrong arguments.
    pub(super) fn not_sent(why: &str) -> Self {
        let hint = HintText::new(NOT_SENT).not_run().for_model();
        Self::refusal("INVALID_ARGS", why, &hint)
    }

    pub(super) fn refusal(code: &str, message: &str, hint: &str) -> Self {
        Self::error(CallFailure {
            code,
            message,
            hint: Some(hint),
            ..CallFailure::default()
        })
    }

    /// The answer to a call whose result of so many bytes no longer fits into the batch.
    pub(super) fn too_large(size: usize) -> Self {
        let message = format!(
            "the call ran, but with its result of {size} bytes the batch exceeds {} MiB",
            limits::RESULTS >> 20
        );
        let hint = "Ask for less at a time; check before you repeat it.";
        Self::refusal("RESULT_TOO_LARGE", &message, hint)
    }

    /// A result of a server.
    fn result(call: &InnerCall, result: &Raw) -> Self {
        let message = tool_result::says_error(result).then(|| error_text(call, result));
        let error = message.as_deref().map(|message| CallFailure {
            code: "UPSTREAM_ERROR",
            message,
            ..CallFailure::default()
        });
        Self::written(error, Some(result))
    }

    /// A JSON-RPC error of a server.
    fn rpc_error(call: &InnerCall, error: &Raw) -> Self {
        let message = error.get("message").and_then(|message| message.string());
        let message = reason(call, message);
        let code = error.get("code");
        Self::error(CallFailure {
            code: "UPSTREAM_ERROR",
            message: &message,
            reason: code.as_ref().map(Raw::as_str),
            hint: None,
        })
    }

    pub(super) fn failed(failure: &Failure) -> Self {
        let failure = failure.for_model();
        Self::error(CallFailure {
            code: &script_code(failure.code),
            message: &failure.error,
            reason: Some(failure.code.as_str()),
            hint: Some(failure.hint.for_people()),
        })
    }

    fn error(error: CallFailure<'_>) -> Self {
        Self::written(Some(error), None)
    }

    fn written(error: Option<CallFailure<'_>>, result: Option<&Raw>) -> Self {
        let failure = error.as_ref().map(|error| error.message.to_owned());
        let ok = error.is_none();
        let json = serde_json::to_vec(&AnswerBody { ok, error, result });
        Self {
            json: json.expect("texts and raw JSON can be written to memory"),
            failure,
        }
    }
}

/// The code of a failure in scripts.
fn script_code(code: ErrorCode) -> String {
    let known = match code {
        ErrorCode::InvalidArguments => "INVALID_ARGS",
        ErrorCode::ServerQuarantined => "QUARANTINED",
        ErrorCode::WrongVariant => "DESTRUCTIVE_NOT_ALLOWED",
        ErrorCode::ServerUnavailable
        | ErrorCode::LoginRequired
        | ErrorCode::ConnectionLost
        | ErrorCode::TimedOut
        | ErrorCode::BadUpstreamAnswer
        | ErrorCode::QuestionUnanswered => "UPSTREAM_ERROR",
        other => return other.as_str().to_uppercase(),
    };
    known.to_owned()
}

/// The first text of a result that is an error.
fn error_text(call: &InnerCall, result: &Raw) -> String {
    let content = result.get("content");
    let blocks = content.iter().flat_map(Raw::elements);
    let texts = blocks.filter_map(|block| block.get("text")?.string());
    beginning(&reason(call, texts), limits::SHOWN).to_owned()
}

/// The first of these texts that is not blank.
fn reason(call: &InnerCall, texts: impl IntoIterator<Item = String>) -> String {
    let mut texts = texts.into_iter();
    let first = texts.find(|text| !text.trim().is_empty());
    first.unwrap_or_else(|| {
        let InnerCall { server, tool, .. } = call;
        format!("the tool \"{server}:{tool}\" reports an error, but gives no reason")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: CallAnswer, expected: &str) {
        let json = String::from_utf8(answer.json).expect("text");
        assert_eq!(json, expected);
        assert_eq!(answer.failure.is_some(), json.starts_with(r#"{"ok":false"#));
    }

    #[test]
    fn results_stay_as_they_are() {
        let raw = |text| Raw::parse_str(text).expect("JSON");
        let call = InnerCall {
            server: "up".to_owned(),
            tool: "t".to_owned(),
            arguments: Raw::empty_object(),
        };
        let result = r#"{"content":[{"type":"video","x":1.10}],"isError":false}"#;
        check(
            CallAnswer::result(&call, &raw(result)),
            &format!(r#"{{"ok":true,"result":{result}}}"#),
        );
        let result = r#"{"content":[{"type":"text","text":"no such file"}],"isError":true}"#;
        let error = r#"{"code":"UPSTREAM_ERROR","message":"no such file"}"#;
        check(
            CallAnswer::result(&call, &raw(result)),
            &format!(r#"{{"ok":false,"error":{error},"result":{result}}}"#),
        );
        let silent = r#"the tool "up:t" reports an error, but gives no reason"#;
        for result in [
            r#"{"isError":true}"#,
            r#"{"content":[{"type":"text","text":" "}]}"#,
        ] {
            assert_eq!(error_text(&call, &raw(result)), silent);
        }
        let error = r#"{"code":"UPSTREAM_ERROR","message":"nope","reason":"-32000"}"#;
        check(
            CallAnswer::rpc_error(&call, &raw(r#"{"code":-32000,"message":"nope"}"#)),
            &format!(r#"{{"ok":false,"error":{error}}}"#),
        );
    }

    #[test]
    fn a_result_that_does_not_fit_counts_as_a_failure() {
        let failure = CallAnswer::too_large(1).failure.expect("one");
        assert!(failure.starts_with("the call ran, but"), "{failure}");
    }

    #[test]
    fn failures_have_codes_of_scripts_and_of_everybody() {
        let check_code = |code: ErrorCode, expected: &str| assert_eq!(script_code(code), expected);
        check_code(ErrorCode::AccessDenied, "ACCESS_DENIED");
        check_code(ErrorCode::ServerQuarantined, "QUARANTINED");
        check_code(ErrorCode::ConnectionLost, "UPSTREAM_ERROR");
        check_code(ErrorCode::UnknownTool, "UNKNOWN_TOOL");
        check_code(ErrorCode::WrongVariant, "DESTRUCTIVE_NOT_ALLOWED");
        let failure = Failure::new(ErrorCode::ToolHeld, "`it` is held", "Ask.");
        let expected = r#"{"ok":false,"error":{"code":"TOOL_HELD","message":"\"it\" is held","reason":"tool_held","hint":"Ask."}}"#;
        check(CallAnswer::failed(&failure), expected);
    }
}

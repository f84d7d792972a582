//! Writes what a script gets of a call: `{"ok": true, "result"}` or `{"ok": false, "error": {"code", "message", …}}`.

use serde::Serialize;
use serde_json::Value;

use crate::{
    code_execution::limits,
    failure::{ErrorCode, Failure},
    router::{Reply, RequestError},
    text::cut::beginning,
    wire::{Outcome, Raw, tool_result},
};

#[derive(Default, Serialize)]
struct CallAnswer<'a> {
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
    /// The code that the same failure has outside of scripts, or that of the server's own error.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

/// The step after a call that was wrong.
pub(super) const NOT_SENT: &str =
    "Nothing ran. Write call_tool(server, tool, args), with args as a plain object.";

/// The answer for a call that was made, or refused.
pub(super) fn answer_for(called: &Result<Reply, RequestError>) -> Vec<u8> {
    match called {
        Ok(Reply::Own(result) | Reply::Passed(Outcome::Result(result))) => write_result(result),
        Ok(Reply::Passed(Outcome::Error(error))) => write_rpc_error(error),
        Err(RequestError::Failed(failure)) => write_failure(failure),
        Err(RequestError::Rpc(error)) => write_refusal("INVALID_ARGS", &error.message, NOT_SENT),
    }
}

/// Why a call failed, by its answer.
pub(super) fn failure_in(answer: &[u8]) -> Option<String> {
    let is_failure = answer.starts_with(br#"{"ok":false"#);
    let answer: Value = is_failure.then(|| serde_json::from_slice(answer).ok())??;
    Some(answer["error"]["message"].as_str()?.to_owned())
}

/// How scripts know the codes of our failures.
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

/// A result of a server.
fn write_result(result: &Raw) -> Vec<u8> {
    let is_error = tool_result::says_error(result);
    let message = is_error.then(|| error_text(result));
    let error = message.as_deref().map(|message| CallFailure {
        code: "UPSTREAM_ERROR",
        message,
        ..CallFailure::default()
    });
    write_json(&CallAnswer {
        ok: !is_error,
        error,
        result: Some(result),
    })
}

/// The first text of a result that is an error.
fn error_text(result: &Raw) -> String {
    let content = result.get("content");
    let blocks = content.iter().flat_map(Raw::elements);
    let mut texts = blocks.filter_map(|block| block.get("text")?.string());
    let text = texts.next();
    let text = text
        .as_deref()
        .unwrap_or("the server reports an error without a text");
    beginning(text, limits::SHOWN).to_owned()
}

/// A JSON-RPC error of a server.
fn write_rpc_error(error: &Raw) -> Vec<u8> {
    let message = error.get("message").and_then(|message| message.string());
    let code = error.get("code");
    write_error(CallFailure {
        code: "UPSTREAM_ERROR",
        message: message.as_deref().unwrap_or("the server refused the call"),
        reason: code.as_ref().map(Raw::as_str),
        hint: None,
    })
}

fn write_failure(failure: &Failure) -> Vec<u8> {
    write_error(CallFailure {
        code: &script_code(failure.code),
        message: &failure.error,
        reason: Some(failure.code.as_str()),
        hint: Some(&failure.hint),
    })
}

pub(super) fn write_refusal(code: &str, message: &str, hint: &str) -> Vec<u8> {
    write_error(CallFailure {
        code,
        message,
        hint: Some(hint),
        ..CallFailure::default()
    })
}

/// Where the results of a batch are too large with this one of so many bytes.
pub(super) fn write_too_large(size: usize) -> Vec<u8> {
    let message = format!(
        "the call ran, but with its result of {size} bytes the batch exceeds {} MiB",
        limits::RESULTS >> 20
    );
    let hint = "Ask for less at a time; check before you repeat it.";
    write_refusal("RESULT_TOO_LARGE", &message, hint)
}

fn write_error(error: CallFailure<'_>) -> Vec<u8> {
    write_json(&CallAnswer {
        error: Some(error),
        ..CallAnswer::default()
    })
}

fn write_json(answer: &CallAnswer<'_>) -> Vec<u8> {
    serde_json::to_vec(answer).expect("texts and raw JSON can be written to memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: Vec<u8>, expected: &str) {
        assert_eq!(String::from_utf8(written).expect("text"), expected);
    }

    #[test]
    fn results_stay_as_they_are() {
        let raw = |text| Raw::parse_str(text).expect("JSON");
        let result = r#"{"content":[{"type":"video","x":1.10}],"isError":false}"#;
        check(
            write_result(&raw(result)),
            &format!(r#"{{"ok":true,"result":{result}}}"#),
        );
        let result = r#"{"content":[{"type":"text","text":"no such file"}],"isError":true}"#;
        let error = r#"{"code":"UPSTREAM_ERROR","message":"no such file"}"#;
        check(
            write_result(&raw(result)),
            &format!(r#"{{"ok":false,"error":{error},"result":{result}}}"#),
        );
        let silent = "the server reports an error without a text";
        assert_eq!(error_text(&raw(r#"{"isError":true}"#)), silent);
        let error = r#"{"code":"UPSTREAM_ERROR","message":"nope","reason":"-32000"}"#;
        check(
            write_rpc_error(&raw(r#"{"code":-32000,"message":"nope"}"#)),
            &format!(r#"{{"ok":false,"error":{error}}}"#),
        );
    }

    #[test]
    fn failures_have_codes_of_scripts_and_of_everybody() {
        let check = |code: ErrorCode, expected: &str| assert_eq!(script_code(code), expected);
        check(ErrorCode::AccessDenied, "ACCESS_DENIED");
        check(ErrorCode::ServerQuarantined, "QUARANTINED");
        check(ErrorCode::ConnectionLost, "UPSTREAM_ERROR");
        check(ErrorCode::UnknownTool, "UNKNOWN_TOOL");
        check(ErrorCode::WrongVariant, "DESTRUCTIVE_NOT_ALLOWED");
        let failure = Failure::new(ErrorCode::ToolHeld, "it is held", "Ask.");
        let expected = r#"{"ok":false,"error":{"code":"TOOL_HELD","message":"it is held","reason":"tool_held","hint":"Ask."}}"#;
        assert_eq!(write_failure(&failure), expected.as_bytes());
    }
}

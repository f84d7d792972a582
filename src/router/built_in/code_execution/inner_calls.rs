//! The calls of a script: each passes the gate with the rights of the script's caller, is recorded under the script, and comes back as
//! `{"ok": true, "result"}` or `{"ok": false, "error": {"code", "message", …}}`.

use futures_util::{
    future::BoxFuture,
    stream::{self, StreamExt},
};
use serde::Serialize;

use super::{
    arguments::{InnerCall, ScriptRequest},
    progress::Progress,
};
use crate::{
    code_execution::limits,
    failure::error_code::{ErrorCode, Failure},
    gate::Variant,
    router::{
        Reply, RequestError,
        built_in::Call,
        tool_calls::{Audience, DeclaredCall},
    },
    wire::{Outcome, Raw},
};

pub(super) struct InnerCalls<'a> {
    call: &'a Call<'a>,
    request: &'a ScriptRequest,
    progress: Progress<'a>,
}

/// What a script gets of a call.
#[derive(Serialize)]
struct CallAnswer<'a> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<CallFailure<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Raw>,
}

#[derive(Serialize)]
struct CallFailure<'a> {
    code: &'a str,
    message: &'a str,
    /// The code that the same failure has outside of scripts, or that of the server's own error.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl<'a> InnerCalls<'a> {
    pub(super) fn new(
        call: &'a Call<'a>,
        request: &'a ScriptRequest,
        progress: Progress<'a>,
    ) -> Self {
        Self {
            call,
            request,
            progress,
        }
    }

    /// Makes these calls, a few at once, and gives the JSON of their outcomes, in their order. Of one that is wrong nothing is sent.
    pub(super) async fn make(
        &self,
        calls: &[Result<InnerCall, String>],
        max_parallel: usize,
    ) -> Vec<u8> {
        let at_once = max_parallel.clamp(1, limits::MAX_PARALLEL);
        let making = calls.iter().map(|call| self.run_call(call));
        let making: Vec<BoxFuture<'_, Vec<u8>>> = making.collect();
        let mut making = stream::iter(making).buffered(at_once);
        let mut written = vec![b'['];
        let answering = async {
            while let Some(answer) = making.next().await {
                if written.len() > 1 {
                    written.push(b',');
                }
                if written.len() + answer.len() > limits::RESULTS {
                    written.extend_from_slice(&too_large(answer.len()));
                } else {
                    written.extend_from_slice(&answer);
                }
                self.progress.count();
            }
        };
        self.progress.with_progress(Box::pin(answering)).await;
        written.push(b']');
        written
    }

    fn run_call<'s>(&'s self, call: &'s Result<InnerCall, String>) -> BoxFuture<'s, Vec<u8>> {
        Box::pin(self.answered(call))
    }

    async fn answered(&self, call: &Result<InnerCall, String>) -> Vec<u8> {
        let call = match call {
            Ok(call) => call,
            Err(why) => return refused("INVALID_ARGS", why),
        };
        if !self.request.allows(&call.server) {
            let failure = server_not_allowed(&call.server, &call.tool);
            self.refuse(call, &failure);
            return refused("SERVER_NOT_ALLOWED", &failure.error);
        }
        match self.made(call).await {
            Ok(Reply::Own(result) | Reply::Passed(Outcome::Result(result))) => answer(&result),
            Ok(Reply::Passed(Outcome::Error(error))) => of_server(&error),
            Err(RequestError::Failed(failure)) => failed(&failure),
            Err(RequestError::Rpc(error)) => refused("INVALID_ARGS", &error.message),
        }
    }

    async fn made(&self, call: &InnerCall) -> Result<Reply, RequestError> {
        let InnerCall { server, tool, .. } = call;
        let (calls, outer) = (self.call.calls, self.progress.context());
        let refused = |failure: Failure| {
            self.refuse(call, &failure);
            RequestError::from(failure)
        };
        let variant = match calls.call_with(outer, server, tool).await {
            Ok(Some(Variant::Destructive)) if !self.request.allows_destructive => {
                return Err(refused(not_allowed_to_destroy(server, tool)));
            }
            Ok(variant) => variant.unwrap_or(Variant::Write),
            Err(failure) => return Err(refused(failure)),
        };
        let params = self.progress.params(server, tool);
        calls.call(outer, declared(call, variant), &params).await
    }

    /// Records a call that is not made.
    fn refuse(&self, call: &InnerCall, failure: &Failure) {
        let declared = declared(call, Variant::Write);
        let calls = self.call.calls;
        calls.refuse(self.progress.context(), &declared, failure);
    }
}

fn declared(call: &InnerCall, variant: Variant) -> DeclaredCall<'_> {
    DeclaredCall {
        variant,
        is_stated: false,
        server: &call.server,
        tool: &call.tool,
        arguments: Some(call.arguments.clone()),
        intent: None,
        audience: Audience::Script,
    }
}

/// The record has the code of what a caller may not use, which this script may not: only the script itself gets one of its own.
fn server_not_allowed(server: &str, tool: &str) -> Failure {
    let error = format!("the server {server:?} is not among the allowed_servers of this script");
    let hint = "Run the script with it in options.allowed_servers if that is meant.";
    Failure::new(ErrorCode::AccessDenied, error, hint)
        .of_server(server)
        .of_tool(tool)
}

fn not_allowed_to_destroy(server: &str, tool: &str) -> Failure {
    let error = format!(
        "the tool {tool:?} of server {server:?} may destroy something, which this script may not do"
    );
    let hint =
        "Ask the user; if that is meant, run the script with options.allow_destructive: true.";
    Failure::new(ErrorCode::WrongVariant, error, hint)
        .of_server(server)
        .of_tool(tool)
}

/// How scripts know the codes of our failures.
fn code_of(code: ErrorCode) -> String {
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

/// A result of a server; what a server calls an error is one.
fn answer(result: &Raw) -> Vec<u8> {
    let is_error = result
        .get("isError")
        .is_some_and(|flag| flag.as_bytes() == b"true");
    let message = is_error.then(|| error_text(result));
    let error = message.as_deref().map(|message| CallFailure {
        code: "UPSTREAM_ERROR",
        message,
        reason: None,
        hint: None,
    });
    written(&CallAnswer {
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
    let mut text = texts
        .next()
        .unwrap_or_else(|| "the server reports an error without words".to_owned());
    text.truncate(text.floor_char_boundary(limits::SHOWN));
    text
}

/// A JSON-RPC error of a server.
fn of_server(error: &Raw) -> Vec<u8> {
    let message = error.get("message").and_then(|message| message.string());
    let code = error.get("code");
    written(&CallAnswer {
        ok: false,
        error: Some(CallFailure {
            code: "UPSTREAM_ERROR",
            message: message.as_deref().unwrap_or("the server refused the call"),
            reason: code.as_ref().map(Raw::as_str),
            hint: None,
        }),
        result: None,
    })
}

fn failed(failure: &Failure) -> Vec<u8> {
    written(&CallAnswer {
        ok: false,
        error: Some(CallFailure {
            code: &code_of(failure.code),
            message: &failure.error,
            reason: Some(failure.code.as_str()),
            hint: Some(&failure.hint),
        }),
        result: None,
    })
}

fn refused(code: &str, message: &str) -> Vec<u8> {
    written(&CallAnswer {
        ok: false,
        error: Some(CallFailure {
            code,
            message,
            reason: None,
            hint: None,
        }),
        result: None,
    })
}

fn too_large(size: usize) -> Vec<u8> {
    let message = format!(
        "the result has {size} bytes, with which the results of this batch are larger than {} MiB; the call was made",
        limits::RESULTS >> 20
    );
    refused("RESULT_TOO_LARGE", &message)
}

fn written(answer: &CallAnswer<'_>) -> Vec<u8> {
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
            answer(&raw(result)),
            &format!(r#"{{"ok":true,"result":{result}}}"#),
        );
        let result = r#"{"content":[{"type":"text","text":"no such file"}],"isError":true}"#;
        let error = r#"{"code":"UPSTREAM_ERROR","message":"no such file"}"#;
        check(
            answer(&raw(result)),
            &format!(r#"{{"ok":false,"error":{error},"result":{result}}}"#),
        );
        let silent = "the server reports an error without words";
        assert_eq!(error_text(&raw(r#"{"isError":true}"#)), silent);
        let error = r#"{"code":"UPSTREAM_ERROR","message":"nope","reason":"-32000"}"#;
        check(
            of_server(&raw(r#"{"code":-32000,"message":"nope"}"#)),
            &format!(r#"{{"ok":false,"error":{error}}}"#),
        );
    }

    #[test]
    fn failures_have_codes_of_scripts_and_of_everybody() {
        let check = |code: ErrorCode, expected: &str| assert_eq!(code_of(code), expected);
        check(ErrorCode::AccessDenied, "ACCESS_DENIED");
        check(ErrorCode::ServerQuarantined, "QUARANTINED");
        check(ErrorCode::ConnectionLost, "UPSTREAM_ERROR");
        check(ErrorCode::UnknownTool, "UNKNOWN_TOOL");
        check(ErrorCode::WrongVariant, "DESTRUCTIVE_NOT_ALLOWED");
        let failure = Failure::new(ErrorCode::ToolHeld, "it is held", "Ask");
        let expected = r#"{"ok":false,"error":{"code":"TOOL_HELD","message":"it is held","reason":"tool_held","hint":"Ask"}}"#;
        assert_eq!(failed(&failure), expected.as_bytes());
    }
}

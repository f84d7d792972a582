//! The error object of JSON-RPC, and the codes that the protocol's revisions define.

use std::fmt;

use serde::Serialize;

use super::Raw;
use crate::text::cut::shortened;

/// Limit: bytes of a message. Names that a client made up stand in it, and would come back whole otherwise.
const LONGEST_MESSAGE: usize = 2048;

/// An own error, to be answered with.
#[derive(Debug, Clone, Serialize)]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// What went wrong, for a person.
    pub message: String,
    /// What went wrong, for a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Raw>,
}

impl RpcError {
    /// The code in an error object.
    pub fn code_in(error: &Raw) -> Option<i64> {
        error.get("code")?.read().ok()
    }

    /// Malformed JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// JSON that is no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist or is not available.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Wrong params.
    pub const INVALID_PARAMS: i64 = -32602;
    /// A fault on our side.
    pub const INTERNAL: i64 = -32603;
    /// The headers of a modern request and its body say different things (transports, "Request Headers").
    pub const HEADER_MISMATCH: i64 = -32020;
    /// A modern request needs a capability that its client did not declare.
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// A modern request of a revision that is not served.
    pub const UNSUPPORTED_REVISION: i64 = -32022;
    /// What the SDKs of the legacy revisions use for transport and session errors.
    pub const SESSION: i64 = -32001;

    /// Whether every client can read the `error` of somebody else (JSON-RPC 2.0, section 5.1).
    pub fn is_readable(error: &Raw) -> bool {
        let [code, message] = error.look_up(["code", "message"]).map(|found| found.value);
        let is_whole = code.is_some_and(|code| code.read::<i64>().is_ok());
        is_whole && message.is_some_and(|message| message.string().is_some())
    }

    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: shortened(message, LONGEST_MESSAGE),
            data: None,
        }
    }

    /// Adds data.
    #[must_use]
    pub fn with_data(mut self, data: Raw) -> Self {
        self.data = Some(data);
        self
    }

    /// Malformed JSON, with the reason.
    pub fn parse_error(why: impl fmt::Display) -> Self {
        Self::new(
            Self::PARSE_ERROR,
            format!("Parse error: {why}. Nothing ran; correct the JSON and send it again."),
        )
    }

    /// JSON that is no request, with the reason.
    pub fn invalid_request(why: impl fmt::Display) -> Self {
        Self::refused_request(why, "correct that and send it again")
    }

    /// JSON that is no request, with the reason and the next step.
    pub fn refused_request(why: impl fmt::Display, step: &str) -> Self {
        let message = format!("Invalid Request: {why}. Nothing ran; {step}.");
        Self::new(Self::INVALID_REQUEST, message)
    }

    /// A request of more bytes than one may have.
    pub fn too_large() -> Self {
        Self::invalid_request("the request is larger than 32 MiB")
    }

    /// An unknown method, by name.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            Self::METHOD_NOT_FOUND,
            format!(
                "Method not found: {method}. Nothing ran; the capabilities of this endpoint list what it supports."
            ),
        )
    }

    /// Wrong params, with the reason.
    pub fn invalid_params(why: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, why)
    }

    /// The `error` object.
    pub fn to_raw(&self) -> Raw {
        Raw::author(self)
    }
}

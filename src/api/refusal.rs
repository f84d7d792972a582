//! Refusals of requests before they reach a route.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};

use super::answer;
use crate::{
    access::operators::NotAnOperator,
    failure::{ErrorCode, Failure},
};

/// The hint where to find the key. It names no folder of this machine, because anybody may read it.
const KEY: &str = "Send the API key as `X-API-Key`. It is in the configuration file as `api_key`, if that value has 12 characters or more, or else in the file `api_key` in the data folder. A client's token is not an API key; `mcpproxy ui` needs no key.";

const LOG_IN: &str = "Run `mcpproxy ui` on the daemon's machine to log in again.";

const ORIGIN: &str =
    "Use the address that `mcpproxy ui` opened; programs send `X-API-Key` and no cookie.";

/// The answer to a request that is not an operator's.
pub fn refused(why: NotAnOperator) -> Response {
    let (status, code, hint) = match why {
        NotAnOperator::NoKey | NotAnOperator::WrongKey => {
            (StatusCode::UNAUTHORIZED, ErrorCode::Unauthorized, KEY)
        }
        NotAnOperator::SessionOver => (StatusCode::UNAUTHORIZED, ErrorCode::Unauthorized, LOG_IN),
        NotAnOperator::OtherOrigin => (StatusCode::FORBIDDEN, ErrorCode::AccessDenied, ORIGIN),
    };
    let response = answer(status, &Failure::new(code, why.to_string(), hint));
    match status {
        StatusCode::UNAUTHORIZED => {
            ([(header::WWW_AUTHENTICATE, "X-API-Key")], response).into_response()
        }
        _ => response,
    }
}

/// The answer to a request whose body was not read, with this status.
pub fn refused_body(status: StatusCode, why: &str) -> Response {
    let (code, hint) = if status == StatusCode::SERVICE_UNAVAILABLE {
        (ErrorCode::Overloaded, "Try again in a moment.")
    } else {
        (
            ErrorCode::InvalidArguments,
            "Send the complete body without delay.",
        )
    };
    answer(status, &Failure::new(code, why, hint))
}

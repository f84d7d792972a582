//! Refuses requests with anything that the document does not have: with a misspelt filter everything would be found, and a body is never
//! without a meaning.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Query, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{FailureResponse, MAX_BODY, wrong};
use crate::failure::error_code::Failure;

/// What a request may say.
#[derive(Clone)]
pub(super) struct Described(Arc<Parts>);

struct Parts {
    parameters: Vec<String>,
    takes_body: bool,
    undone: Option<&'static str>,
}

impl Described {
    pub(super) fn new(
        parameters: Vec<String>,
        takes_body: bool,
        undone: Option<&'static str>,
    ) -> Self {
        Self(Arc::new(Parts {
            parameters,
            takes_body,
            undone,
        }))
    }
}

/// Passes on what says nothing else, and says of a failure what was not done.
pub(super) async fn only_described(
    State(Described(may)): State<Described>,
    request: Request,
    next: Next,
) -> Response {
    let checked = async {
        check_parameters(&request, &may.parameters)?;
        if may.takes_body {
            return Ok(request);
        }
        without_body(request).await
    };
    let mut response = match checked.await {
        Ok(request) => next.run(request).await,
        Err(refused) => FailureResponse::into_response(refused),
    };
    let failure = response.extensions_mut().remove::<Failure>();
    match (failure, may.undone) {
        (Some(failure), Some(outcome)) => FailureResponse(failure.undone(outcome)).into_response(),
        _ => response,
    }
}

fn check_parameters(request: &Request, known: &[String]) -> Result<(), FailureResponse> {
    /// Characters of it that are repeated.
    const REPEATED: usize = 100;
    let Query(parameters) =
        Query::<Vec<(String, String)>>::try_from_uri(request.uri()).map_err(wrong)?;
    let unknown = parameters.iter().find(|(key, _)| !known.contains(key));
    unknown.map_or(Ok(()), |(key, _)| {
        let key: String = key.chars().take(REPEATED).collect();
        Err(wrong(match known.join(", ") {
            none if none.is_empty() => format!("this path takes no parameters, and got {key:?}"),
            known => format!("there is no parameter {key:?}; use {known}"),
        }))
    })
}

/// An object without members says nothing either.
async fn without_body(request: Request) -> Result<Request, FailureResponse> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_BODY).await.map_err(wrong)?;
    if matches!(body.trim_ascii(), b"" | b"{}") {
        return Ok(Request::from_parts(parts, Body::empty()));
    }
    Err(wrong("this path takes no body"))
}

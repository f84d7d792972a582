//! Refuses requests with anything that the document does not have: with a misspelt filter everything would be found, and a body is never
//! without a meaning.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Query, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{Answer, FailureResponse, MAX_BODY, wrong};
use crate::{access::operators::OperatorPass, config::ChangeWay, failure::Failure};

/// A parameter that a request may have, with the least and the greatest value of a whole number.
pub(super) type Parameter = (String, Option<(u64, Option<u64>)>);

/// What a request may say.
#[derive(Clone)]
pub(super) struct Described(Arc<Parts>);

struct Parts {
    parameters: Vec<Parameter>,
    takes_body: bool,
    undone: Option<&'static str>,
}

impl Described {
    pub(super) fn new(
        parameters: Vec<Parameter>,
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

/// Passes on what says nothing else, and says of a failure what was not done. Commands are for a terminal.
pub(super) async fn only_described(
    State(Described(may)): State<Described>,
    request: Request,
    next: Next,
) -> Response {
    let pass = request.extensions().get::<OperatorPass>();
    let is_at_terminal = pass.is_none_or(|pass| pass.way() == ChangeWay::Terminal);
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
    let Some(mut failure) = response.extensions_mut().remove::<Failure>() else {
        return response;
    };
    if let Some(outcome) = may.undone {
        failure = failure.undone(outcome);
    }
    if !is_at_terminal {
        failure = failure.without_commands();
    }
    FailureResponse(failure).into_response()
}

fn check_parameters(request: &Request, known: &[Parameter]) -> Answer<()> {
    /// Characters of it that are repeated.
    const REPEATED: usize = 100;
    let Query(parameters) =
        Query::<Vec<(String, String)>>::try_from_uri(request.uri()).map_err(wrong)?;
    for (key, value) in &parameters {
        let shown = |text: &str| text.chars().take(REPEATED).collect::<String>();
        let Some((_, range)) = known.iter().find(|(name, _)| name == key) else {
            let names: Vec<&str> = known.iter().map(|(name, _)| &**name).collect();
            let key = shown(key);
            return Err(wrong(match names.join(", ") {
                none if none.is_empty() => {
                    format!("this path takes no parameters, but got {key:?}")
                }
                names => format!("there is no parameter {key:?}; use {names}"),
            }));
        };
        let Some((least, most)) = *range else {
            continue;
        };
        let is_in = |number: u64| number >= least && most.is_none_or(|most| number <= most);
        if !value.parse().is_ok_and(is_in) {
            let range = match most {
                Some(most) => format!("from {least} to {most}"),
                None => format!("of at least {least}"),
            };
            let value = shown(value);
            return Err(wrong(format!(
                "`{key}` must be a whole number {range}, not {value:?}"
            )));
        }
    }
    Ok(())
}

/// An object without members says nothing either.
async fn without_body(request: Request) -> Answer<Request> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_BODY).await.map_err(wrong)?;
    if matches!(body.trim_ascii(), b"" | b"{}") {
        return Ok(Request::from_parts(parts, Body::empty()));
    }
    Err(wrong("this path takes no body"))
}

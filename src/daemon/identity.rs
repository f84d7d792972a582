//! Puts the caller into each request. Whoever answers the request finds it there, and has no other way to one.

use axum::{
    Router as HttpRouter,
    extract::{Extension, Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use http::StatusCode;

use crate::access::{Access, Peer, Refused};

/// Routes for MCP clients.
pub(super) fn for_clients(routes: HttpRouter, access: &Access) -> HttpRouter {
    routes.layer(from_fn_with_state(access.clone(), client))
}

/// Routes for the operator.
pub(super) fn for_operator(routes: HttpRouter, access: &Access) -> HttpRouter {
    routes.layer(from_fn_with_state(access.clone(), operator))
}

async fn client(
    State(access): State<Access>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    match access.authenticate(request.headers(), peer) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refused) => refusal(refused),
    }
}

async fn operator(
    State(access): State<Access>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    match access.authenticate_operator(peer) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refused) => refusal(refused),
    }
}

fn refusal(refused: Refused) -> Response {
    (StatusCode::FORBIDDEN, refused.to_string()).into_response()
}

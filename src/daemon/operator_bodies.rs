//! Bodies of operators' requests: within the bounds, the deadlines and the budget that hold for those of clients.

use axum::{
    Router as HttpRouter,
    body::Body,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use http::StatusCode;

use crate::{
    api,
    inbound::{self, UnreadBody},
    runtime::memory_budget::MemoryBudget,
};

/// The routes, which get bodies that are read already.
pub(super) fn bounded(routes: HttpRouter, budget: &MemoryBudget) -> HttpRouter {
    routes.layer(from_fn_with_state(budget.clone(), read_first))
}

async fn read_first(State(budget): State<MemoryBudget>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match inbound::read_body(body, &budget).await {
        Ok(body) => next.run(Request::from_parts(parts, Body::from(body))).await,
        Err(unread) => {
            let status = match unread {
                UnreadBody::TooLarge => return api::too_large(),
                UnreadBody::Late | UnreadBody::Broken => StatusCode::BAD_REQUEST,
                UnreadBody::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
            };
            api::refused_body(status, &unread.to_string())
        }
    }
}

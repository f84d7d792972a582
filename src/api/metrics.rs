//! `/metrics`: what Prometheus reads.

use axum::{
    Router as HttpRouter,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use http::header;

use super::{Api, METRICS};
use crate::metrics::{CONTENT_TYPE, Figure, Metrics};

pub(super) fn routes(api: Api, metrics: Metrics) -> HttpRouter {
    HttpRouter::new()
        .route(METRICS, get(show))
        .with_state((api, metrics))
}

async fn show(State((api, metrics)): State<(Api, Metrics)>) -> Response {
    let management = &api.0.management;
    let status = management.status(&api.0.location, api.count_sessions());
    let servers = status.servers.by_state();
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let activity = status.activity.unwrap_or_default();
    let figures = [
        (Figure::Sessions, count(status.sessions)),
        (Figure::Tools, count(status.tools)),
        (
            Figure::CallableTools,
            count(status.callable_tools.unwrap_or(status.tools)),
        ),
        (Figure::Uptime, status.uptime_seconds),
        (Figure::Records, activity.records),
        (Figure::NotKept, activity.not_kept),
    ];
    let text = metrics.text(&servers, &figures);
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response()
}

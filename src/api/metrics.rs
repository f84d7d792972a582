//! `/metrics`: figures for Prometheus. Counting tens of thousands of tools takes a while, so it is done off the workers of the runtime.

use axum::{Router as HttpRouter, extract::State, response::IntoResponse, routing::get};
use http::header;

use super::{Answer, Api, METRICS};
use crate::{
    failure::Failure,
    telemetry::metrics::{CONTENT_TYPE, Figures, Metrics},
};

pub(super) fn routes(api: Api, metrics: Metrics) -> HttpRouter {
    HttpRouter::new()
        .route(METRICS, get(show))
        .with_state((api, metrics))
}

async fn show(State((api, metrics)): State<(Api, Metrics)>) -> Answer {
    let turns = api.0.router.long_work().clone();
    let counted = turns.run(move |_| text(&api, &metrics)).await;
    let text = counted.map_err(Failure::from)?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

fn text(api: &Api, metrics: &Metrics) -> String {
    let management = &api.0.management;
    let status = management.status(&api.0.location, api.count_sessions());
    let servers = status.servers.by_state();
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let activity = status.activity.unwrap_or_default();
    let figures = Figures {
        sessions: count(status.sessions),
        tools: count(status.tools),
        callable_tools: count(status.callable_tools.unwrap_or(status.tools)),
        uptime_seconds: status.uptime_seconds,
        records: activity.records,
        not_kept: activity.not_kept,
    };
    metrics.text(&servers, &figures)
}

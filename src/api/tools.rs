//! `/api/v1/tools`: what the servers offer, listed, searched and shown.

use axum::{
    Extension, Router as HttpRouter,
    extract::{Query, State, rejection::QueryRejection},
    routing::get,
};
use serde::Deserialize;

use super::{Answer, Api, Said, check_parameters, ok, wrong};
use crate::{
    access::Caller,
    catalog::Matching,
    gate::Variant,
    search::{Detail, Search},
};

pub(super) fn routes() -> HttpRouter<Api> {
    HttpRouter::new()
        .route("/api/v1/tools", get(list_or_search))
        .route("/api/v1/tools/show", get(show))
}

/// What can be said of a list or a search.
const PARAMETERS: [&str; 5] = ["server", "q", "limit", "match", "detail"];

#[derive(Deserialize)]
struct ToolsQuery {
    server: Option<String>,
    /// Turns the list into a search.
    q: Option<String>,
    limit: Option<usize>,
    r#match: Option<String>,
    detail: Option<String>,
}

async fn list_or_search(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    said: Result<Query<Said>, QueryRejection>,
    query: Result<Query<ToolsQuery>, QueryRejection>,
) -> Answer {
    check_parameters(said, &PARAMETERS)?;
    let Query(query) = query.map_err(wrong)?;
    if query.limit == Some(0) {
        return Err(wrong("`limit` is 0; it is at least 1"));
    }
    let Some(text) = query.q else {
        return ok(&api.0.management.tools(query.server.as_deref())?);
    };
    let matching = match query.r#match.as_deref() {
        None => Matching::default(),
        Some(text) => Matching::parse(text)
            .ok_or_else(|| wrong(format!("`match` is any or all, not {text:?}")))?,
    };
    let detail = match query.detail.as_deref() {
        None => Detail::default(),
        Some(text) => Detail::parse(text)
            .ok_or_else(|| wrong(format!("`detail` is full or compact, not {text:?}")))?,
    };
    let search = Search {
        query: text,
        limit: query.limit,
        matching,
        server: query.server,
        up_to: Variant::Destructive,
    };
    let searching = api.0.router.search();
    let found = searching.answer(&caller, &search, detail).await;
    ok(&found.map_err(|failure| api.0.management.for_operator(failure))?)
}

#[derive(Deserialize)]
struct ShowQuery {
    name: String,
}

async fn show(
    State(api): State<Api>,
    said: Result<Query<Said>, QueryRejection>,
    query: Result<Query<ShowQuery>, QueryRejection>,
) -> Answer {
    check_parameters(said, &["name"])?;
    let Query(query) = query.map_err(wrong)?;
    ok(&api.0.management.tool(&query.name)?)
}

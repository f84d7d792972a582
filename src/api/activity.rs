//! `/api/v1/activity`: the activity log, in pages, by number, and as a file.

use axum::{
    Router as HttpRouter,
    body::Body,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
    response::Response,
    routing::get,
};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use serde::Deserialize;

use super::{Answer, Api, Said, check_parameters, ok, wrong};
use crate::{
    activity::{ExportFormat, PAGE, PARAMETERS, RecordPage, RecordQuery},
    error_code::Failure,
    management::Management,
};

pub(super) fn routes() -> HttpRouter<Api> {
    HttpRouter::new()
        .route("/api/v1/activity", get(list))
        .route("/api/v1/activity/export", get(export))
        .route("/api/v1/activity/{id}", get(show))
}

async fn list(
    State(api): State<Api>,
    said: Result<Query<Said>, QueryRejection>,
    query: Result<Query<RecordQuery>, QueryRejection>,
) -> Answer {
    check_parameters(said, &PARAMETERS)?;
    let Query(query) = query.map_err(wrong)?;
    ok(&api.0.management.activity(query).await?)
}

async fn show(State(api): State<Api>, id: Result<Path<u64>, PathRejection>) -> Answer {
    let Path(id) = id.map_err(wrong)?;
    ok(&api.0.management.activity_record(id).await?)
}

#[derive(Deserialize)]
struct FormatQuery {
    format: Option<String>,
}

/// The records from the oldest on, page by page, so that neither side holds them all.
async fn export(
    State(api): State<Api>,
    said: Result<Query<Said>, QueryRejection>,
    query: Result<Query<RecordQuery>, QueryRejection>,
    format: Result<Query<FormatQuery>, QueryRejection>,
) -> Answer {
    check_parameters(said, &[&PARAMETERS[..], &["format"]].concat())?;
    let (Query(query), Query(format)) = (query.map_err(wrong)?, format.map_err(wrong)?);
    let format = match format.format.as_deref() {
        None => ExportFormat::default(),
        Some(text) => ExportFormat::parse(text)
            .ok_or_else(|| wrong(format!("`format` is jsonl or csv, not {text:?}")))?,
    };
    if query.cursor.is_some() {
        return Err(wrong(
            "`cursor` goes backwards; an export goes on with `after`",
        ));
    }
    let query = RecordQuery {
        after: query.after.or(Some(0)),
        limit: Some(PAGE.0),
        ..query
    };
    let management = api.0.management.clone();
    // A query that makes no sense fails before anything is sent.
    let first = management.activity(query.clone()).await?;
    let head = Bytes::from(format.header());
    let pages = stream::try_unfold(Some((first, query)), move |pages| {
        let management = management.clone();
        async move { next(&management, pages, format).await }
    });
    let head = stream::iter([Ok::<Bytes, Failure>(head)]);
    let mut response = Response::new(Body::from_stream(futures_util::StreamExt::chain(
        head, pages,
    )));
    let kind = match format {
        ExportFormat::Jsonl => "application/jsonl",
        ExportFormat::Csv => "text/csv; charset=utf-8",
    };
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

/// A page that was read, and the query that it answers.
type Pages = Option<(RecordPage, RecordQuery)>;

async fn next(
    management: &Management,
    pages: Pages,
    format: ExportFormat,
) -> Result<Option<(Bytes, Pages)>, Failure> {
    let Some((page, query)) = pages else {
        return Ok(None);
    };
    let lines: String = page
        .records
        .iter()
        .map(|record| format.line(record))
        .collect();
    let following = match page.next {
        None => None,
        Some(after) => {
            let query = RecordQuery {
                after: Some(after),
                ..query
            };
            Some((management.activity(query.clone()).await?, query))
        }
    };
    Ok(Some((lines.into(), following)))
}

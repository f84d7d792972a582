//! `/api/v1/activity`: the activity log, in pages, by number, and as a file.

use axum::{
    body::Body,
    extract::{Path, State, rejection::PathRejection},
    response::IntoResponse,
};
use bytes::Bytes;
use futures_util::stream;
use http::header;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{
    Answer, Api, Params, Route, Routes, Verbs, ok, one_of, record_news::RecordNews, routes::EVENTS,
    sse, wrong,
};
use crate::{
    activity::{
        ActivityRecord, CallFigures, ExportFormat, FigurePeriod, PAGE, RecordPage, RecordQuery,
        WantedFigures,
    },
    failure::{ErrorCode, Failure, Result},
    management::Management,
};

pub(super) fn routes<V: Verbs>() -> Routes<V> {
    vec![
        Route::get("/api/v1/activity", list::<V>)
            .about(
                "listActivity",
                "Records of calls, refusals and changes, newest first; with `after`, oldest first.",
            )
            .asks::<RecordQuery>()
            .gives::<RecordPage>(),
        Route::get("/api/v1/activity/{id}", show::<V>)
            .about("showActivity", "A whole record.")
            .gives::<ActivityRecord>()
            .fails(&[ErrorCode::UnknownRecord]),
    ]
}

/// The routes that need a daemon: figures of its memory, and streams.
pub(super) fn daemon_routes() -> Routes {
    vec![
        Route::get("/api/v1/activity/figures", figures)
            .about(
                "callFigures",
                "Figures for the calls of the last hour or 24 hours: in total, by server and, with `server` or `tool`, by tool.",
            )
            .asks::<FigureQuery>()
            .gives::<CallFigures>(),
        Route::get("/api/v1/activity/export", export)
            .about("exportActivity", "All matching records, oldest first.")
            .asks::<ExportQuery>()
            .but_not(&["cursor", "limit"])
            .gives_text("application/jsonl")
            .gives_text("text/csv"),
        Route::get("/api/v1/activity/stream", follow)
            .about(
                "streamActivity",
                "Matching records as they happen: events `record`, and `lagged` with the number of missed records; with `after`, at most 1,000 records after that number come first.",
            )
            .asks::<RecordQuery>()
            .but_not(&["cursor", "limit"])
            .gives_text(EVENTS),
    ]
}

async fn follow(State(api): State<Api>, Params(query): Params<RecordQuery>) -> Answer {
    let news = RecordNews::from_now(api.0.management.clone(), query).await?;
    let open = sse::event("open", &json!({ "after": news.after() }));
    Ok(sse::respond(open, news))
}

async fn list<V: Verbs>(State(verbs): State<V>, Params(query): Params<RecordQuery>) -> Answer {
    ok(&verbs.management().activity(query).await?)
}

async fn show<V: Verbs>(State(verbs): State<V>, id: Result<Path<u64>, PathRejection>) -> Answer {
    let Path(id) = id.map_err(wrong)?;
    ok(&verbs.management().activity_record(id).await?)
}

/// The calls to sum up.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
struct FigureQuery {
    /// The time, `1h` or `24h`; the last hour by default.
    #[schemars(extend("enum" = ["1h", "24h"]))]
    since: Option<String>,
    /// The server's name.
    server: Option<String>,
    /// The tool as `server:tool`, or by its own name together with `server`.
    tool: Option<String>,
}

async fn figures(State(api): State<Api>, Params(query): Params<FigureQuery>) -> Answer {
    let since = query.since.as_deref();
    let period = one_of("since", "1h or 24h", since, FigurePeriod::parse)?;
    let period = period.unwrap_or(FigurePeriod::Hour);
    let (mut server, mut tool) = (query.server, query.tool);
    if let (None, Some(whole)) = (&server, &tool) {
        let parts = whole.split_once(':');
        let parts = parts.map(|(server, own)| (server.to_owned(), own.to_owned()));
        let why = "`tool` must be `server:tool` if no `server` is given";
        let (of, own) = parts.ok_or_else(|| wrong(why))?;
        (server, tool) = (Some(of), Some(own));
    }
    let wanted = WantedFigures { server, tool };
    ok(&api.0.management.call_figures(period, wanted).await)
}

#[derive(Deserialize)]
struct FormatQuery {
    format: Option<String>,
}

/// The format of an export.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is read in its two parts")]
struct ExportQuery {
    #[schemars(flatten)]
    query: RecordQuery,
    /// The format, `jsonl` or `csv`; `jsonl` by default.
    #[schemars(extend("enum" = ["jsonl", "csv"]))]
    format: Option<String>,
}

/// The records from the oldest on, page by page, so that neither side holds them all.
async fn export(
    State(api): State<Api>,
    Params(query): Params<RecordQuery>,
    Params(format): Params<FormatQuery>,
) -> Answer {
    let format = format.format.as_deref();
    let format = one_of("format", "jsonl or csv", format, ExportFormat::parse)?.unwrap_or_default();
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
    let body = Body::from_stream(futures_util::StreamExt::chain(head, pages));
    let kind = match format {
        ExportFormat::Jsonl => "application/jsonl",
        ExportFormat::Csv => "text/csv; charset=utf-8",
    };
    Ok(([(header::CONTENT_TYPE, kind)], body).into_response())
}

/// A page that was read, with its query; nothing after the last one.
type Pages = Option<(RecordPage, RecordQuery)>;

async fn next(
    management: &Management,
    pages: Pages,
    format: ExportFormat,
) -> Result<Option<(Bytes, Pages)>> {
    let Some((page, query)) = pages else {
        return Ok(None);
    };
    let records = page.records.iter();
    let lines: String = records.map(|record| format.line(record)).collect();
    let following = match page.next {
        None => None,
        Some(after) => {
            let query = RecordQuery {
                after: Some(after),
                run: query.run.or(page.run),
                ..query
            };
            Some((management.activity(query.clone()).await?, query))
        }
    };
    Ok(Some((lines.into(), following)))
}

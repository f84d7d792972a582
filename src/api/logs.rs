//! `/api/v1/servers/NAME/logs` and `/api/v1/logs`: the stderr of servers and the log of the daemon, their last lines or as a stream.

use std::path::PathBuf;

use axum::extract::{Path as PathPart, State};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{
    Answer, Api, FailureResponse, Params, Route, Routes, Verbs, blocking, ok,
    routes::EVENTS,
    sse::{self, StreamNews, event},
};
use crate::{
    failure::{ErrorCode, Failure, RestFailure},
    management::{FollowedLog, LogLines, Management, unreadable_log},
};

/// The part of a log to show.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogsQuery {
    /// The number of lines, 1 to 500; 50 by default.
    #[schemars(range(min = 1, max = 500))]
    #[serde(default = "usual")]
    lines: usize,
}

fn usual() -> usize {
    LogLines::USUAL
}

pub(super) fn routes<V: Verbs>() -> Routes<V> {
    vec![
        Route::get("/api/v1/servers/{name}/logs", server_logs::<V>)
            .about(
                "serverLogs",
                "The last lines of a server's log, which contains its stderr.",
            )
            .asks::<LogsQuery>()
            .gives::<LogLines>()
            .fails(&[ErrorCode::UnknownServer, ErrorCode::NoLog]),
    ]
}

/// The daemon's own log, and streams.
pub(super) fn daemon_routes() -> Routes {
    vec![
        Route::get("/api/v1/servers/{name}/logs/stream", server_logs_stream)
            .about(
                "streamServerLogs",
                "The last lines of a server's log, then each new line: events `lines`, and `end` when the server is removed.",
            )
            .asks::<LogsQuery>()
            .gives_text(EVENTS)
            .fails(&[ErrorCode::UnknownServer, ErrorCode::NoLog]),
        Route::get("/api/v1/logs", daemon_logs)
            .about(
                "daemonLogs",
                "The last lines of the daemon's log; only a daemon in the background, or with `serve --log-file`, has one.",
            )
            .asks::<LogsQuery>()
            .gives::<LogLines>()
            .fails(&[ErrorCode::NoLog]),
        Route::get("/api/v1/logs/stream", daemon_logs_stream)
            .about(
                "streamDaemonLogs",
                "The last lines of the daemon's log, then each new line: events `lines`.",
            )
            .asks::<LogsQuery>()
            .gives_text(EVENTS)
            .fails(&[ErrorCode::NoLog]),
    ]
}

async fn server_logs<V: Verbs>(
    State(verbs): State<V>,
    PathPart(name): PathPart<String>,
    Params(LogsQuery { lines }): Params<LogsQuery>,
) -> Answer {
    let management = verbs.management().clone();
    ok(&blocking(move || management.server_logs(&name, lines)).await??)
}

async fn server_logs_stream(
    State(api): State<Api>,
    PathPart(name): PathPart<String>,
    Params(LogsQuery { lines }): Params<LogsQuery>,
) -> Answer {
    let management = api.0.management.clone();
    let file = management.server_log_file(&name)?;
    followed(file, lines, Some((management, name))).await
}

/// The file of the daemon's log.
fn daemon_log(api: &Api) -> Answer<PathBuf> {
    api.0.location.log_file.clone().ok_or_else(|| {
        let error = "the daemon has no log file: it logs to its stderr";
        let hint = "Read its stderr, or start it in the background or with --log-file FILE.";
        FailureResponse(Failure::new(ErrorCode::NoLog, error, hint))
    })
}

async fn daemon_logs(
    State(api): State<Api>,
    Params(LogsQuery { lines }): Params<LogsQuery>,
) -> Answer {
    let file = daemon_log(&api)?;
    let own = file.clone();
    let read = blocking(move || LogLines::of(own, lines)).await?;
    ok(&read.map_err(|error| unreadable_log(&file, &error))?)
}

async fn daemon_logs_stream(
    State(api): State<Api>,
    Params(LogsQuery { lines }): Params<LogsQuery>,
) -> Answer {
    followed(daemon_log(&api)?, lines, None).await
}

/// A log that is followed, for as long as its server is configured.
struct LogNews {
    /// Absent while it is read.
    log: Option<FollowedLog>,
    file: PathBuf,
    of: Option<(Management, String)>,
    is_over: bool,
}

async fn followed(file: PathBuf, lines: usize, of: Option<(Management, String)>) -> Answer {
    let followed = file.clone();
    let opened = blocking(move || FollowedLog::open(&followed, lines)).await?;
    let (log, last) = opened.map_err(|error| unreadable_log(&file, &error))?;
    let news = LogNews {
        log: Some(log),
        file,
        of,
        is_over: false,
    };
    Ok(sse::respond(lines_event(&last.join("\n")), news))
}

/// Lines as an event.
fn lines_event(text: &str) -> Bytes {
    let lines: Vec<&str> = text.lines().collect();
    event("lines", &json!({ "lines": lines }))
}

impl StreamNews for LogNews {
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let mut log = self.log.take()?;
        let read = blocking(move || {
            let added = log.added();
            (log, added)
        });
        let (log, added) = read.await.ok()?;
        self.log = Some(log);
        match added {
            Ok(added) if !added.is_empty() => Some(lines_event(&added)),
            Ok(_) => {
                let of = self.of.as_ref();
                self.is_over =
                    of.is_some_and(|(management, name)| management.server(name).is_err());
                let end = self.is_over.then(|| event("end", &json!({})));
                Some(end.unwrap_or_default())
            }
            Err(error) => {
                self.is_over = true;
                let failure = unreadable_log(&self.file, &error);
                Some(event("failed", &RestFailure::of(failure)))
            }
        }
    }
}

//! What a client of HTTP finds, without a daemon around it: here a test says itself who the caller of a request is.

mod continuing;
mod ending;
mod ownership;

use std::{path::Path, sync::Arc};

use axum::{body::Body, response::Response};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Inbound, Sessions};
use crate::{
    access::{Access, Caller},
    activity::Activity,
    call_context::CallIds,
    catalog::Catalog,
    code_execution::Scripts,
    config::{self, Settings, Surroundings},
    gate::Gate,
    management::Management,
    router::Router,
    sessions::{
        sealing::{SealingKey, SessionIds},
        session_records::SessionRecords,
    },
    text::secret::Secret,
    upstream::Upstreams,
};

/// The endpoints over no servers at all.
struct Endpoints {
    inbound: Inbound,
    closing: CancellationToken,
    _folder: TempDir,
    _settings: watch::Sender<Arc<Settings>>,
}

/// Under one key, as several daemons may have it.
fn session_ids() -> SessionIds {
    SessionIds::new(&SealingKey::of(&Secret::new("the key of the tests")))
}

impl Endpoints {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: Path::new("."),
        };
        let settings = config::parse("{}", &surroundings).expect("a configuration");
        let (keeper, settings) = watch::channel(Arc::new(settings));
        let (catalog, _task) = Catalog::new(folder.path(), &[]);
        let gate = Gate::new(settings.clone(), catalog.clone());
        let management = Management::of_no_servers(catalog.clone(), folder.path());
        let router = Router::new(
            settings,
            gate,
            catalog,
            Upstreams::default(),
            Activity::none(),
            management,
            Scripts::run_by(None),
        );
        let closing = CancellationToken::new();
        let memory = router.memory().clone();
        let sessions = Sessions::new(session_ids(), SessionRecords::default(), memory);
        let inbound = Inbound::new(
            Access::default(),
            router,
            CallIds::default(),
            sessions,
            closing.clone(),
        );
        Self {
            inbound,
            closing,
            _folder: folder,
            _settings: keeper,
        }
    }

    async fn answer(
        &self,
        caller: &str,
        request: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let (method, path) = request.split_once(' ').expect("a method and a path");
        let mut asked = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            asked = asked.header(*name, *value);
        }
        let asked = asked.body(Body::from(body.to_owned()));
        let asked = asked.expect("a request");
        self.inbound.answer(Caller::named(caller), asked).await
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");
const EVENTS: (&str, &str) = ("accept", "text/event-stream");

fn initialize(revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// The id of a session that this caller opens.
async fn open(endpoints: &Endpoints, caller: &str, revision: &str) -> String {
    let opening = initialize(revision);
    let answer = endpoints.answer(caller, "POST /mcp", &[JSON, BOTH], &opening);
    let (status, headers, body) = read(answer.await).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let id = headers.get("mcp-session-id").expect("a session");
    id.to_str().expect("text").to_owned()
}

/// Its parts, with the whole body. For answers that end.
async fn read(answer: Response) -> (StatusCode, HeaderMap, String) {
    let (head, body) = answer.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let body = String::from_utf8(body.to_vec()).expect("text");
    (head.status, head.headers, body)
}

//! REST for operators: what it can do beside what the command line asks of it, and that its document says what there is.

mod evidence;
mod figures;

use std::{collections::BTreeSet, fs, io::Write, path::Path};

use crate::support::{prelude::*, sse::Event};

async fn daemon() -> (Upstream, TestDaemon) {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let (daemon, _client) = TestDaemon::before(&upstream, "echo").await;
    (upstream, daemon)
}

async fn get(daemon: &TestDaemon, path: &str) -> Value {
    let answer = daemon.rest("GET", path, "").await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

async fn post(daemon: &TestDaemon, path: &str, body: &Value) -> HttpAnswer {
    daemon.rest("POST", path, &body.to_string()).await
}

/// A stream of events, which begins with one of this kind.
async fn stream(daemon: &TestDaemon, path: &str, first: &str) -> (EventStream, Value) {
    let key = fs::read_to_string(daemon.home().data_dir().join("api_key"));
    let headers = [("x-api-key", &*key.expect("it is there"))];
    let answer = http::open(daemon.address(), "GET", path, &headers, "").await;
    assert_eq!(answer.status, 200, "{path}");
    assert_eq!(answer.header("content-type"), "text/event-stream");
    let mut stream = EventStream::new(answer);
    let begun = stream.next().await.expect("a stream begins");
    assert_eq!(begun.kind, first, "{path}");
    (stream, data(&begun))
}

fn data(event: &Event) -> Value {
    serde_json::from_str(&event.data).expect("events are JSON")
}

/// Reads on until an event of this kind comes that is meant.
async fn until(stream: &mut EventStream, kind: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
    let reading = async {
        loop {
            let event = stream.next().await;
            let event = event.unwrap_or_else(|| panic!("the stream ended before {kind}"));
            let data = data(&event);
            if event.kind == kind && is_meant(&data) {
                return data;
            }
        }
    };
    within(&format!("an event {kind}"), reading).await
}

/// Reads on until each of these has come, in whatever order.
async fn until_all(stream: &mut EventStream, mut wanted: Vec<Wanted<'_>>) {
    while !wanted.is_empty() {
        let event = until_any(stream, &wanted).await;
        let data = data(&event);
        wanted.retain(|(kind, is_meant)| *kind != event.kind || !is_meant(&data));
    }
}

/// A kind of event, and which of them is meant.
type Wanted<'a> = (&'a str, &'a dyn Fn(&Value) -> bool);

async fn until_any(stream: &mut EventStream, wanted: &[Wanted<'_>]) -> Event {
    let kinds: Vec<&str> = wanted.iter().map(|(kind, _)| *kind).collect();
    let reading = async {
        loop {
            let event = stream.next().await.expect("the stream goes on");
            let data = data(&event);
            let mut wanted = wanted.iter();
            if wanted.any(|(kind, is_meant)| *kind == event.kind && is_meant(&data)) {
                return event;
            }
        }
    };
    within(&format!("one of {kinds:?}"), reading).await
}

/// Reads a stream to its end.
async fn to_its_end(mut stream: EventStream) {
    let reading = async { while stream.next().await.is_some() {} };
    within("the end of a stream", reading).await;
}

#[tokio::test]
async fn the_demo_is_started_once_however_many_ask() {
    let (_upstream, daemon) = daemon().await;
    let start = async |_| daemon.rest("POST", "/api/v1/demo", "").await.status;
    let mut statuses = futures_util::future::join_all((0..6).map(start)).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409]);
}

#[tokio::test]
async fn a_new_secret_is_stored_over_no_other_also_by_two_at_once() {
    let settings = json!({ "keyring": "file" });
    let daemon = TestDaemon::builder().config(settings).await;
    let path = "/api/v1/secrets/rooms-api-key";
    let add = async |value: &str| {
        let body = json!({ "value": value, "new": true });
        daemon.rest("PUT", path, &body.to_string()).await
    };
    let (one, other) = tokio::join!(add("the-first-value"), add("the-second-value"));
    let (stored, refused, value) = match one.status {
        200 => (one, other, "the-first-value"),
        _ => (other, one, "the-second-value"),
    };
    assert_eq!(stored.status, 200, "{}", stored.text());
    let why = refused.json();
    assert_eq!(
        (refused.status, &why["code"]),
        (409, &json!("secret_exists"))
    );
    lacks!(refused.text(), "-value", "{why}");
    let in_file = || {
        let text = fs::read_to_string(daemon.home().data_dir().join("secrets.json"));
        text.expect("the file of secrets")
    };
    has!(in_file(), value, "the one that was stored");
    let replaced = daemon
        .rest("PUT", path, r#"{"value":"the-third-value"}"#)
        .await;
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    has!(in_file(), "the-third-value");
}

#[tokio::test]
async fn a_name_that_is_taken_leaves_the_other_additions_alone() {
    let (_upstream, daemon) = daemon().await;
    let named = |name: &str| json!({ "name": name, "command": "true", "enabled": false });
    let servers = ["one", "UP", "two", "One"].map(named);
    let servers = json!({ "servers": servers });
    let answer = post(&daemon, "/api/v1/additions", &servers).await.json();
    let errors = answer["errors"].as_array().expect("a list");
    let is_added: Vec<bool> = errors.iter().map(Value::is_null).collect();
    assert_eq!(is_added, [true, false, true, false], "{answer}");
    let undo = json!({ "id": answer["id"] });
    let undone = post(&daemon, "/api/v1/config/undo", &undo).await;
    assert_eq!(undone.status, 200, "{}", undone.text());
    for gone in ["one", "two"] {
        let path = format!("/api/v1/servers/{gone}");
        assert_eq!(daemon.rest("GET", &path, "").await.status, 404, "{gone}");
    }
    daemon.shutdown().await;
}

#[tokio::test]
async fn a_stream_tells_of_servers_lists_settings_and_records() {
    let (_upstream, daemon) = daemon().await;
    let (mut events, open) = stream(&daemon, "/api/v1/events", "open").await;
    assert_eq!(open["version"], env!("CARGO_PKG_VERSION"));
    let disable = json!({ "verb": "disable", "servers": ["up"] });
    assert_eq!(post(&daemon, "/api/v1/changes", &disable).await.status, 200);
    let is_off = |row: &Value| row["name"] == "up" && row["enabled"] == false;
    let is_change = |record: &Value| record["kind"] == "change" && record["server"] == "up";
    let is_any = |_: &Value| true;
    let wanted: [Wanted<'_>; 3] = [
        ("config", &is_any),
        ("server", &is_off),
        ("record", &is_change),
    ];
    until_all(&mut events, wanted.to_vec()).await;
    assert_eq!(
        daemon.rest("DELETE", "/api/v1/servers/up", "").await.status,
        200
    );
    until(&mut events, "removed", |gone| gone["name"] == "up").await;
    tokio::join!(daemon.shutdown(), to_its_end(events));
}

#[tokio::test]
async fn records_that_fit_are_told_as_they_come() {
    let (_upstream, daemon) = daemon().await;
    let path = "/api/v1/activity/stream?kind=call&tool=echo";
    let (mut calls, open) = stream(&daemon, path, "open").await;
    let after = open["after"].as_u64().expect("a number");
    let call = json!({ "variant": "write", "name": "up:echo", "args": { "n": 1 } });
    for _ in 0..3 {
        assert_eq!(post(&daemon, "/api/v1/call", &call).await.status, 200);
    }
    let mut last = after;
    for _ in 0..3 {
        let record = until(&mut calls, "record", |_| true).await;
        is_like!(record, { "kind": "call", "tool": "echo" });
        let id = record["id"].as_u64().expect("a number");
        assert!(id > last, "in order, and once");
        last = id;
    }
    // Whoever comes back goes on where it was.
    let path = format!("{path}&after={after}");
    let (mut again, _) = stream(&daemon, &path, "open").await;
    let first = until(&mut again, "record", |_| true).await;
    assert!(
        first["id"]
            .as_u64()
            .is_some_and(|id| id > after && id < last)
    );
    // The numbers begin again with a log that was begun anew.
    fs::remove_file(daemon.home().data_dir().join("activity.redb")).expect("it is there");
    assert_eq!(post(&daemon, "/api/v1/call", &call).await.status, 200);
    let record = until(&mut calls, "record", |_| true).await;
    assert!(
        record["id"].as_u64().is_some_and(|id| id < last),
        "{record}"
    );
    for wrong in ["cursor=1", "colour=red", "kind=nonsense"] {
        let path = format!("/api/v1/activity/stream?{wrong}");
        assert_eq!(daemon.rest("GET", &path, "").await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn the_log_of_a_server_is_followed() {
    let (_upstream, daemon) = daemon().await;
    let log = get(&daemon, "/api/v1/servers/up").await["log_file"].clone();
    let log = Path::new(log.as_str().expect("it is a process")).to_owned();
    let path = "/api/v1/servers/up/logs/stream?lines=1";
    let (mut lines, _) = stream(&daemon, path, "lines").await;
    let append = |text: &str| {
        fs::create_dir_all(log.parent().expect("a folder")).expect("ours");
        let file = fs::File::options().create(true).append(true).open(&log);
        file.expect("ours")
            .write_all(text.as_bytes())
            .expect("ours");
    };
    append("first of these\nsecond of ");
    let told = until(&mut lines, "lines", |_| true).await;
    assert_eq!(told["lines"], json!(["first of these"]));
    append("these\n");
    let told = until(&mut lines, "lines", |_| true).await;
    assert_eq!(told["lines"], json!(["second of these"]));
    let absent = daemon
        .rest("GET", "/api/v1/servers/no/logs/stream", "")
        .await;
    assert_eq!(absent.status, 404);
    // This one runs in the foreground, and its log is nowhere.
    for path in ["/api/v1/logs", "/api/v1/logs/stream"] {
        let none = daemon.rest("GET", path, "").await;
        assert_eq!(
            (none.status, &none.json()["code"]),
            (404, &json!("no_log")),
            "{path}"
        );
    }
    assert_eq!(
        daemon.rest("DELETE", "/api/v1/servers/up", "").await.status,
        200
    );
    until(&mut lines, "end", |_| true).await;
    assert!(lines.next().await.is_none());
}

#[tokio::test]
async fn a_stream_ends_with_the_login_or_the_key_of_its_reader() {
    let (_upstream, daemon) = daemon().await;
    let link = post(&daemon, "/api/v1/ui/links", &json!({})).await.json();
    let link = link["url"].as_str().expect("a link").to_owned();
    let (_, token) = link.split_once("token=").expect("a token");
    let (host, path) = (daemon.address(), format!("/ui/login?token={token}"));
    let login = http::send(host, "GET", &path, &[], "").await;
    let cookie = login.header("set-cookie").split(';').next();
    let cookie = ("cookie", cookie.expect("a cookie"));
    let answer = http::open(host, "GET", "/api/v1/events", &[cookie], "").await;
    let mut page = EventStream::new(answer);
    assert_eq!(page.next().await.expect("it begins").kind, "open");
    let (program, _) = stream(&daemon, "/api/v1/events", "open").await;
    let origin = format!("http://{host}");
    let headers = [cookie, ("origin", &*origin)];
    let out = http::send(host, "POST", "/api/v1/ui/logout", &headers, "").await;
    assert_eq!(out.status, 200, "{}", out.text());
    to_its_end(page).await;
    let file = daemon.home().config_file();
    let text = fs::read_to_string(file).expect("ours");
    let text = text.replacen('{', r#"{"api_key": "another-key-than-the-kept","#, 1);
    daemon.home().write_config(&text);
    to_its_end(program).await;
}

#[tokio::test]
async fn the_document_says_every_route_and_needs_no_key() {
    let (_upstream, daemon) = daemon().await;
    let answer = daemon.get("/api/v1/openapi.json").await;
    assert_eq!(answer.status, 200);
    let document = answer.json();
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().expect("an object");
    // Whatever the sources serve below it.
    let served = routes_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api"));
    let said: BTreeSet<String> = paths.keys().cloned().collect();
    let missing: Vec<_> = served.difference(&said).collect();
    assert!(missing.is_empty(), "not in the document: {missing:?}");
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rest.md"));
    let page = page.expect("it is there");
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().expect("an object") {
            let method = method.to_uppercase();
            let row = format!("`{method} {path}");
            assert!(page.contains(&row), "docs/rest.md lacks {row}");
            let statuses = operation["responses"].as_object().expect("an object");
            for status in ["200", "400", "401", "500"] {
                assert!(statuses.contains_key(status), "{method} {path}: {status}");
            }
        }
    }
    // What there is not is said in the same form as every failure.
    let key = fs::read_to_string(daemon.home().data_dir().join("api_key")).expect("ours");
    let key = [("x-api-key", &*key)];
    for (method, path, status, code) in [
        ("GET", "/api/v1/nothing", 404, "unknown_path"),
        ("PUT", "/api/v1/servers", 405, "method_not_allowed"),
    ] {
        let answer = http::send(daemon.address(), method, path, &key, "").await;
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (status, &json!(code))
        );
        assert_eq!(
            answer.header("allow").contains("POST"),
            status == 405,
            "{path}"
        );
    }
}

/// The paths that stand in the sources of a folder.
fn routes_in(folder: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(folder).expect("it is there");
    let files = files.map(|file| file.expect("an entry").path());
    let texts = files.filter(|file| file.is_file()).map(fs::read_to_string);
    let mut found = BTreeSet::new();
    for text in texts {
        let text = text.expect("it can be read");
        let own = text.split("#[cfg(test)]").next().unwrap_or_default();
        let paths = own.split("\"/api/v1/").skip(1);
        let paths = paths.filter_map(|rest| rest.split_once('"'));
        found.extend(paths.map(|(path, _)| format!("/api/v1/{path}")));
    }
    assert!(found.len() > 30, "{found:?}");
    found
}

//! Reading the log: in pages, by filters, as a file, and from a terminal with and without a daemon.

use std::fs;

use super::{ready, upstream};
use crate::support::prelude::*;

#[tokio::test]
async fn a_call_is_one_call_of_one_run() {
    let upstream = upstream().await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = ready(&daemon).await;
    client.call("up__echo", "{}").await;
    let before = daemon.home().activity("kind=call&tool=echo").await;
    let call = before[0]["call"].as_str().expect("an id").to_owned();
    let daemon = TestDaemon::start_in(daemon.shutdown().await).await;
    let client = ready(&daemon).await;
    let newest = |found: &[Value]| found.first().map(|record| record["call"].clone());
    // Each run counts from the beginning.
    while newest(&daemon.home().activity("kind=call&tool=fail").await) != Some(json!(call)) {
        client.call("up__fail", "{}").await;
    }
    let asked = async |more: &str| {
        let path = format!("/api/v1/activity?kind=call&call={call}{more}");
        let page = daemon.rest("GET", &path, "").await.json();
        let found = page["records"].as_array().expect("records").iter();
        let found = found.map(|record| (record["run"].clone(), record["tool"].clone()));
        (page["run"].clone(), found.collect::<Vec<_>>())
    };
    let one = |run: u64, tool: &str| vec![(json!(run), json!(tool))];
    assert_eq!(asked("").await, (json!(2), one(2, "fail")));
    assert_eq!(asked("&run=1").await, (Value::Null, one(1, "echo")));
    assert_eq!(asked("&run=3").await, (Value::Null, vec![]));
    // The newest that has it, wherever a page begins.
    assert_eq!(asked("&after=0").await, (json!(2), one(2, "fail")));
    assert_eq!(asked("&tool=echo").await, (json!(1), one(1, "echo")));
    let list = ["activity", "list", "--call", &call];
    let (ended, out, note) = daemon.home().cli(&list).await;
    assert!(
        ended == 0 && out.contains("up:fail") && !out.contains("echo"),
        "{out}"
    );
    has!(note, "run 2 of the daemon");
    let (_, out, note) = daemon
        .home()
        .cli(&[&list[..], &["--run", "1"]].concat())
        .await;
    has!(out, "up:echo");
    lacks!(out, "fail");
    assert_eq!(note, "");
}

#[tokio::test]
async fn pages_and_filters_find_every_record_once() {
    let upstream = upstream().await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = ready(&daemon).await;
    for _ in 0..7 {
        client.call("up__echo", "{}").await;
        client.call("up__fail", "{}").await;
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/v1/activity?tool=echo&limit=3{cursor}");
        let page = daemon.rest("GET", &path, "").await.json();
        let found = page["records"].as_array().expect("a list");
        seen.extend(
            found
                .iter()
                .map(|record| record["id"].as_u64().expect("a number")),
        );
        match page["next"].as_u64() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 7);
    assert!(seen.is_sorted_by(|a, b| a > b), "{seen:?}");
    assert_eq!(
        daemon
            .home()
            .activity("kind=call&server=up&outcome=tool_error")
            .await
            .len(),
        7
    );
    assert_eq!(
        daemon
            .home()
            .activity("kind=call&since=1h&until=0s&server=up")
            .await
            .len(),
        14
    );
    assert_eq!(daemon.home().activity("until=1h").await.len(), 0);
    let one = daemon
        .rest("GET", &format!("/api/v1/activity/{}", seen[0]), "")
        .await;
    assert_eq!(one.json()["tool"], "echo");
    for (path, status) in [
        ("/api/v1/activity/99999", 404),
        ("/api/v1/activity/x", 400),
        ("/api/v1/activity?since=soon", 400),
        ("/api/v1/activity?kind=call,calls", 400),
        ("/api/v1/activity?limit=many", 400),
        ("/api/v1/activity?sever=up", 400),
        ("/api/v1/activity?limit=0", 400),
        ("/api/v1/tools?frob=1", 400),
        ("/api/v1/tools?limit=0", 400),
        ("/api/v1/tools/show?name=up:echo&frob=1", 400),
        ("/api/v1/activity?format=csv", 400),
        ("/api/v1/activity/export?sever=up", 400),
        ("/api/v1/activity?cursor=1&after=1", 400),
        ("/api/v1/activity/export?format=xml", 400),
        ("/api/v1/activity/export?cursor=1", 400),
        ("/api/v1/activity/export?limit=2", 400),
        ("/api/v1/activity/stream?limit=2", 400),
        ("/api/v1/tools?limit=3", 400),
        ("/api/v1/tools?as=ada", 400),
        ("/api/v1/status?wibble=1", 400),
        ("/api/v1/servers/up/inspect?wibble=1", 400),
        ("/api/v1/openapi.json?wibble=1", 400),
    ] {
        assert_eq!(daemon.rest("GET", path, "").await.status, status, "{path}");
    }
    let exported = daemon
        .rest("GET", "/api/v1/activity/export?kind=call&server=up", "")
        .await
        .text()
        .to_owned();
    let lines: Vec<Value> = exported
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 14);
    assert!(lines.is_sorted_by_key(|record| record["id"].as_u64()));
    // What a list shows by several kinds and outcomes is what is exported by them.
    let filters = "kind=call,refusal,gap&outcome=tool_error,failed,refused";
    let listed = daemon.home().activity(filters).await.len();
    let exported = daemon
        .rest("GET", &format!("/api/v1/activity/export?{filters}"), "")
        .await;
    assert_eq!(exported.text().lines().count(), listed, "{filters}");
    assert!(0 < listed && listed < lines.len(), "{listed}");
    let csv = daemon
        .rest("GET", "/api/v1/activity/export?format=csv&tool=fail", "")
        .await
        .text()
        .to_owned();
    assert_eq!(csv.lines().count(), 8, "{csv}");
}

/// Lists, shows and exports, and gives the records that were exported.
async fn read_all(home: &Home) -> Vec<Value> {
    let (code, table, _) = home.cli(&["activity", "list", "--tool", "echo"]).await;
    assert_eq!(code, 0);
    assert!(
        table.starts_with("ID ") && table.contains("up:echo"),
        "{table}"
    );
    let (_, listed, _) = home
        .cli(&[
            "activity", "ls", "--tool", "up:echo", "-n", "1", "-o", "json",
        ])
        .await;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let id = listed["records"][0]["id"].to_string();
    let (_, shown, _) = home.cli(&["activity", "show", &id]).await;
    has!(shown, "up");
    has!(shown, "echo");
    let file = home.folder().join("export.jsonl");
    let (code, _, _) = home
        .cli(&[
            "activity",
            "export",
            "--force",
            file.to_str().expect("text"),
        ])
        .await;
    assert_eq!(code, 0);
    let exported = fs::read_to_string(file).expect("written");
    let (_, printed, _) = home.cli(&["activity", "export"]).await;
    assert_eq!(printed, exported);
    let (code, dashed, _) = home.cli(&["activity", "export", "-"]).await;
    assert_eq!((code, dashed), (0, printed));
    let missing = home.folder().join("missing/export.jsonl");
    let missing = missing.to_str().expect("text");
    let (code, _, said) = home.cli(&["activity", "export", missing]).await;
    assert_eq!(code, 1, "{said}");
    for part in [
        "no such file or folder",
        "next: name a file that can be written, or none for stdout",
    ] {
        has!(said, part);
    }
    let (_, csv, _) = home.cli(&["activity", "export", "--format", "csv"]).await;
    assert_eq!(csv.lines().count(), exported.lines().count() + 1);
    exported
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[tokio::test]
async fn the_command_line_reads_the_same_with_and_without_a_daemon() {
    let upstream = upstream().await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = ready(&daemon).await;
    for _ in 0..3 {
        client.call("up__echo", r#"{"a":1}"#).await;
    }
    let with = read_all(daemon.home()).await;
    let missing = ["activity", "show", "99999"];
    let (code, _, said) = daemon.home().cli(&missing).await;
    assert_eq!(code, 1, "{said}");
    has!(said, "no activity record 99999");
    let home = daemon.shutdown().await;
    assert_eq!(home.cli(&missing).await.0, 1);
    let without = read_all(&home).await;
    let is_of_daemon = |record: &&Value| record["kind"] == "daemon";
    assert_eq!(with[..], without[..with.len()]);
    let of_daemon: Vec<_> = without
        .iter()
        .filter(is_of_daemon)
        .map(|record| record["action"].clone())
        .collect();
    assert_eq!(of_daemon, ["start", "stop"]);
}

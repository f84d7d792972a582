//! Failures in a row are counted, however few records there are of them.

use crate::support::prelude::*;

/// What is recorded of attempts, the oldest first: what came of each, and how many alike it stands for.
async fn recorded(daemon: &TestDaemon) -> Vec<(Value, Value)> {
    let records = daemon.home().activity("kind=server&server=up").await;
    let records = records.iter().rev();
    let told = records.map(|record| (record["action"].clone(), record["times"].clone()));
    told.collect()
}

#[tokio::test]
async fn records_of_failures_in_a_row_say_how_many_they_stand_for() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let (command, args) = upstream.command_line();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let marker = folder.path().join("works");
    let script = format!(
        "test -e '{}' || exit 3; exec \"$0\" \"$@\"",
        marker.display()
    );
    let mut words = vec![json!("-c"), json!(script), json!(command)];
    words.extend(args.iter().map(|arg| json!(arg)));
    let entry = json!({ "command": "/bin/sh", "args": words });
    let daemon = TestDaemon::builder().entry("up", entry).await;
    let client = daemon.client("/mcp/call").await;
    let call = json!({ "name": "up:echo", "args": {} });
    let ask = async || daemon.rest("GET", "/api/v1/servers/up", "").await.json();
    let details = until_async("it to fail more often than is recorded", async || {
        let failed = client.call("call_tool_write", &call).await.failure();
        assert_eq!(failed["code"], "server_unavailable", "{failed}");
        let details = ask().await;
        (details["unrecorded_failures"] == 3).then_some(details)
    })
    .await;
    let why = details["server"]["last_error"].to_string();
    has!(why, "tried 9 times", "{details}");
    let six = vec![(json!("failed"), Value::Null); 6];
    assert_eq!(recorded(&daemon).await, six);

    std::fs::write(&marker, "").expect("the folder is ours");
    client.call("call_tool_write", &call).await.value();
    let more = [(json!("failed"), json!(3)), (json!("ready"), Value::Null)];
    assert_eq!(recorded(&daemon).await, [six, more.to_vec()].concat());
    let details = daemon.rest("GET", "/api/v1/servers/up", "").await.json();
    assert_eq!(details["unrecorded_failures"], 0, "{details}");
}

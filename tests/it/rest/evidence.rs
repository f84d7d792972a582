//! What records say of the time that a call and a start took. The rest of records is in `cli/transcripts/records.txt`.

use crate::support::prelude::*;

async fn newest(daemon: &TestDaemon, query: &str) -> Value {
    let found = daemon.home().activity(query).await;
    found.into_iter().next().expect("a record")
}

#[tokio::test]
async fn a_record_says_where_the_time_went() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = daemon.client("/mcp").await;
    let call = json!({ "name": "up:echo", "args": {} });
    client.call("call_tool_write", &call).await;
    let first = newest(&daemon, "tool=up:echo").await;
    let time = |record: &Value, part: &str| record["spent"][part].as_u64().expect("a time");
    let parts = ["gate_us", "waiting_us", "server_us"].map(|part| time(&first, part));
    let all = first["duration_us"].as_u64().expect("a time");
    assert!(parts.iter().sum::<u64>() <= all, "{first}");
    assert!(
        parts[1] > 0 && parts[2] > 0,
        "it was started for the call: {first}"
    );
    client.call("call_tool_write", &call).await;
    let second = newest(&daemon, "tool=up:echo").await;
    assert!(
        time(&second, "waiting_us") < time(&first, "waiting_us"),
        "{second}"
    );
    let ready = newest(&daemon, "kind=server&server=up").await;
    assert!(
        ready["duration_us"].as_u64().is_some_and(|took| took > 0),
        "{ready}"
    );
}

//! What records say of the way of a call and of a server, and what of secrets nobody is shown.

use super::get;
use crate::support::prelude::*;

async fn newest(daemon: &TestDaemon, query: &str) -> Value {
    let found = daemon.home().activity(query).await;
    found.into_iter().next().expect("a record")
}

#[tokio::test]
async fn a_record_says_what_the_gate_decided_and_where_the_time_went() {
    let upstream = FakeUpstream::stdio()
        .tool("echo", echo())
        .tool("other", echo())
        .await;
    let rules = json!([
        { "subjects": ["*"], "tools": ["up:other"], "policy": "deny" },
        { "subjects": ["*"], "tools": ["up:ec*"], "policy": "allow" },
    ]);
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(json!({ "serverAuth": { "acl": { "default": "allow", "rules": rules } } }))
        .await;
    let client = daemon.client("/mcp").await;
    let call = json!({ "name": "up:echo", "args": {} });
    client.call("call_tool_write", &call.to_string()).await;
    let first = newest(&daemon, "tool=up:echo").await;
    let gate = &first["gate"];
    is_like!(gate, { "decided_by": "rule", "rule": 1 });
    assert_eq!(gate["call_with"], "write", "{first}");
    let definition = gate["definition"].as_str().expect("a definition");
    let inspected = get(&daemon, "/api/v1/servers/up/inspect").await;
    let pinned = inspected["things"][0]["fingerprint"].as_str().expect("one");
    assert!(
        definition.len() == 16 && pinned.starts_with(definition),
        "{first}"
    );
    let time = |record: &Value, part: &str| record["spent"][part].as_u64().expect("a time");
    let parts = ["gate_us", "waiting_us", "server_us"].map(|part| time(&first, part));
    let all = first["duration_us"].as_u64().expect("a time");
    assert!(parts.iter().sum::<u64>() <= all, "{first}");
    assert!(
        parts[1] > 0 && parts[2] > 0,
        "it was started for the call: {first}"
    );
    client.call("call_tool_write", &call.to_string()).await;
    let second = newest(&daemon, "tool=up:echo").await;
    assert!(
        time(&second, "waiting_us") < time(&first, "waiting_us"),
        "{second}"
    );

    let call = json!({ "name": "up:other", "args": {} });
    let answered = client.call("call_tool_write", &call.to_string()).await;
    let refused = newest(&daemon, "tool=up:other").await;
    assert_eq!(
        (&refused["gate"]["rule"], &refused["spent"]),
        (&json!(0), &Value::Null)
    );
    let told = &refused["told"];
    assert_eq!(told["code"], "access_denied", "{refused}");
    assert_eq!(*told, answered.failure(), "as it was told");

    // What never reached a server has no parts; a wrong request is told as it was.
    client.call("nothing__there", "{}").await;
    let wrong = newest(&daemon, "outcome=invalid").await;
    is_like!(wrong, { "gate": null, "spent": null });
    assert_eq!(wrong["told"]["code"], -32602, "{wrong}");

    let ready = newest(&daemon, "kind=server&server=up").await;
    is_like!(ready, { "action": "ready", "detail": "2 tools" });
    assert!(
        ready["duration_us"].as_u64().is_some_and(|took| took > 0),
        "{ready}"
    );
}

#[tokio::test]
async fn searches_mask_what_lists_mask_and_whole_definitions_are_forwarded() {
    const TOKEN: &str = "hunter2-hunter2-hunter2";
    let definition = json!({
        "name": "whoami",
        "description": format!("Says who is\nlogged in with {TOKEN}."),
        "inputSchema": { "type": "object", "properties": { "token": { "type": "string", "default": TOKEN } } },
        "annotations": { "title": format!("As {TOKEN}") },
    });
    let upstream = FakeUpstream::stdio()
        .raw_tool(&definition.to_string(), echo())
        .tool("plain", echo())
        .await;
    let daemon = TestDaemon::builder()
        .upstream_with("up", &upstream, json!({ "env": { "API_TOKEN": TOKEN } }))
        .await;
    let client = daemon.client("/mcp").await;
    let path = "/api/v1/tools?q=who%20is%20logged%20in";
    let found = until_async("the tools are indexed", async || {
        let found = get(&daemon, path).await;
        (found["total"] != 0).then_some(found)
    })
    .await;
    assert_eq!(
        found["tools"][0]["description"],
        "Says who is\nlogged in with ***."
    );
    assert_eq!(
        found["tools"][0]["inputSchema"]["properties"]["token"]["default"],
        "***"
    );
    for path in [
        path.to_owned(),
        format!("{path}&detail=compact"),
        format!("{path}&explain=true"),
        "/api/v1/tools".to_owned(),
        "/api/v1/tools/show?name=up:whoami".to_owned(),
    ] {
        let answer = get(&daemon, &path).await.to_string();
        assert!(
            answer.contains("***") || path.contains("compact"),
            "{path}: {answer}"
        );
        lacks!(answer, "hunter2", "{path}");
    }
    for detail in ["full", "compact"] {
        let asked = json!({ "query": "who is logged in", "detail": detail });
        let answer = client
            .call("retrieve_tools", &asked.to_string())
            .await
            .frame;
        has!(answer, "up:whoami");
        lacks!(answer, "hunter2");
    }
    let asked = json!({ "names": ["up:whoami"] });
    let described = client.call("describe_tool", &asked.to_string()).await.frame;
    has!(described, TOKEN, "byte for byte");
}

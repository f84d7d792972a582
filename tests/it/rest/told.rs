//! Records say what their callers were told: agents, people and scripts, each in their own words.

use super::post;
use crate::support::prelude::*;

/// The records of the last call, that of the tool of a server first.
async fn of_last(daemon: &TestDaemon, n: usize) -> Vec<Value> {
    let mut records = daemon.home().activity("kind=call&limit=10").await;
    records.truncate(n);
    records.sort_by_key(|record| record["parent"].is_null());
    records
}

#[tokio::test]
async fn of_a_call_that_quarantine_blocks_all_of_the_answer_is_recorded() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    for kept in ["redacted", "off"] {
        let daemon = TestDaemon::builder()
            .upstream_with("up", &upstream, json!({ "quarantined": true }))
            .config(json!({ "activity": { "arguments": kept } }))
            .await;
        let arguments = json!({ "room": "blue", "token": "hunter2-hunter2" });
        let named = json!({ "name": "up:echo", "args": arguments });
        let text = json!({ "name": "up:echo", "args_json": arguments.to_string() });
        let by_path =
            json!({ "action": "call", "type": "tool", "path": "up:echo", "args": arguments });
        for (endpoint, tool, sent, records) in [
            ("/mcp", "call_tool_read", &named, 2),
            ("/mcp", "call_tool_destructive", &text, 2),
            ("/mcp/proxy", "proxy", &by_path, 2),
            ("/mcp/server/up", "echo", &arguments, 1),
        ] {
            let client = TestClient::stateless(&daemon, endpoint);
            let answered = client.call(tool, &sent.to_string()).await.failure();
            assert_eq!(answered["status"], "QUARANTINED_SERVER_BLOCKED");
            assert_eq!(answered["requestedArgs"], arguments, "{tool}");
            let mut expected = answered.clone();
            if kept == "off" {
                expected
                    .as_object_mut()
                    .expect("one")
                    .remove("requestedArgs");
            } else {
                expected["requestedArgs"]["token"] = json!("***");
            }
            let found = of_last(&daemon, records).await;
            assert_eq!(found.len(), records, "{tool}");
            for record in &found {
                assert_eq!(record["told"], expected, "{tool}: {record}");
                assert_eq!(record["outcome"], "refused", "{record}");
            }
        }
    }
}

#[tokio::test]
async fn people_and_scripts_are_told_in_their_own_words_and_rules_are_named() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let rules = json!([{ "subjects": ["*"], "tools": ["up:echo"], "policy": "deny" }]);
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .entry(
            "held",
            json!({ "command": "nothing-here", "quarantined": true }),
        )
        .config(json!({
            "enable_code_execution": true,
            "serverAuth": { "acl": { "default": "allow", "rules": rules } },
        }))
        .await;
    for name in ["up:echo", "held:echo", "nowhere:echo"] {
        let call = json!({ "variant": "read", "name": name, "args": {} });
        let answered = post(&daemon, "/api/v1/call", &call).await.json();
        let mut answered = answered;
        let step = answered.as_object_mut().and_then(|it| it.remove("step"));
        has!(answered["hint"].to_string(), "/api/v1/", "{answered}");
        let [record] = &of_last(&daemon, 1).await[..] else {
            panic!("one record");
        };
        assert_eq!(record["told"], answered, "{record}");
        assert_eq!(record["caller"], "operator");
        let hint = answered["hint"].as_str().expect("a step");
        if name == "up:echo" {
            has!(hint, "/api/v1/access/check");
            let how = step.expect("a step as data")["how"].to_string();
            has!(how, "access check operator up:echo`");
        }
    }
    let code = json!({ "code": "const told = call_tool('up', 'echo', {}); told.error.code" });
    let ran = post(&daemon, "/api/v1/code", &code).await.json();
    assert_eq!(ran["value"], "ACCESS_DENIED", "{ran}");
    let records = of_last(&daemon, 2).await;
    let gate = &records[0]["gate"];
    is_like!(gate, { "decided_by": "rule", "rule": 0 }, "{records:?}");
}

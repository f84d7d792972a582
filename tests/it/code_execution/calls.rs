//! Calls in scripts: what reaches servers, what comes back, in which order, and what is recorded and told of it.

use super::{answer, builder, ready, run_with, value, with_echo};
use crate::support::prelude::*;

/// Three servers of different transports, with a tool each that echoes.
async fn three() -> ([Upstream; 3], TestDaemon) {
    let servers = [
        FakeUpstream::stdio().tool("echo", echo()).await,
        FakeUpstream::http().tool("echo", echo()).await,
        FakeUpstream::sse().tool("echo", echo()).await,
    ];
    let [a, b, c] = &servers;
    let builder = builder().upstream("a", a).upstream("b", b).upstream("c", c);
    (servers, builder.await)
}

#[tokio::test]
async fn a_hundred_calls_over_three_servers_come_back_in_order() {
    let (servers, daemon) = three().await;
    let all = daemon.client("/mcp/all").await;
    for name in ["a__echo", "b__echo", "c__echo"] {
        all.wait_for_tool(name).await;
    }
    let client = daemon.client("/mcp/code").await;
    // Sixty at once, of which the other forty each need the one before.
    let code = "
        const servers = ['a', 'b', 'c'];
        const wanted = Array.from({length: 60}, (_, n) => ({server: servers[n % 3], tool: 'echo', args: {n}}));
        const numbers = call_tools(wanted, {max_parallel: 16}).map(answer => answer.value.n);
        let last = numbers.reduce((sum, n) => sum + n, 0);
        for (let i = 0; i < 40; i++) {
            last = call_tool(servers[i % 3], 'echo', {n: last + 1}).value.n;
        }
        return {numbers, last};";
    let answer = answer(&run_with(&client, code, json!({})).await);
    let numbers: Vec<usize> = (0..60).collect();
    assert_eq!(
        answer["value"],
        json!({ "numbers": numbers, "last": 1770 + 40 })
    );
    assert_eq!(answer["tool_calls"], 100);
    let received = servers
        .iter()
        .map(|server| server.received("tools/call").len());
    assert_eq!(received.collect::<Vec<_>>(), [34, 33, 33]);
    let recorded = daemon.home().activity("tool=echo&limit=500").await;
    assert_eq!(recorded.len(), 100);
    let of_script = daemon.home().activity("tool=code_execution").await;
    assert_eq!(of_script.len(), 1, "{of_script:?}");
    for record in &recorded {
        assert_eq!(record["parent"], of_script[0]["call"], "{record}");
        assert_eq!(record["caller"], of_script[0]["caller"], "{record}");
    }
}

#[tokio::test]
async fn each_call_carries_the_trace_of_its_script() {
    let (upstream, _daemon, client) = with_echo().await;
    let params = r#"{"_meta":{"traceparent":"00-1","tracestate":"a=1","x":1},"name":"code_execution","arguments":{"code":"call_tool('up', 'echo', {}).ok"}}"#;
    client.request("tools/call", params).await;
    let received = upstream.wait_for("tools/call").await;
    let received: Value = serde_json::from_str(&received.body).expect("a frame");
    let meta = &received["params"]["_meta"];
    assert_eq!(*meta, json!({ "traceparent": "00-1", "tracestate": "a=1" }));
}

#[tokio::test]
async fn an_error_of_a_server_is_an_answer() {
    let upstream = FakeUpstream::stdio()
        .tool("echo", echo())
        .tool(
            "fail",
            reply(r#"{"content":[{"type":"text","text":"no such file"}],"isError":true}"#),
        )
        .tool("refuse", error(r#"{"code":-32001,"message":"not today"}"#))
        .tool("die", exit())
        .await;
    let daemon = builder().upstream("up", &upstream).await;
    let client = ready(&daemon, "up__refuse").await;
    let code = "['fail', 'refuse'].map(tool => { const a = call_tool('up', tool, {}); return [a.ok, a.error] })";
    let expected = json!([
        [false, { "code": "UPSTREAM_ERROR", "message": "no such file" }],
        [false, { "code": "UPSTREAM_ERROR", "message": "not today", "reason": "-32001" }],
    ]);
    assert_eq!(value(&client, code).await, expected);
    // Nor does a server that dies end the script.
    let code = "const {error} = call_tool('up', 'die'); \
                [error.code, error.reason, call_tool('up', 'echo', {n: 1}).value]";
    let expected = json!(["UPSTREAM_ERROR", "connection_lost", { "n": 1 }]);
    assert_eq!(value(&client, code).await, expected);
}

#[tokio::test]
async fn large_results_stay_in_the_script() {
    let upstream = FakeUpstream::stdio()
        .tool("large", oversized(1 << 20))
        .tool("huge", oversized(33 << 20))
        .await;
    let daemon = builder().upstream("up", &upstream).await;
    let client = ready(&daemon, "up__huge").await;
    let code = "call_tool('up', 'large').result.content[0].text.length";
    let reply = run_with(&client, code, json!({})).await;
    assert_eq!(answer(&reply)["value"], 1 << 20);
    assert!(reply.frame.len() < 500, "{}", reply.frame.len());
    // More than a script can be given; the call has happened all the same.
    let code = "call_tools([{server: 'up', tool: 'huge'}, {server: 'up', tool: 'large'}]).map(a => a.error?.code ?? 'ok')";
    assert_eq!(
        value(&client, code).await,
        json!(["RESULT_TOO_LARGE", "ok"])
    );
    assert_eq!(upstream.received("tools/call").len(), 3);
}

/// A tool that its server declares destructive.
const WRECK: &str =
    r#"{"name":"wreck","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}"#;

#[tokio::test]
async fn what_may_destroy_something_needs_to_be_allowed() {
    let upstream = FakeUpstream::stdio()
        .raw_tool(WRECK, echo())
        .tool("delete_all", echo())
        .await;
    let daemon = builder().upstream("up", &upstream).await;
    let client = ready(&daemon, "up__wreck").await;
    let code = "['wreck', 'delete_all'].map(tool => call_tool('up', tool, {}).error?.code)";
    let refused = "DESTRUCTIVE_NOT_ALLOWED";
    assert_eq!(value(&client, code).await, json!([refused, refused]));
    assert!(upstream.received("tools/call").is_empty());
    // Nobody else finds out otherwise.
    let recorded = daemon.home().activity("tool=wreck").await;
    assert_eq!(recorded.len(), 1);
    assert_eq!(recorded[0]["code"], "wrong_variant", "{recorded:?}");
    assert_eq!(recorded[0]["gate"]["call_with"], "destructive");
    let reply = run_with(&client, code, json!({ "allow_destructive": true })).await;
    assert_eq!(answer(&reply)["value"], json!([null, null]));
    assert_eq!(upstream.received("tools/call").len(), 2);
}

#[tokio::test]
async fn what_a_script_may_not_call_has_its_codes() {
    let names = ["free", "held", "shut"];
    let mut servers = Vec::new();
    for _ in names {
        servers.push(FakeUpstream::stdio().tool("echo", echo()).await);
    }
    let acl = json!({ "default": "allow", "rules": [{ "tools": ["shut__*"], "policy": "deny" }] });
    let daemon = builder()
        .upstream("free", &servers[0])
        .upstream_with("held", &servers[1], json!({ "quarantined": true }))
        .upstream("shut", &servers[2])
        .config(json!({ "serverAuth": { "acl": acl } }))
        .await;
    let client = ready(&daemon, "free__echo").await;
    let code = "input.map(([server, tool]) => { const {error} = call_tool(server, tool); return [error?.code, error?.reason] })";
    let asked = json!([
        ["free", "nothing"],
        ["held", "echo"],
        ["shut", "echo"],
        ["absent", "x"],
        ["free", "echo"]
    ]);
    let arguments = json!({ "code": code, "input": asked });
    let found = answer(&client.call("code_execution", &arguments).await);
    let expected = json!([
        ["UNKNOWN_TOOL", "unknown_tool"],
        ["QUARANTINED", "server_quarantined"],
        ["ACCESS_DENIED", "access_denied"],
        ["UNKNOWN_SERVER", "unknown_server"],
        [null, null],
    ]);
    assert_eq!(found["value"], expected);
    // Neither of them is there for this caller.
    for name in ["shut", "absent"] {
        let reply = run_with(&client, "1", json!({ "allowed_servers": ["free", name] })).await;
        let error = reply.failure()["error"].to_string();
        has!(error, "is not configured");
    }
    let allowed = json!({ "allowed_servers": ["held"] });
    let code = "call_tool('free', 'echo').error.code";
    let found = answer(&run_with(&client, code, allowed).await);
    assert_eq!(found["value"], "SERVER_NOT_ALLOWED");
    // Nobody else finds out otherwise.
    let recorded = daemon
        .home()
        .activity("server=free&outcome=access_denied")
        .await;
    assert_eq!(recorded.len(), 1, "{recorded:?}");
    assert_eq!(recorded[0]["tool"], "echo");
    assert_eq!(servers[0].received("tools/call").len(), 1);
    for server in &servers[1..] {
        assert!(server.received("tools/call").is_empty());
    }
}

#[tokio::test]
async fn a_client_hears_the_progress_of_the_calls_under_its_own_token() {
    let upstream = FakeUpstream::stdio()
        .tool("work", progress(3).then(reply_text("done")))
        .await;
    let daemon = builder().upstream("up", &upstream).await;
    let client = ready(&daemon, "up__work").await;
    let code = "call_tool('up', 'work'); call_tools([{server: 'up', tool: 'work'}, {server: 'up', tool: 'work'}]).length";
    let arguments = json!({ "code": code });
    let reply = client
        .call_with_progress("code_execution", &arguments, r#""mine""#)
        .await;
    assert_eq!(answer(&reply)["value"], 2);
    let heard: Vec<Value> = reply
        .notices
        .iter()
        .map(|frame| serde_json::from_str(frame).expect("JSON"))
        .collect();
    // Nine of the tools, and one for the end of each call.
    assert_eq!(heard.len(), 12, "{heard:?}");
    for (n, notice) in heard.iter().enumerate() {
        assert_eq!(notice["method"], "notifications/progress");
        assert_eq!(notice["params"]["progressToken"], "mine");
        assert_eq!(notice["params"]["progress"], n + 1, "it rises by one each");
    }
    for (said, times) in [
        ("up:work (1 of 3)", 3),
        ("1 call done", 1),
        ("3 calls done", 1),
    ] {
        let with = |notice: &&Value| notice["params"]["message"] == said;
        assert_eq!(heard.iter().filter(with).count(), times, "{heard:?}");
    }
    let quiet = client.call("code_execution", &arguments).await;
    assert_eq!(quiet.notices, [""; 0]);
}

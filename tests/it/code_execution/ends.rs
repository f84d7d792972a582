//! Scripts that are ended from outside: by their client, by the death of a server, by the daemon; and what is left of them.

#[cfg(target_os = "linux")]
use std::{fs, pin::pin};

use super::{answer, builder, ready, run_with, value, with_echo};
use crate::support::prelude::*;

#[cfg(target_os = "linux")]
use mcpproxy::code_execution::limits;

/// The processes of scripts that a daemon has started.
#[cfg(target_os = "linux")]
fn processes_of_scripts(daemon: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("there are processes");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_ours = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let (_, rest) = stat.rsplit_once(") ").unwrap_or_default();
        let mut fields = rest.split(' ');
        let (state, parent) = (fields.next(), fields.next());
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        state != Some("Z")
            && parent == Some(daemon.to_string().as_str())
            && command.contains("run-script")
    };
    pids.filter(is_ours).collect()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_client_that_leaves_or_cancels_ends_its_script_and_the_calls_in_it() {
    let upstream = FakeUpstream::stdio().tool("hang", hang()).await;
    let daemon = builder().upstream("up", &upstream).await;
    let client = ready(&daemon, "up__hang").await;
    let arguments = json!({ "code": "call_tools([{server: 'up', tool: 'hang'}, {server: 'up', tool: 'hang'}])" });
    let params = call_params("code_execution", arguments.to_string());
    // The process of another test's script may run beside it; this one's is there while its calls are.
    tokio::select! {
        reply = client.request("tools/call", &params) => panic!("{reply:?}"),
        _ = upstream.wait_for_count("tools/call", 2) => (),
    }
    upstream.wait_for_count("notifications/cancelled", 2).await;
    let body = json!({ "jsonrpc": "2.0", "id": "w", "method": "tools/call",
        "params": { "name": "code_execution", "arguments": arguments } });
    let cancel = async {
        upstream.wait_for_count("tools/call", 4).await;
        client
            .notify("notifications/cancelled", r#"{"requestId":"w"}"#)
            .await
    };
    let headers = [JSON, BOTH, ("mcp-session-id", client.session())];
    let body = body.to_string();
    tokio::join!(client.raw_post(&headers, &body), cancel);
    upstream.wait_for_count("notifications/cancelled", 4).await;
    let recorded = until_async("both to be recorded", async || {
        let found = daemon
            .home()
            .activity("tool=code_execution&outcome=withdrawn")
            .await;
        (found.len() == 2).then_some(found)
    })
    .await;
    assert_eq!(recorded.len(), 2);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_process_is_left_of_scripts_that_were_ended() {
    let (_upstream, daemon, client) = with_echo().await;
    let params = call_params("code_execution", json!({ "code": "for (;;) {}" }));
    let began = tokio::select! {
        reply = client.request("tools/call", &params) => panic!("{reply:?}"),
        found = until_running(std::process::id()) => found,
    };
    until!(began.iter().all(|pid| !runs_a_script(*pid)));
    daemon.shutdown().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_script_that_computes_ends_with_a_daemon_that_is_killed() {
    let daemon = builder().spawn().await;
    let client = daemon.client("/mcp/code").await;
    let params = call_params("code_execution", json!({ "code": "for (;;) {}" }));
    let mut request = pin!(client.request("tools/call", &params));
    let began = tokio::select! {
        reply = &mut request => panic!("{reply:?}"),
        found = until_running(daemon.pid()) => found,
    };
    daemon.kill().await;
    // Much sooner than its time to compute is over.
    let ended = until("its process to end", || {
        (!began.iter().any(|pid| processes::runs(*pid))).then_some(())
    });
    let ended = tokio::time::timeout(limits::CPU / 2, ended).await;
    ended.expect("it ends with its daemon");
}

/// The processes of a daemon's scripts, when one runs.
#[cfg(target_os = "linux")]
async fn until_running(daemon: u32) -> Vec<u32> {
    until("a process to run", || {
        let found = processes_of_scripts(daemon);
        (!found.is_empty()).then_some(found)
    })
    .await
}

#[cfg(target_os = "linux")]
fn runs_a_script(pid: u32) -> bool {
    processes_of_scripts(std::process::id()).contains(&pid)
}

#[tokio::test]
async fn a_script_that_breaks_the_engine_breaks_itself() {
    let (_upstream, _daemon, client) = with_echo().await;
    // Under a limit of memory the engine is known to break down in some of these.
    for code in [
        "async function f() { await 1; return f() } f(); for (;;) f()",
        "const a = []; for (;;) { try { for (;;) a.push({x: [1, 2, 3]}) } catch { a.push(new Error('x')) } }",
        "let a = {}; for (;;) a = new Proxy(a, {})",
        "const m = new Map(); for (let i = 0; ; i++) m.set('k' + i, {v: i})",
    ] {
        let reply = run_with(&client, code, json!({ "timeout_ms": 3000 })).await;
        let found = answer(&reply);
        let code = found["error"]["code"].as_str().expect("a code");
        assert!(
            ["TIMEOUT", "OUT_OF_MEMORY", "ENGINE_FAILED"].contains(&code),
            "{found}"
        );
        assert_eq!(value(&client, "1").await, 1);
    }
}

#[tokio::test]
async fn without_being_switched_on_it_says_how_to() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = ready(&daemon, "up__echo").await;
    let failure = client
        .call("code_execution", r#"{"code":"1"}"#)
        .await
        .failure();
    assert_eq!(failure["code"], "tool_disabled");
    has!(failure["hint"], "\"enable_code_execution\": true");
    // An edit switches it on for those who are there.
    let on = TestDaemon::builder()
        .upstream("up", &upstream)
        .config(json!({ "enable_code_execution": true }));
    daemon.home().write_config(on.text());
    until_async("scripts to run", async || {
        let reply = client.call("code_execution", r#"{"code":"1"}"#).await;
        (reply.value()["structuredContent"]["value"] == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_question_within_a_script_reaches_a_client_that_can_be_asked_and_is_refused_for_others() {
    const FORM: &str =
        r#"{"message":"Which?","requestedSchema":{"type":"object","properties":{}}}"#;
    let upstream = FakeUpstream::stdio()
        .tool(
            "ask",
            ask("elicitation/create", FORM).then(reply_with_answer()),
        )
        .tool("echo", echo())
        .await;
    let daemon = builder().upstream("up", &upstream).await;
    let _ready = ready(&daemon, "up__ask").await;
    let able = json!({ "elicitation": { "form": {} } });
    let modern = ModernClient::able_to(&daemon, "/mcp/code", &able);
    let code = "const a = call_tool('up', 'ask'); [JSON.stringify(a), call_tool('up', 'echo', {n: 1}).value]";
    let reply = modern.call("code_execution", json!({ "code": code })).await;
    // No result that asks: a script cannot be run again from where it was.
    let found: Value = serde_json::from_str(&reply.text()).expect("JSON");
    assert_eq!(found["ok"], true, "{found}");
    assert_eq!(found["value"][1], json!({ "n": 1 }), "{found}");
    has!(found["value"][0], "a script cannot ask the user");
}

//! What clients can make the daemon hold: memory and file descriptors, whatever they send and however many they are.

use std::{fs, net::TcpStream};

use crate::support::prelude::*;

/// The resident memory of a process, in MiB.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.expect("a size") >> 10
}

async fn post(daemon: &DaemonProcess, body: String) -> HttpAnswer {
    http::send(daemon.address(), "POST", "/mcp", &[JSON, BOTH], body).await
}

#[tokio::test]
async fn what_clients_say_of_themselves_is_kept_in_small() {
    const CLIENTS: u64 = 60;
    let daemon = TestDaemon::builder().spawn().await;
    let initialize = |info: usize, capabilities: usize| {
        let (info, capabilities) = ("x".repeat(info), "x".repeat(capabilities));
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{"experimental":"{capabilities}"}},"clientInfo":{{"name":"hostile","version":"1","icons":"{info}"}}}}}}"#
        )
    };
    let first = post(&daemon, initialize(2 << 20, 0)).await;
    assert_eq!(first.status, 200);
    let before = resident(daemon.pid());
    for _ in 0..CLIENTS {
        let opened = post(&daemon, initialize(2 << 20, 0)).await;
        assert!(!opened.header("mcp-session-id").is_empty());
        let refused = post(&daemon, initialize(0, 2 << 20)).await;
        assert_eq!(refused.json()["error"]["code"], -32602);
        has!(refused.text(), "16 KiB");
    }
    let grown = resident(daemon.pid()).saturating_sub(before);
    assert!(grown < CLIENTS, "{CLIENTS} clients left {grown} MiB behind");
}

#[tokio::test]
async fn resources_to_be_told_of_have_bounds() {
    let upstream = FakeUpstream::stdio()
        .tool("echo", echo())
        .resource(r#"{"uri":"mem:a","name":"a"}"#, reply(r#"{"contents":[]}"#))
        .on("resources/subscribe", reply("{}"))
        .await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = daemon.client("/mcp/server/up").await;
    client.wait_for_tool("echo").await;
    let subscribe = async |uri: &str| {
        let params = json!({ "uri": uri });
        client.request("resources/subscribe", &params).await
    };
    assert_eq!(subscribe("mem:a").await.result(), "{}");
    let long = format!("mem:{}", "x".repeat(4096));
    assert_eq!(subscribe(&long).await.error_code(), -32602);
    let modern = ModernClient::new(&daemon, "/mcp/server/up");
    let wanted = json!({ "resourceSubscriptions": [long, "mem:a"] });
    let mut stream = modern.listen(&wanted.to_string()).await;
    let acknowledged = stream.next().await.expect("an open stream").data;
    has!(acknowledged, r#""resourceSubscriptions":["mem:a"]"#);
}

#[tokio::test]
async fn nobody_looks_for_a_name_that_is_too_long() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::builder().upstream("up", &upstream).await;
    let name = "x".repeat((8 << 10) + 1);
    let uri = format!("mem:{}", "x".repeat(64 << 10));
    let prompt = json!({ "type": "ref/prompt", "name": name });
    let resource = json!({ "type": "ref/resource", "uri": uri });
    let asked = [
        ("tools/call", json!({ "name": name }), "8 KiB"),
        ("prompts/get", json!({ "name": name }), "8 KiB"),
        ("resources/read", json!({ "uri": uri }), "64 KiB"),
        ("completion/complete", json!({ "ref": prompt }), "8 KiB"),
        ("completion/complete", json!({ "ref": resource }), "64 KiB"),
    ];
    for (path, tool) in [("/mcp/all", "up__echo"), ("/mcp/server/up", "echo")] {
        let client = daemon.client(path).await;
        client.wait_for_tool(tool).await;
        for (method, params, most) in &asked {
            let refused = client.request(method, &params.to_string()).await;
            assert_eq!(refused.error_code(), -32602, "{path} {method}");
            let error = refused.error();
            has!(error, format!("longer than {most}"), "{error:.300}");
            assert!(error.len() < 1000, "{path} {method} repeats it");
        }
        let fits = json!({ "name": "x".repeat(8 << 10) });
        let unknown = client.request("tools/call", &fits).await;
        lacks!(unknown.frame, "longer than", "{path}");
    }
    let client = daemon.client("/mcp/all").await;
    let path = format!("up:{name}");
    for (tool, arguments) in [
        ("call_tool_read", json!({ "name": path })),
        ("call_tool", json!({ "server": "up", "tool": name })),
        ("describe_tool", json!({ "names": ["up:echo", path] })),
        (
            "proxy",
            json!({ "action": "info", "type": "tool", "path": path }),
        ),
        (
            "proxy",
            json!({ "action": "info", "type": "resource", "path": uri }),
        ),
        (
            "upstream_servers",
            json!({ "operation": "tail_log", "name": name }),
        ),
        ("retrieve_tools", json!({ "query": "echo", "server": name })),
    ] {
        let params = json!({ "name": tool, "arguments": arguments });
        let refused = client.request("tools/call", &params).await.value();
        assert_eq!(refused["isError"], true, "{tool}");
        let text = refused["content"][0]["text"].as_str().expect("a text");
        has!(text, "longer than", "{tool}: {text:.300}");
        assert!(text.len() < 1000, "{tool} repeats it");
    }
    let call = json!({ "variant": "read", "name": path, "args": {} }).to_string();
    let refused = daemon.rest("POST", "/api/v1/call", &call).await;
    assert_eq!(refused.status, 400);
    has!(refused.text(), "longer than", "{:.300}", refused.text());
}

#[tokio::test]
async fn idle_connections_shut_nobody_out() {
    let daemon = TestDaemon::builder().spawn_under_ulimit("-n 256").await;
    let idle: Vec<TcpStream> = (0..300)
        .map(|_| TcpStream::connect(daemon.address()).expect("somebody listens"))
        .collect();
    let answer = post(&daemon, PING.to_owned()).await;
    assert_eq!(answer.status, 200);
    let client = TestClient::stateless(&daemon, "/mcp");
    assert_eq!(client.request("ping", "{}").await.result(), "{}");
    assert!(
        daemon
            .home()
            .rest("GET", "/api/v1/status", "")
            .await
            .is_some()
    );
    drop(idle);
}

#[tokio::test]
async fn where_every_connection_has_a_call_newcomers_are_told_and_soon_let_in() {
    let upstream = FakeUpstream::stdio()
        .tool("wait", gate("go").then(reply_text("done")))
        .await;
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .spawn_under_ulimit("-n 256")
        .await;
    let client = daemon.client_of("up__wait").await;
    drop(client);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__wait","arguments":{}}}"#;
    let address = daemon.address();
    let calls: Vec<_> = (0..192)
        .map(|_| tokio::spawn(http::send(address, "POST", "/mcp/all", &[JSON], call)))
        .collect();
    upstream.wait_for_count("tools/call", 192).await;
    let refused = post(&daemon, PING.to_owned()).await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["code"], "overloaded");
    assert_eq!(refused.header("retry-after"), "1");
    let status = daemon.home().rest("GET", "/api/v1/status", "").await;
    assert_eq!(status.map(|status| status.status), Some(200));
    upstream.open("go").await;
    let mut closing = 0;
    for call in calls {
        let answer = call.await.expect("no panic");
        has!(answer.text(), "done");
        closing += usize::from(answer.header("connection") == "close");
    }
    assert_eq!(closing, 1, "the one that makes room for who was refused");
    assert_eq!(post(&daemon, PING.to_owned()).await.status, 200);
}

/// The soft limit of open files of a process.
fn soft_limit(pid: u32) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

#[tokio::test]
async fn the_limit_of_open_files_is_raised_for_us_and_not_for_children() {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
    let daemon = TestDaemon::builder()
        .upstream("up", &upstream)
        .spawn_under_ulimit("-Sn 250")
        .await;
    daemon.client_of("up__echo").await;
    assert!(soft_limit(daemon.pid()) > Some(250));
    let child = upstream.pids()[0];
    until!(soft_limit(child) == Some(250));
}

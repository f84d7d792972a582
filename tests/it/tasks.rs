//! Tasks of servers: for whoever made them, and for nobody else, in both eras and on every endpoint.

mod following;

use crate::support::prelude::*;

const OF_A: &str = r#"{"taskId":"of-a","status":"working","ttl":1.10}"#;
const OF_B: &str = r#"{"taskId":"of-b","status":"working","ttl":1.10}"#;

/// Servers with the tasks of revision 2025-11-25.
fn legacy() -> [FakeUpstream; 3] {
    [
        FakeUpstream::stdio(),
        FakeUpstream::http(),
        FakeUpstream::sse(),
    ]
    .map(|upstream| {
        let made = |task: &str| reply(format!(r#"{{"task":{task}}}"#));
        upstream
            .speaking("2025-11-25")
            .capabilities(r#"{"tools":{},"tasks":{"list":{},"cancel":{}}}"#)
            .tool("a", made(OF_A))
            .tool("b", made(OF_B))
            .tool("quick", made(r#"{"taskId":"no task"}"#))
            .on("tasks/get", reply(OF_A))
            .on("tasks/result", reply(r#"{"content":[]}"#))
            .on("tasks/cancel", reply(OF_A))
            .on(
                "tasks/list",
                reply(format!(
                    r#"{{"x":1.10,"tasks":[{OF_A},{OF_B}],"nextCursor":"c"}}"#
                )),
            )
    })
}

async fn begin(client: &TestClient, tool: &str) -> Reply {
    let params = format!(r#"{{"name":"{tool}","arguments":{{}},"task":{{}}}}"#);
    client.request("tools/call", &params).await
}

#[tokio::test]
async fn a_session_reaches_the_tasks_that_it_made_and_no_others() {
    for upstream in legacy() {
        let upstream = upstream.await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        let connect = || TestClient::speaking("2025-11-25").connect(&daemon, "/mcp/server/up");
        let (a, b, stranger) = (connect().await, connect().await, connect().await);
        a.wait_for_tool("a").await;
        begin(&a, "a").await.result();
        begin(&b, "b").await.result();
        let stateless = TestClient::stateless(&daemon, "/mcp/server/up");
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            let of_a = r#"{"taskId":"of-a"}"#;
            for client in [&b, &stranger, &stateless] {
                let refused = client.request(method, of_a).await;
                assert_eq!(refused.error_code(), -32602, "{method}");
                has!(refused.error(), "Unknown task", "{method}");
            }
            a.request(method, of_a).await.result();
            assert_eq!(upstream.received(method).len(), 1);
            let never_was = a.request(method, r#"{"taskId":"no task"}"#).await;
            assert_eq!(never_was.error_code(), -32602);
            assert_eq!(a.request(method, "{}").await.error_code(), -32602);
        }
        let listed = |tasks: &str| format!(r#"{{"x":1.10,"tasks":[{tasks}],"nextCursor":"c"}}"#);
        for (client, tasks) in [(&a, OF_A), (&b, OF_B), (&stranger, "")] {
            let list = client.request("tasks/list", "{}").await;
            assert_eq!(list.result(), listed(tasks));
        }
        begin(&a, "b").await.result();
        let list = a.request("tasks/list", "{}").await;
        assert_eq!(
            list.result(),
            listed(&format!("{OF_A},{OF_B}")),
            "as it came"
        );
        // What a result holds that nobody wanted as a task is none.
        a.call("quick", "{}").await.result();
        let none = a.request("tasks/get", r#"{"taskId":"no task"}"#).await;
        assert_eq!(none.error_code(), -32602);
    }
}

#[tokio::test]
async fn without_a_session_tasks_are_for_clients_that_say_they_are_the_same() {
    let task = reply(r#"{"resultType":"task","taskId":"t","status":"working"}"#);
    let upstream = FakeUpstream::http()
        .speaking(modern::REVISION)
        .capabilities(r#"{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#)
        .tool("work", task.clone())
        .on("tasks/get", task.clone())
        .on("tasks/update", task.clone())
        .on("tasks/cancel", task)
        .await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let able = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    // On its own endpoint a server is what it is: there a client hears that it lacks a capability.
    for (path, tool, wrong) in [
        ("/mcp/server/up", "work", -32021),
        ("/mcp/all", "up__work", -32602),
    ] {
        let client = |name: &str| ModernClient::able_to(&daemon, path, &able).named(name);
        let (owner, other) = (client(&format!("a of {path}")), client("b"));
        owner.wait_for_tool(tool).await;
        owner.call(tool, "{}").await.result();
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let params = r#"{"taskId":"t"}"#;
            let before = upstream.received(method).len();
            assert_eq!(other.request(method, params).await.error_code(), -32602);
            assert_eq!(upstream.received(method).len(), before);
            owner.request(method, params).await.result();
            let unable = ModernClient::new(&daemon, path);
            assert_eq!(
                unable.request(method, params).await.error_code(),
                wrong,
                "{method}"
            );
        }
    }
}

#[tokio::test]
async fn tasks_of_the_other_era_are_not_offered() {
    let client_of = |daemon: &TestDaemon| {
        let able = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        ModernClient::able_to(daemon, "/mcp/server/up", &able)
    };
    for upstream in legacy() {
        let upstream = upstream.await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        let client = client_of(&daemon);
        client.wait_for_tool("a").await;
        for method in ["tasks/list", "tasks/result", "tasks/get", "tasks/cancel"] {
            let refused = client.request(method, r#"{"taskId":"of-a"}"#).await;
            assert_eq!(refused.error_code(), -32601, "{method}");
            assert_eq!(upstream.received(method), [""; 0]);
        }
    }
}

/// A task outlasts the call that made it, so what is about one says whom it means.
#[tokio::test]
async fn what_a_server_says_of_a_task_reaches_who_waits_for_it() {
    let status = r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"of-a","status":"working"}}"#;
    let question = r#"{"jsonrpc":"2.0","id":99,"method":"elicitation/create","params":{"message":"?","requestedSchema":{},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"of-a"}}}}"#;
    for upstream in legacy() {
        let upstream = upstream
            .on("tasks/result", gate("go").then(reply(OF_A)))
            .tool("wait", gate("go").then(reply_text("done")))
            .answering(HttpAnswers::Sse)
            .await;
        let entry = json!({ "session_scope": "shared" });
        let builder = TestDaemon::builder().upstream_with("up", &upstream, entry);
        let daemon = builder.await;
        let connect = || {
            TestClient::speaking("2025-11-25")
                .declaring(r#"{"elicitation":{}}"#)
                .connect(&daemon, "/mcp/server/up")
        };
        let (a, b) = (connect().await, connect().await);
        a.wait_for_tool("a").await;
        begin(&a, "a").await.result();
        let waiting = async {
            let reply = b.call("wait", "{}").await;
            assert!(reply.notices.is_empty(), "{:?}", reply.notices);
        };
        let answering = async {
            let of_a = r#"{"taskId":"of-a"}"#;
            upstream.wait_for_count("tools/call", 2).await;
            upstream.push(status).await;
            upstream.push(question).await;
            let refusal = upstream
                .wait_for_frame(|frame| frame.contains(r#""id":99"#))
                .await;
            has!(refusal, "several clients have used");
            let about_it = async {
                upstream.wait_for("tasks/result").await;
                upstream.push(status).await;
                upstream.push(question).await;
            };
            let waiting = a.start("tasks/result", of_a);
            let (mut result, ()) = tokio::join!(waiting, about_it);
            assert_eq!(result.next().await.as_deref(), Some(status));
            let asked = result.next().await.expect("a question");
            let asked: Value = serde_json::from_str(&asked).expect("JSON");
            a.respond(&asked["id"], r#"{"action":"decline"}"#).await;
            upstream
                .wait_for_frame(|frame| frame.contains("decline"))
                .await;
            upstream.open("go").await;
            result.finish().await.result();
        };
        tokio::join!(waiting, answering);
    }
}

#[tokio::test]
async fn where_no_tasks_are_announced_a_call_is_made_as_any_other() {
    for upstream in legacy() {
        let upstream = upstream.await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        for path in ["/mcp", "/mcp/all", "/mcp/call"] {
            let client = TestClient::speaking("2025-11-25")
                .connect(&daemon, path)
                .await;
            lacks!(client.initialized, "\"tasks\"", "{path}");
            daemon.wait_for_tool("up__quick").await;
            let wanted = r#"{"ttl":60000}"#;
            for [tool, arguments] in rows(
                r#"
                up__quick | {"x":1}
                call_tool_write | {"name":"up:quick","args":{"x":1}}
                call_tool | {"server":"up","tool":"quick","arguments":{"x":1}}
            "#,
            ) {
                let params =
                    format!(r#"{{"name":"{tool}","task":{wanted},"arguments":{arguments}}}"#);
                client.request("tools/call", &params).await.result();
                let received = upstream.received("tools/call");
                let sent = received.last().expect("it was called");
                lacks!(sent, "task", "{path} {tool}");
                has!(sent, r#"{"x":1}"#, "{path} {tool}");
            }
            for method in ["tasks/get", "tasks/list", "tasks/result", "tasks/cancel"] {
                let refused = client.request(method, r#"{"taskId":"of-a"}"#).await;
                assert_eq!(refused.error_code(), -32601, "{path} {method}");
            }
        }
    }
}

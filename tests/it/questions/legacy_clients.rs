//! Clients with a handshake: they are asked on the stream of their call.

use super::{ACCEPTED, FORM, asker, askers, asking};
use crate::support::prelude::*;

const EVERYTHING: &str = r#"{"sampling":{},"elicitation":{},"roots":{}}"#;

async fn able(daemon: &TestDaemon, path: &str) -> TestClient {
    TestClient::speaking("2025-11-25")
        .declaring(EVERYTHING)
        .connect(daemon, path)
        .await
}

/// The next frame, which must be a question: its id and its text.
async fn question(exchange: &mut Exchange) -> (Value, String) {
    let frame = exchange.next().await.expect("a question");
    let read: Value = serde_json::from_str(&frame).expect("JSON");
    assert!(
        read["method"].is_string() && !read["id"].is_null(),
        "{frame}"
    );
    (read["id"].clone(), frame)
}

#[tokio::test]
async fn a_legacy_client_is_asked_on_the_stream_of_its_call() {
    for upstream in askers() {
        let upstream = upstream.await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        let over_one_stream = TestClient::speaking("2024-11-05").over_sse();
        let over_one_stream = over_one_stream.declaring(EVERYTHING);
        let path = "/mcp/server/up";
        for client in [
            able(&daemon, path).await,
            over_one_stream
                .connect(&daemon, &format!("{path}/sse"))
                .await,
        ] {
            let mut call = client.start("tools/call", &call_params("form", "{}")).await;
            let (id, frame) = question(&mut call).await;
            has!(frame, FORM, "as it came");
            assert_eq!(client.respond(&id, ACCEPTED).await.status, 202);
            let reply = call.finish().await;
            has!(reply.text(), ACCEPTED, "as it was sent");
        }
    }
}

#[tokio::test]
async fn the_user_sees_which_server_asks() {
    for path in ["/mcp/all", "/mcp/call"] {
        let [upstream, ..] = askers();
        let upstream = upstream.await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        daemon.wait_for_tool("up__form").await;
        let client = able(&daemon, path).await;
        let params = match path {
            "/mcp/all" => call_params("up__form", "{}"),
            _ => call_params("call_tool_destructive", r#"{"name":"up:form"}"#),
        };
        let mut call = client.start("tools/call", &params).await;
        let (id, frame) = question(&mut call).await;
        let signed = FORM.replace("Your name?", "[up] Your name?");
        assert!(frame.contains(&signed), "{frame}");
        client.respond(&id, ACCEPTED).await;
        has!(call.finish().await.text(), ACCEPTED);
    }
}

#[tokio::test]
async fn what_a_client_cannot_answer_is_refused_for_it_and_the_call_goes_on() {
    for upstream in askers().into_iter().chain([asking(FakeUpstream::http())]) {
        let upstream = upstream.await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        // It declares nothing.
        let unable = daemon.client("/mcp/server/up").await;
        has!(unable.call("ping", "{}").await.text(), r#""result":{}"#);
        let reply = unable.call("form", "{}").await;
        has!(
            reply.text(),
            "cannot be answered: the client does not support it"
        );
        // This one has no stream. On a connection of its own, or it would be refused for the one before.
        let daemon = TestDaemon::with_upstream(&upstream).await;
        let stateless = TestClient::stateless(&daemon, "/mcp/server/up");
        let reply = stateless.call("form", "{}").await;
        has!(reply.text(), "-32601");
        // And this one takes none.
        let daemon = TestDaemon::with_upstream(&upstream).await;
        let client = able(&daemon, "/mcp/server/up").await;
        let headers = [
            JSON,
            ("accept", "application/json"),
            ("mcp-session-id", client.session()),
        ];
        let params = call_params("form", "{}");
        let call = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{params}}}"#);
        let answer = client.raw_post(&headers, &call).await;
        has!(answer.text(), "no event stream");
    }
}

#[tokio::test]
async fn a_page_to_open_is_for_clients_that_open_pages() {
    let page = r#"{"mode":"url","elicitationId":"e1","url":"about:blank","message":"Open it"}"#;
    let upstream = FakeUpstream::stdio()
        .tool(
            "page",
            ask("elicitation/create", page).then(reply_with_answer()),
        )
        .await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let forms_only = able(&daemon, "/mcp/server/up").await;
    let reply = forms_only.call("page", "{}").await;
    has!(
        reply.text(),
        "cannot be answered: the client does not support it"
    );
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = TestClient::speaking("2025-11-25")
        .declaring(r#"{"elicitation":{"form":{},"url":{}}}"#)
        .connect(&daemon, "/mcp/server/up")
        .await;
    let mut call = client.start("tools/call", &call_params("page", "{}")).await;
    let (id, frame) = question(&mut call).await;
    has!(frame, page);
    client.respond(&id, r#"{"action":"decline"}"#).await;
    has!(call.finish().await.text(), "decline");
}

#[tokio::test]
async fn a_question_that_several_clients_could_be_meant_by_reaches_none() {
    for upstream in [FakeUpstream::stdio(), FakeUpstream::sse()] {
        let upstream = upstream
            .tool("wait", gate("go").then(reply_text("done")))
            .tool(
                "form",
                ask("elicitation/create", FORM).then(reply_with_answer()),
            )
            .await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        let (a, b) = (
            able(&daemon, "/mcp/server/up").await,
            able(&daemon, "/mcp/server/up").await,
        );
        let waiting = async {
            let reply = a.call("wait", "{}").await;
            assert_eq!(reply.text(), "done");
            assert!(reply.notices.is_empty(), "{:?}", reply.notices);
        };
        let asking = async {
            upstream.wait_for("tools/call").await;
            let reply = b.call("form", "{}").await;
            has!(reply.text(), "several clients");
            upstream.open("go").await;
        };
        tokio::join!(waiting, asking);
        // Alone again, it is asked.
        let mut call = b.start("tools/call", &call_params("form", "{}")).await;
        let (id, _) = question(&mut call).await;
        b.respond(&id, ACCEPTED).await;
        has!(call.finish().await.text(), ACCEPTED);
    }
}

#[tokio::test]
async fn nobody_answers_a_question_of_another_session() {
    let (_upstream, daemon) = asker().await;
    let (asked, stranger) = (
        able(&daemon, "/mcp/server/up").await,
        able(&daemon, "/mcp/server/up").await,
    );
    let mut call = asked.start("tools/call", &call_params("form", "{}")).await;
    let (id, _) = question(&mut call).await;
    let forged = r#"{"action":"accept","content":{"user_name":"forged"}}"#;
    assert_eq!(stranger.respond(&id, forged).await.status, 202);
    asked.respond(&id, ACCEPTED).await;
    has!(call.finish().await.text(), ACCEPTED);
}

#[tokio::test]
async fn a_client_that_leaves_while_it_is_asked_leaves_nothing_running() {
    let (upstream, daemon) = asker().await;
    let client = able(&daemon, "/mcp/server/up").await;
    let mut call = client.start("tools/call", &call_params("form", "{}")).await;
    let _ = question(&mut call).await;
    client.delete().await;
    drop(call);
    upstream.wait_for("notifications/cancelled").await;
}

#[tokio::test]
async fn the_operator_is_asked_nothing() {
    let (_upstream, daemon) = asker().await;
    let body = json!({ "name": "up:form", "variant": "destructive" });
    let answer = daemon.rest("POST", "/api/v1/call", &body).await;
    has!(
        answer.text(),
        "cannot be answered: the client does not support it"
    );
}

#[tokio::test]
async fn a_question_that_is_open_when_its_call_ends_is_answered_with_an_error() {
    let frame = format!(
        r#"{{"jsonrpc":"2.0","id":"hasty","method":"elicitation/create","params":{FORM}}}"#
    );
    for upstream in FakeUpstream::of_each_stream() {
        let upstream = upstream
            .tool(
                "hasty",
                notice(frame.clone())
                    .then(gate("asked"))
                    .then(reply_text("done")),
            )
            .await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        let client = able(&daemon, "/mcp/server/up").await;
        let mut call = client
            .start("tools/call", &call_params("hasty", "{}"))
            .await;
        question(&mut call).await;
        upstream.open("asked").await;
        assert_eq!(call.finish().await.text(), "done");
        let refused = until("the server to be answered", || {
            let everything = upstream.everything();
            let mut bodies = everything.into_iter().map(|received| received.body);
            bodies.find(|body| body.contains("\"hasty\"") && !body.contains("\"method\""))
        })
        .await;
        has!(refused, "\"error\"");
        has!(refused, "cannot be answered");
    }
}

/// Of a server with a handshake, or with a choice, on each transport.
fn servers() -> [FakeUpstream; 4] {
    [
        FakeUpstream::stdio(),
        FakeUpstream::sse(),
        FakeUpstream::http().answering(HttpAnswers::Sse),
        FakeUpstream::stdio().speaking_both(),
    ]
}

#[tokio::test]
async fn a_question_that_its_server_withdraws_is_withdrawn_at_the_client() {
    let asking = format!(
        r#"{{"jsonrpc":"2.0","id":"of-server","method":"elicitation/create","params":{FORM}}}"#
    );
    let withdrawal = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"of-server"}}"#;
    for upstream in servers() {
        let steps = notice(&*asking)
            .then(gate("asked"))
            .then(notice(withdrawal))
            .then(gate("withdrawn"));
        let tool = steps.then(reply_text("done"));
        let upstream = upstream.tool("form", tool).await;
        let daemon = TestDaemon::with_upstream(&upstream).await;
        let client = able(&daemon, "/mcp/server/up").await;
        let mut call = client.start("tools/call", &call_params("form", "{}")).await;
        let (id, _) = question(&mut call).await;
        upstream.open("asked").await;
        let withdrawn = call.next().await.expect("a notification");
        let withdrawn: Value = serde_json::from_str(&withdrawn).expect("JSON");
        assert_eq!(withdrawn["method"], "notifications/cancelled");
        assert_eq!(withdrawn["params"]["requestId"], id);
        upstream.open("withdrawn").await;
        assert_eq!(call.finish().await.text(), "done");
        let everything = upstream.everything();
        let about_it: Vec<_> = everything
            .iter()
            .filter(|one| one.body.contains("of-server"))
            .map(|one| &one.body)
            .collect();
        assert!(about_it.is_empty(), "nobody answers it: {about_it:?}");
    }
}

#[tokio::test]
async fn pages_that_a_call_takes_and_that_one_was_opened_reach_the_client_as_they_are() {
    let refusal = r#"{"code":-32042,"message":"open \u002f","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"about:blank","message":"Open it"}]}}"#;
    let opened = r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}"#;
    for upstream in servers() {
        let upstream = upstream
            .tool("page", error(refusal))
            .tool("wait", notice(opened).then(reply_text("done")))
            .await;
        for (path, prefix) in [("/mcp/server/up", ""), ("/mcp/all", "up__")] {
            let daemon = TestDaemon::with_upstream(&upstream).await;
            daemon.wait_for_tool("up__page").await;
            let client = able(&daemon, path).await;
            let refused = client.call(&format!("{prefix}page"), "{}").await;
            assert_eq!(refused.error(), refusal);
            let params = call_params(&format!("{prefix}wait"), "{}");
            let mut call = client.start("tools/call", &params).await;
            assert_eq!(call.next().await.as_deref(), Some(opened));
            assert_eq!(call.finish().await.text(), "done");
        }
    }
}

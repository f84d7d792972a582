//! What happens while `call` waits for its server: progress and questions, as with any call.

use super::with;
use crate::support::prelude::*;

#[tokio::test]
async fn progress_comes_under_the_clients_own_token() {
    let server = FakeUpstream::stdio()
        .tool("work", progress(3).then(reply_text("done")))
        .prompt(
            r#"{"name":"work"}"#,
            progress(3).then(reply(r#"{"messages":[]}"#)),
        )
        .resource(
            r#"{"uri":"doc://work","name":"w"}"#,
            progress(3).then(reply(r#"{"contents":[]}"#)),
        );
    let (_upstream, _daemon, client) = with(server, "up__work").await;
    for (kind, path) in [
        ("tool", "up__work"),
        ("prompt", "up__work"),
        ("resource", "doc://work"),
    ] {
        let arguments = json!({ "action": "call", "type": kind, "path": path });
        let reply = client
            .call_with_progress("proxy", &arguments, r#""mine""#)
            .await;
        reply.result();
        assert_eq!(reply.notices.len(), 3, "{kind}: {:?}", reply.notices);
        for notice in &reply.notices {
            has!(notice, r#""progressToken":"mine""#);
        }
        assert_eq!(client.call("proxy", &arguments).await.notices, [""; 0]);
    }
}

const FORM: &str = r#"{"message":"Which?","requestedSchema":{"type":"object","properties":{}}}"#;
const ACCEPTED: &str = r#"{"action":"accept","content":{"n":1.10}}"#;

fn asking() -> FakeUpstream {
    let question = ask("elicitation/create", FORM);
    FakeUpstream::stdio()
        .tool("form", question.clone().then(reply_with_answer()))
        .prompt(
            r#"{"name":"form"}"#,
            question.then(reply(r#"{"messages":[],"description":"asked"}"#)),
        )
}

#[tokio::test]
async fn a_client_with_a_handshake_is_asked_on_the_stream_of_its_call() {
    let (_upstream, daemon, _client) = with(asking(), "up__form").await;
    let client = TestClient::speaking("2025-11-25")
        .declaring(r#"{"elicitation":{}}"#)
        .connect(&daemon, "/mcp/proxy")
        .await;
    for (kind, answer) in [("tool", "accept"), ("prompt", "asked")] {
        let arguments = json!({ "action": "call", "type": kind, "path": "up__form" });
        let mut exchange = client
            .start("tools/call", &call_params("proxy", &arguments))
            .await;
        let frame = exchange.next().await.expect("a question");
        has!(frame, "[up] Which?");
        let question: Value = serde_json::from_str(&frame).expect("JSON");
        client.respond(&question["id"], ACCEPTED).await;
        let reply = exchange.finish().await;
        has!(reply.result(), answer);
        has!(reply.result(), "proxyPath");
    }
}

#[tokio::test]
async fn a_client_without_handshake_is_asked_by_a_result_and_goes_on() {
    let (upstream, daemon, _client) = with(asking(), "up__form").await;
    let client = ModernClient::able_to(&daemon, "/mcp/proxy", &json!({ "elicitation": {} }));
    for (kind, method) in [("tool", "tools/call"), ("prompt", "prompts/get")] {
        let arguments = json!({ "action": "call", "type": kind, "path": "up__form" });
        let asked = client.call("proxy", &arguments.to_string()).await.value();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let requests = asked["inputRequests"].as_object().expect("questions");
        let key = requests.keys().next().expect("a question");
        let again = json!({
            "name": "proxy",
            "arguments": arguments,
            "inputResponses": { (key): { "action": "accept", "content": { "n": 1 } } },
            "requestState": asked["requestState"],
        });
        let reply = client.request("tools/call", &again.to_string()).await;
        let result = reply.value();
        assert_eq!(result["resultType"], "complete", "{result}");
        assert_eq!(result["content"][0]["annotations"]["proxyPath"], "up__form");
        assert_eq!(upstream.received(method).len(), 1, "one request");
    }
}

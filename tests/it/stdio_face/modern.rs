//! Clients of the revision without handshake on stdin and stdout.

use super::{ALONE, BRIDGE, builder, daemon_pid};
use crate::support::{
    modern_client::{meta_of, stamped},
    prelude::*,
};

const TAG: &str = "io.modelcontextprotocol/subscriptionId";

fn modern(params: &str) -> String {
    stamped(params, &meta_of(&json!({})))
}

async fn request(client: &mut PipeClient, method: &str, params: &str) -> Reply {
    client.request(method, &modern(params)).await
}

async fn call(client: &mut PipeClient, tool: &str) -> Reply {
    request(client, "tools/call", &call_params(tool, "{}")).await
}

async fn wait_for_tool(client: &mut PipeClient, name: &str) {
    until_async(name, async || {
        let list = request(client, "tools/list", "{}").await;
        let listed = list.result().contains(&format!(r#""name":"{name}""#));
        listed.then_some(())
    })
    .await;
}

async fn acknowledged(client: &mut PipeClient, id: &str) -> Value {
    let frame = client
        .notice("notifications/subscriptions/acknowledged")
        .await;
    let frame: Value = serde_json::from_str(&frame).expect("JSON");
    assert_eq!(frame["params"]["_meta"][TAG].to_string(), id);
    frame["params"]["notifications"].clone()
}

#[tokio::test]
async fn nothing_has_to_be_opened() {
    let odd = r#"{"content":[],"n":1.10,"_meta":{"b":1,"#;
    for arguments in [ALONE, BRIDGE] {
        let upstream = FakeUpstream::stdio()
            .tool("odd", reply(format!("{odd}\"a\":2}}}}")))
            .await;
        let home = builder(&upstream).home();
        let mut client = PipeClient::start(&home, arguments);
        let discovered = request(&mut client, "server/discover", "{}").await.value();
        assert_eq!(discovered["supportedVersions"], json!([MODERN]));
        wait_for_tool(&mut client, "up__odd").await;
        let answer = call(&mut client, "up__odd").await;
        assert!(answer.result().starts_with(odd), "{}", answer.frame);
        assert_eq!(answer.value()["resultType"], "complete");
        for method in ["ping", "initialize", "resources/subscribe"] {
            let error = request(&mut client, method, "{}").await.error_value();
            assert_eq!(error["code"], -32601, "{method}");
        }
        let error = client.request("server/discover", "{}").await.error_value();
        assert_eq!(error["code"], -32602);
        let later = modern("{}").replace(MODERN, "2031-01-01");
        let error = client
            .request("server/discover", &later)
            .await
            .error_value();
        assert_eq!(error["code"], -32022);
        assert_eq!(error["data"]["supported"], json!([MODERN]));
        assert_eq!(client.notices, [""; 0]);
        assert!(client.leave().await.success());
    }
}

/// Whoever asks first what we are may still prefer a handshake.
#[tokio::test]
async fn a_client_that_has_discovered_may_open_a_session() {
    for arguments in [ALONE, BRIDGE] {
        let upstream = FakeUpstream::stdio().tool("echo", echo()).await;
        let home = builder(&upstream).home();
        let mut client = PipeClient::start(&home, arguments);
        request(&mut client, "server/discover", "{}").await.result();
        client.open().await;
        client.wait_for_tool("up__echo").await;
        let answer = client.call("up__echo", "{}").await;
        assert_eq!(answer.value().get("resultType"), None);
        let error = client.request("server/discover", "{}").await.error_value();
        assert_eq!(error["code"], -32601);
        let answer = call(&mut client, "up__echo").await;
        assert_eq!(answer.value()["resultType"], "complete");
    }
}

#[tokio::test]
async fn a_request_is_withdrawn_by_its_id() {
    for arguments in [ALONE, BRIDGE] {
        let upstream = FakeUpstream::stdio().tool("slow", hang()).await;
        let home = builder(&upstream).home();
        let mut client = PipeClient::start(&home, arguments);
        wait_for_tool(&mut client, "up__slow").await;
        let params = modern(&call_params("up__slow", "{}"));
        let id = client.ask("tools/call", &params).await;
        upstream.wait_for("tools/call").await;
        client.withdraw(&id).await;
        upstream.wait_for("notifications/cancelled").await;
        request(&mut client, "tools/list", "{}").await.result();
    }
}

#[tokio::test]
async fn streams_of_news_run_beside_requests_until_they_are_withdrawn() {
    for arguments in [ALONE, BRIDGE] {
        let upstream = FakeUpstream::stdio()
            .tool("echo", echo())
            .prompt(r#"{"name":"p"}"#, reply("{}"))
            .await;
        let home = builder(&upstream).home();
        let mut client = PipeClient::start(&home, arguments);
        wait_for_tool(&mut client, "up__echo").await;
        let listen = "subscriptions/listen";
        let tools = modern(r#"{"notifications":{"toolsListChanged":true}}"#);
        let tools = client.ask(listen, &tools).await;
        let wanted = json!({"toolsListChanged": true});
        assert_eq!(acknowledged(&mut client, &tools).await, wanted);
        let both = r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":true}}"#;
        let both = client.ask(listen, &modern(both)).await;
        acknowledged(&mut client, &both).await;
        upstream.offer(&[(plain_tool("more"), echo())]).await;
        let mut heard = Vec::new();
        for _ in 0..2 {
            let frame = client.notice("notifications/tools/list_changed").await;
            let frame: Value = serde_json::from_str(&frame).expect("JSON");
            heard.push(frame["params"]["_meta"][TAG].to_string());
        }
        heard.sort();
        assert_eq!(heard, [tools.as_str(), both.as_str()]);
        client.withdraw(&tools).await;
        upstream.offer_more("prompts", r#"{"name":"q"}"#).await;
        let frame = client.notice("notifications/prompts/list_changed").await;
        has!(frame, format!(r#"/subscriptionId":{both}"#));
        upstream.offer(&[(plain_tool("other"), echo())]).await;
        let frame = client.notice("notifications/tools/list_changed").await;
        has!(frame, format!(r#"/subscriptionId":{both}"#));
        // A stream that is open keeps nobody from leaving.
        assert_eq!(client.notices, [""; 0]);
        let leaving = std::time::Instant::now();
        assert!(client.leave().await.success());
        assert!(leaving.elapsed() < super::SOON);
    }
}

#[tokio::test]
async fn streams_have_an_end_when_the_daemon_ends() {
    for arguments in [ALONE, BRIDGE] {
        let upstream = FakeUpstream::stdio().await;
        let home = builder(&upstream).home();
        let mut client = PipeClient::start(&home, arguments);
        let params = modern(r#"{"notifications":{"toolsListChanged":true}}"#);
        let id = client.ask("subscriptions/listen", &params).await;
        acknowledged(&mut client, &id).await;
        processes::terminate(daemon_pid(&home).await);
        let answer = client.answer(&id).await.value();
        assert_eq!(answer["resultType"], "complete");
        assert_eq!(answer["_meta"][TAG].to_string(), id);
        let cancelled = client.notice("notifications/cancelled").await;
        has!(cancelled, format!(r#""requestId":{id}"#));
    }
}

//! Who may read on: who called, as long as it may have what the result is of.

use super::{Shown, builder, lines, pages_after, read, whole, with_long};
use crate::support::prelude::*;

const ADA: &str = "Bearer token-of-ada-0123456789";
const BOB: &str = "Bearer token-of-bob-0123456789";

/// Two tokens, and these rules.
fn with_rules(upstream: &Upstream, rules: &Value) -> Builder {
    builder(2000).upstream("up", upstream).config(json!({
        "profiles": { "p": {} },
        "serverAuth": {
            "provider": "bearer",
            "bearer": { "tokens": {
                "token-of-ada-0123456789": "ada",
                "token-of-bob-0123456789": "bob",
            } },
            "acl": { "default": "allow", "rules": rules },
        },
    }))
}

async fn as_subject(daemon: &TestDaemon, path: &str, credential: &str) -> TestClient {
    let client = TestClient::speaking("2025-06-18").showing("authorization", credential);
    client.connect(daemon, path).await
}

async fn long() -> Upstream {
    let upstream = FakeUpstream::stdio().tool("long", reply_text(&lines()));
    upstream.tool("other", echo()).await
}

/// Reads on under a key that must not answer: the failure.
async fn refused(client: &TestClient, key: &str) -> Value {
    read(client, &json!({ "key": key })).await.failure()
}

#[tokio::test]
async fn a_key_of_another_is_as_unknown_as_one_that_never_was() {
    let upstream = long().await;
    let daemon = with_rules(&upstream, &json!([])).await;
    let ada = as_subject(&daemon, "/mcp/all", ADA).await;
    ada.wait_for_tool("up__long").await;
    let first = Shown::of_reply(&ada.call("up__long", "{}").await);
    let key = first.key().to_owned();
    assert!(key.len() >= 32);

    let bob = as_subject(&daemon, "/mcp/all", BOB).await;
    let of_ada = refused(&bob, &key).await;
    assert_eq!(of_ada["code"], "unknown_key");
    assert_eq!(of_ada, refused(&bob, &"0".repeat(32)).await);
    assert_eq!(of_ada, refused(&bob, "").await);
    assert_eq!(of_ada, refused(&bob, &"k".repeat(100_000)).await);
    let elsewhere = as_subject(&daemon, "/mcp/p/p", ADA).await;
    assert_eq!(
        of_ada,
        refused(&elsewhere, &key).await,
        "another view of what there is"
    );

    // The same subject in another session, or in none, goes on.
    let again = as_subject(&daemon, "/mcp/call", ADA).await;
    let page = Shown::of_reply(&read(&again, &json!({ "key": key, "offset": first.end })).await);
    assert_eq!(page.start, first.end);
    let pages = pages_after(&ada, first, 2000).await;
    assert_eq!(whole(&pages), lines());
}

#[tokio::test]
async fn who_shows_nothing_is_one_caller() {
    let (_upstream, daemon) = with_long(&lines()).await;
    let key = {
        let client = daemon.client("/mcp/all").await;
        Shown::of_reply(&client.call("up__long", "{}").await)
            .key
            .expect("a key")
    };
    let other = TestClient::stateless(&daemon, "/mcp/all");
    let page = Shown::of_reply(&read(&other, &json!({ "key": key })).await);
    assert_eq!(page.start, 0);
}

#[tokio::test]
async fn what_may_not_be_had_any_more_cannot_be_read_either() {
    let upstream = long().await;
    let daemon = with_rules(&upstream, &json!([])).await;
    let ada = as_subject(&daemon, "/mcp/all", ADA).await;
    ada.wait_for_tool("up__long").await;
    let direct = Shown::of_reply(&ada.call("up__long", "{}").await);
    let variant = ada.call("call_tool_write", r#"{"name":"up:long"}"#).await;
    let variant = Shown::of_reply(&variant);
    let keys = [direct.key(), variant.key()];

    let denied = json!([{ "subjects": ["ada"], "tools": ["up__long"], "policy": "deny" }]);
    let with_entry = |more: Value| {
        let open = with_rules(&upstream, &json!([]));
        open.upstream_with("up", &upstream, more).text()
    };
    let tokens = json!({ "token-of-ada-0123456789": "ada" });
    let auth = json!({ "provider": "bearer", "bearer": { "tokens": tokens } });
    let removed = builder(2000).config(json!({ "serverAuth": auth })).text();
    let edits = [
        (with_rules(&upstream, &denied).text(), "access_denied"),
        (with_entry(json!({ "enabled": false })), "server_disabled"),
        (
            with_entry(json!({ "quarantined": true })),
            "server_quarantined",
        ),
        (
            with_entry(json!({ "disabled_tools": ["long"] })),
            "tool_disabled",
        ),
        (removed, "unknown_server"),
    ];
    let open = with_rules(&upstream, &json!([])).text();
    for (text, code) in edits {
        daemon.home().write_config(&text);
        for key in keys {
            until_async(code, async || {
                let reply = read(&ada, &json!({ "key": key })).await.value();
                let said = reply["content"][0]["text"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                said.contains(&format!("\"code\":\"{code}\"")).then_some(())
            })
            .await;
        }
        daemon.home().write_config(&open);
        for key in keys {
            until_async("the text again", async || {
                let reply = read(&ada, &json!({ "key": key })).await.value();
                Shown::of(&reply).map(|_| ())
            })
            .await;
        }
    }
}

#[tokio::test]
async fn prompts_and_resources_got_through_proxy_are_read_on_by_whom_may_have_them() {
    let text = Value::from(lines());
    let contents = format!(r#"{{"contents":[{{"uri":"doc://a","text":{text}}}]}}"#);
    let messages =
        format!(r#"{{"messages":[{{"role":"user","content":{{"type":"text","text":{text}}}}}]}}"#);
    let upstream = FakeUpstream::stdio()
        .tool("other", echo())
        .resource(r#"{"uri":"doc://a","name":"a"}"#, reply(&contents))
        .prompt(r#"{"name":"ask"}"#, reply(&messages))
        .await;
    let daemon = with_rules(&upstream, &json!([])).await;
    let all = as_subject(&daemon, "/mcp/all", ADA).await;
    all.wait_for_tool("up__other").await;
    let ada = as_subject(&daemon, "/mcp/proxy", ADA).await;
    let mut keys = Vec::new();
    for (kind, path) in [("resource", "doc://a"), ("prompt", "up__ask")] {
        let arguments = json!({ "action": "call", "type": kind, "path": path });
        let first = Shown::of_reply(&ada.call("proxy", &arguments).await);
        keys.push(first.key().to_owned());
        let pages = pages_after(&ada, first, 2000).await;
        has!(whole(&pages), "149 äöü", "{kind}");
    }
    let denied = json!([{
        "subjects": ["ada"], "resources": ["doc://*"], "prompts": ["up__ask"], "policy": "deny",
    }]);
    daemon
        .home()
        .write_config(with_rules(&upstream, &denied).text());
    for key in keys {
        until_async("a refusal", async || {
            let reply = read(&ada, &json!({ "key": key })).await.value();
            let said = reply["content"][0]["text"].as_str().unwrap_or_default();
            said.contains("\"code\":\"access_denied\"").then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn nothing_is_cut_for_whom_reading_on_is_denied() {
    let upstream = long().await;
    let rules = json!([{ "subjects": ["bob"], "tools": ["read_cache"], "policy": "deny" }]);
    let daemon = with_rules(&upstream, &rules).await;
    let bob = as_subject(&daemon, "/mcp/all", BOB).await;
    bob.wait_for_tool("up__long").await;
    assert_eq!(bob.call("up__long", "{}").await.text(), lines());
    assert!(!bob.tool_names().await.contains(&"read_cache".to_owned()));
    assert_eq!(refused(&bob, "k").await["code"], "access_denied");
    let ada = as_subject(&daemon, "/mcp/all", ADA).await;
    Shown::of_reply(&ada.call("up__long", "{}").await);
}

#[tokio::test]
async fn an_edit_of_the_limit_takes_effect_at_once_and_loses_nothing() {
    let upstream = long().await;
    let with = |limit: usize| builder(limit).upstream("up", &upstream);
    let daemon = with(0).await;
    let client = daemon.client_of("up__long").await;
    assert_eq!(client.call("up__long", "{}").await.text(), lines());
    let mut events = client.listen().await;
    daemon.home().write_config(with(2000).text());
    events.next_frame("notifications/tools/list_changed").await;
    client.wait_for_tool("read_cache").await;
    let first = Shown::of_reply(&client.call("up__long", "{}").await);
    daemon.home().write_config(with(0).text());
    until_async("the whole text", async || {
        let text = client.call("up__long", "{}").await.text();
        (text == lines()).then_some(())
    })
    .await;
    let pages = pages_after(&client, first, 20_000).await;
    assert_eq!(whole(&pages), lines());
}

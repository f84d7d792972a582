//! What is cut and what is not: on which ways, of which results, and that everything else of them stays byte for byte.

use super::{Shown, builder, lines, pages_after, whole, with_long};
use crate::support::prelude::*;

/// A server with these tools, on a daemon that cuts at 2000 characters, and a client that sees them.
async fn with_tools(tools: &[(&str, String)]) -> (Upstream, TestDaemon, TestClient) {
    let upstream = tools
        .iter()
        .fold(FakeUpstream::stdio(), |upstream, (definition, result)| {
            upstream.raw_tool(definition, reply(result))
        })
        .await;
    let daemon = builder(2000).upstream("up", &upstream).await;
    let client = daemon.client("/mcp/all").await;
    client.tool_names().await;
    (upstream, daemon, client)
}

const PLAIN: &str = r#"{"name":"t","inputSchema":{"type":"object"}}"#;
const TYPED: &str =
    r#"{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}"#;

#[tokio::test]
async fn every_way_of_a_model_is_cut_and_no_other() {
    let text = lines();
    let (_upstream, daemon) = with_long(&text).await;
    let all = daemon.client("/mcp/all").await;
    let by_variant = json!({ "name": "up:long" });
    for (tool, arguments) in [
        ("up__long", json!({})),
        ("call_tool_write", by_variant.clone()),
        ("call_tool_destructive", by_variant.clone()),
        ("call_tool", json!({ "server": "up", "tool": "long" })),
        (
            "proxy",
            json!({ "action": "call", "type": "tool", "path": "up__long" }),
        ),
    ] {
        for path in ["/mcp", "/mcp/all", "/mcp/call", "/mcp/code", "/mcp/proxy"] {
            let client = daemon.client(path).await;
            let reply = client.call(tool, &arguments.to_string()).await;
            let first = Shown::of_reply(&reply);
            assert!(first.chars <= 2000, "{tool}");
            let pages = pages_after(&client, first, 2000).await;
            assert_eq!(whole(&pages), text, "{tool} {path}");
        }
    }
    let modern = ModernClient::new(&daemon, "/mcp/all");
    let first = Shown::of_reply(&modern.call("up__long", "{}").await);
    let next = json!({ "key": first.key(), "offset": first.end }).to_string();
    let next = Shown::of_reply(&modern.call("read_cache", &next).await);
    assert_eq!(next.start, first.end);

    let native = daemon.client("/mcp/server/up").await;
    assert_eq!(native.call("long", "{}").await.text(), text);
    let body = json!({ "variant": "write", "name": "up:long" });
    let rest = daemon.rest("POST", "/api/v1/call", &body).await;
    lacks!(rest.text(), "read_cache");
    has!(rest.text(), "149 äöü");
    // Our own words are not cut.
    let found = all.call("describe_tool", r#"{"names":["up:long"]}"#).await;
    assert!(found.value()["structuredContent"]["tools"][0].is_object());
    let list = json!({ "action": "list", "type": "tool" });
    let listed = all.call("proxy", &list).await.value();
    let content = listed["content"].as_array().expect("content");
    let text = content[0]["resource"]["text"].as_str().expect("a text");
    assert!(text.len() > 2000, "as long as what is cut");
    assert!(content.len() == 1 && serde_json::from_str::<Value>(text).is_ok());
}

#[tokio::test]
async fn nothing_is_cut_or_listed_unless_that_is_switched_on() {
    let text = lines();
    let result = format!(
        r#"{{ "content":[{{"type":"text","text":{}}} ] }}"#,
        Value::from(text)
    );
    let upstream = FakeUpstream::stdio().tool("long", reply(&result)).await;
    let (daemon, all) = TestDaemon::before(&upstream, "long").await;
    assert_eq!(all.call("up__long", "{}").await.result(), result);
    let unknown = all.call("read_cache", r#"{"key":"k"}"#).await.failure();
    assert_eq!(unknown["code"], "unknown_key");
    for path in ["/mcp/all", "/mcp/call", "/mcp/code"] {
        let names = daemon.client(path).await.tool_names().await;
        assert!(!names.contains(&"read_cache".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn the_tool_that_reads_on_is_listed_where_results_are_cut() {
    let (_upstream, daemon) = with_long("short").await;
    for path in ["/mcp/all", "/mcp/call", "/mcp/code"] {
        let names = daemon.client(path).await.tool_names().await;
        assert!(names.contains(&"read_cache".to_owned()), "{path}");
    }
    let native = daemon.client("/mcp/server/up").await;
    assert_eq!(native.tool_names().await, ["long"]);
}

#[tokio::test]
async fn what_fits_comes_byte_for_byte() {
    let fits = format!(
        r#"{{ "content":[ {{"type":"text","text":"{}"}} ],"z":1.10}}"#,
        "\\u00e4".repeat(2000)
    );
    let image = format!(
        r#"{{"content":[{{"type":"text","text":"see"}},{{"type":"image","data":"{}","mimeType":"image/png"}}]}}"#,
        "A".repeat(200_000)
    );
    let blob = format!(
        r#"{{"content":[{{"type":"resource","resource":{{"uri":"x:y","blob":"{}"}}}},{{"type":"audio","data":"{0}","mimeType":"audio/wav"}}]}}"#,
        "A".repeat(200_000)
    );
    let structured = format!(
        r#"{{"content":[{{"type":"text","text":"see"}}],"structuredContent":{{"a":"{}"}}}}"#,
        "A".repeat(200_000)
    );
    for result in [fits, image, blob, structured] {
        let (_upstream, _daemon, client) = with_tools(&[(PLAIN, result.clone())]).await;
        assert!(client.call("up__t", "{}").await.result() == result);
    }
}

#[tokio::test]
async fn an_error_is_cut_and_stays_one_with_all_else_that_it_has() {
    let text = lines();
    let image =
        r#"{"type":"image","data":"AA==","mimeType":"image/png","annotations":{"priority":1.0}}"#;
    let result = format!(
        r#"{{"_meta":{{"b":1.10,"a":2}},"content":[{image},{{"type":"text","text":{},"annotations":{{"audience":["user"]}}}},{image}],"isError":true,"x":[ 1e2 ]}}"#,
        Value::from(&*text)
    );
    let (_upstream, _daemon, client) = with_tools(&[(PLAIN, result)]).await;
    let reply = client.call("up__t", "{}").await;
    let raw = reply.result();
    assert!(
        raw.starts_with(&format!(
            r#"{{"_meta":{{"b":1.10,"a":2}},"content":[{image},{{"type":"text","text":""#
        )),
        "{raw}"
    );
    assert!(
        raw.ends_with(&format!(
            r#","annotations":{{"audience":["user"]}}}},{image}],"isError":true,"x":[ 1e2 ]}}"#
        )),
        "{raw}"
    );
    let pages = pages_after(&client, Shown::of_reply(&reply), 2000).await;
    assert_eq!(whole(&pages), text);
}

#[tokio::test]
async fn several_texts_are_one_result_and_end_pages() {
    let texts: Vec<String> = (0..40)
        .map(|n| format!("{{\"n\":{n},\"t\":\"{}\"}}", "ä".repeat(90)))
        .collect();
    let items = texts
        .iter()
        .map(|text| json!({ "type": "text", "text": text }));
    let result = json!({ "content": items.collect::<Vec<_>>() }).to_string();
    let (_upstream, _daemon, client) = with_tools(&[(PLAIN, result)]).await;
    let reply = client.call("up__t", "{}").await;
    let content = reply.value()["content"].take();
    let content = content.as_array().expect("items");
    assert_eq!(content[0]["text"], *texts[0], "{content:?}");
    let pages = pages_after(&client, Shown::of_reply(&reply), 2000).await;
    assert_eq!(whole(&pages), texts.concat());
    assert!(pages.iter().all(|page| page.text.ends_with('}')));
}

#[tokio::test]
async fn the_text_of_an_embedded_resource_is_a_text() {
    let text = lines();
    let resource = |text: &str| json!({ "type": "resource", "resource": { "uri": "file:///a", "mimeType": "text/plain", "text": text } });
    let result = json!({ "content": [resource(&text)] }).to_string();
    let (_upstream, _daemon, client) = with_tools(&[(PLAIN, result)]).await;
    let reply = client.call("up__t", "{}").await;
    let first = Shown::of_reply(&reply);
    let content = reply.value()["content"].take();
    assert_eq!(content[0], resource(&first.text));
    assert!(
        content[1]["text"]
            .as_str()
            .is_some_and(|said| said.starts_with("[cut here"))
    );
    let pages = pages_after(&client, first, 2000).await;
    assert_eq!(whole(&pages), text);
}

#[tokio::test]
async fn structured_content_stays_valid_for_whom_a_schema_was_shown() {
    let data = json!({ "items": (0..1000).collect::<Vec<_>>() });
    let result = json!({ "content": [{ "type": "text", "text": data.to_string() }], "structuredContent": data });
    let (_upstream, _daemon, client) = with_tools(&[(TYPED, result.to_string())]).await;
    let direct = client.call("up__t", "{}").await.value();
    assert_eq!(direct["structuredContent"], data, "its schema was listed");
    assert!(Shown::of(&direct).is_some());
    // No client was shown a schema of what this one gives, and some show models nothing else.
    let variant = client.call("call_tool_write", r#"{"name":"up:t"}"#).await;
    assert!(variant.value().get("structuredContent").is_none());
    let pages = pages_after(&client, Shown::of_reply(&variant), 2000).await;
    assert_eq!(whole(&pages), data.to_string());

    let more = json!({ "content": result["content"], "structuredContent": { "count": 1000 } });
    let (_upstream, _daemon, client) = with_tools(&[(PLAIN, more.to_string())]).await;
    let reply = client.call("up__t", "{}").await.value();
    assert_eq!(
        reply["structuredContent"],
        json!({ "count": 1000 }),
        "the texts do not have it"
    );
    let (_upstream, _daemon, client) = with_tools(&[(PLAIN, result.to_string())]).await;
    let reply = client.call("up__t", "{}").await.value();
    assert!(
        reply.get("structuredContent").is_none(),
        "the text has all of it"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn scripts_get_everything_and_what_they_end_with_is_cut() {
    let text = lines();
    let upstream = FakeUpstream::stdio().tool("long", reply_text(&text)).await;
    let daemon = builder(2000)
        .config(json!({ "enable_code_execution": true }))
        .upstream("up", &upstream)
        .await;
    daemon.wait_for_tool("up__long").await;
    let client = daemon.client("/mcp/code").await;
    let run = async |code: &str| client.call("code_execution", json!({ "code": code })).await;
    let length = run("call_tool('up', 'long').result.content[0].text.length").await;
    let units = text.encode_utf16().count();
    assert_eq!(length.value()["structuredContent"]["value"], units);
    for code in [
        "call_tool('up', 'long').result.content[0].text",
        "'a\\n'.repeat(5000)",
        // What was refused is no part of it.
        "call_tool('up', 'gone'); call_tool('none', 'long'); call_tool('up', 'long').result.content[0].text",
    ] {
        let reply = run(code).await;
        let shown = reply.value()["structuredContent"].take();
        assert_eq!(shown["ok"], true);
        assert!(shown.get("value").is_none());
        let said = shown["cut"].as_str().expect("how to go on").to_owned();
        let first = Shown::of_reply(&reply);
        has!(said, first.key());
        has!(said, "\"offset\":0");
        let pages = pages_after(&client, first, 2000).await;
        let answer: Value = serde_json::from_str(&whole(&pages)).expect("JSON");
        assert_eq!(answer["ok"], true);
        assert!(answer["value"] == text || answer["value"] == "a\n".repeat(5000));
    }
}

#[tokio::test]
async fn the_result_of_a_task_is_cut_where_it_is_fetched() {
    let text = lines();
    let of_task = |status: &str, more: Value| {
        let mut task = json!({ "resultType": "complete", "taskId": "t", "status": status });
        task.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        reply(task.to_string())
    };
    let done = json!({ "result": { "content": [{ "type": "text", "text": text }] } });
    let upstream = FakeUpstream::http()
        .speaking(modern::REVISION)
        .capabilities(r#"{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#)
        .tool(
            "work",
            reply(r#"{"resultType":"task","taskId":"t","status":"working"}"#),
        )
        .on("tasks/get", of_task("completed", done))
        .await;
    let daemon = builder(2000).upstream("up", &upstream).await;
    let able = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let client = ModernClient::able_to(&daemon, "/mcp/all", &able).named("a");
    client.wait_for_tool("up__work").await;
    client.call("up__work", "{}").await.result();
    let task = client
        .request("tasks/get", r#"{"taskId":"t"}"#)
        .await
        .value();
    assert_eq!(task["status"], "completed", "{task}");
    let shown = Shown::of(&task["result"]).expect("it is cut");
    assert!(text.starts_with(&shown.text) && shown.chars <= 2000);
    let next = json!({ "key": shown.key(), "offset": shown.end }).to_string();
    let next = Shown::of_reply(&client.call("read_cache", &next).await);
    assert_eq!(next.start, shown.end);
}

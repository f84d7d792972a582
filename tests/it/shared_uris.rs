//! Two servers with one URI: whatever names it leads to the document of the server that named it.

use crate::support::prelude::*;

const SHARED: &str = "ui://app/chart.html";
const RENAMED: &str = "ui://z/app/chart.html";

/// In both spellings, and where it is no name of a resource.
const RESULT: &str = r#"{ "content":[ {"type":"resource_link","uri":"ui://app/chart.html","name":"c","n":1.10} ,{"resource":{"uri":"ui:\/\/app\/chart.html","text":"ui://app/chart.html"},"type":"resource"},{"type":"text","text":"t","uri":"ui://app/chart.html"}],"structuredContent":{"uri":"ui://app/chart.html"},"_meta":{"ui":{"x":1.0,"resourceUri":"ui://app/chart.html"}}}"#;
/// Names nothing that both have.
const OWN: &str = r#"{ "content":[ {"type":"resource_link","uri":"lib:\/\/own","name":"o"} ],"_meta":{"ui":{"resourceUri":"ui://unknown"}},"n":1.10 }"#;
const LONG: &str =
    r#"{"content":[{"type":"resource","resource":{"uri":"ui://app/chart.html","text":"TEXT"}}]}"#;
const MESSAGES: &str = r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"ui://app\u002fchart.html","text":""}}}],"x":1.10}"#;

async fn app(name: &str, lists_its_view: bool) -> Upstream {
    let tool = |name: &str, meta: &str| {
        let annotations = r#""annotations":{"readOnlyHint":true}"#;
        format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},{annotations}{meta}}}"#)
    };
    let views = r#","_meta":{"ui":{"resourceUri":"ui://app/chart.html","n":1.10},"ui/resourceUri":"ui:\/\/app/chart.html"}"#;
    let app = FakeUpstream::stdio()
        .raw_tool(tool("chart", views), reply(RESULT))
        .raw_tool(tool("own", ""), reply(OWN))
        .tool("long", reply(LONG.replace("TEXT", &"word ".repeat(500))))
        .prompt(r#"{"name":"show"}"#, reply(MESSAGES));
    let read = format!(r#"{{"contents":[{{"uri":"{SHARED}","text":"{name}"}}]}}"#);
    let app = if lists_its_view {
        app.resource(format!(r#"{{"uri":"{SHARED}","name":"r"}}"#), reply(read))
    } else {
        app.on("resources/read", reply(read))
    };
    app.await
}

async fn two_apps(lists_its_view: bool) -> ([Upstream; 2], TestDaemon, TestClient) {
    let apps = [app("a", true).await, app("z", lists_its_view).await];
    let daemon = TestDaemon::builder()
        .upstream("a", &apps[0])
        .upstream("z", &apps[1])
        .config(json!({ "tool_response_limit": 2000 }))
        .await;
    let all = daemon.client_of("a__chart").await;
    all.wait_for_tool("z__chart").await;
    (apps, daemon, all)
}

/// What z has in place of what it and a send.
fn of_z(text: &str) -> String {
    let named =
        |spelled: &str, key: &str| (format!("{key}{spelled}"), format!("{key}\"{RENAMED}\""));
    let links = r#""resource_link","uri":"#;
    let embedded = r#""resource":{"uri":"#;
    [
        named(r#""ui://app/chart.html""#, links),
        named(r#""ui:\/\/app\/chart.html""#, embedded),
        named(r#""ui://app\u002fchart.html""#, embedded),
        named(r#""ui://app/chart.html""#, r#""resourceUri":"#),
        named(r#""ui:\/\/app/chart.html""#, r#""ui/resourceUri":"#),
    ]
    .iter()
    .fold(text.to_owned(), |text, (own, offered)| {
        text.replace(own, offered)
    })
}

async fn read(client: &TestClient, uri: &Value) -> Value {
    let params = json!({ "uri": uri });
    let reply = client.request("resources/read", &params).await;
    let mut contents = reply.value()["contents"].take();
    assert_eq!(contents[0]["uri"], *uri);
    contents[0]["text"].take()
}

#[tokio::test]
async fn a_view_of_a_tool_is_that_of_its_server() {
    // An app need not list its views.
    for lists_its_view in [true, false] {
        let (_apps, daemon, all) = two_apps(lists_its_view).await;
        let list = all.request("tools/list", "{}").await;
        let (search, proxy) = (
            daemon.client("/mcp").await,
            daemon.client("/mcp/proxy").await,
        );
        for server in ["a", "z"] {
            let offered = format!("{server}__chart");
            let listed = entries(list.result(), "tools");
            let names_it = format!(r#""name":"{offered}""#);
            let listed = listed.into_iter().find(|one| one.contains(&names_it));
            let listed = listed.expect("it is listed");
            let names = json!({ "names": [format!("{server}:chart")] });
            let described = search.call("describe_tool", &names).await.value();
            let described = described["structuredContent"]["tools"][0].clone();
            let info = json!({ "action": "info", "type": "tool", "path": offered }).to_string();
            let info = proxy.call("proxy", &info).await.value();
            let info = info["content"][0]["resource"]["text"]
                .as_str()
                .expect("JSON")
                .to_owned();
            for definition in [&listed, &described.to_string(), &info] {
                let definition: Value = serde_json::from_str(definition).expect("JSON");
                let meta = &definition["_meta"];
                for uri in [&meta["ui"]["resourceUri"], &meta["ui/resourceUri"]] {
                    assert_eq!(read(&all, uri).await, server, "{uri}");
                }
            }
        }
        has!(
            list.result(),
            format!(r#"{{"resourceUri":"{RENAMED}","n":1.10}}"#)
        );
    }
}

#[tokio::test]
async fn results_and_prompts_name_the_uri_that_leads_back() {
    let (_apps, daemon, all) = two_apps(true).await;
    let (search, proxy) = (
        daemon.client("/mcp").await,
        daemon.client("/mcp/proxy").await,
    );
    for (server, expected) in [("a", <str>::to_owned as fn(&str) -> String), ("z", of_z)] {
        for (tool, result) in [("chart", RESULT), ("own", OWN)] {
            let expected = expected(result);
            let called = all.call(&format!("{server}__{tool}"), "{}").await;
            assert_eq!(called.result(), expected);
            let named = json!({ "name": format!("{server}:{tool}") });
            let called = search.call("call_tool_read", &named).await;
            assert_eq!(called.result(), expected);
            let body = format!(r#"{{"name":"{server}:{tool}","variant":"read"}}"#);
            let called = daemon.rest("POST", "/api/v1/call", &body).await;
            assert!(called.text().contains(&expected), "{}", called.text());
            let native = daemon.client(&format!("/mcp/server/{server}")).await;
            assert_eq!(native.call(tool, "{}").await.result(), result);
        }
        let cut = all.call(&format!("{server}__long"), "{}").await;
        has!(cut.result(), "read_cache");
        let named = cut.value()["content"][0]["resource"]["uri"].take();
        assert_eq!(named == RENAMED, server == "z", "{named}");

        let name = format!("{server}__show");
        let got = all.request("prompts/get", json!({ "name": name })).await;
        assert_eq!(got.result(), expected(MESSAGES));
        let uri = &got.value()["messages"][0]["content"]["resource"]["uri"];
        assert_eq!(read(&all, uri).await, server);
        for (kind, path) in [("tool", format!("{server}__chart")), ("prompt", name)] {
            let call = json!({ "action": "call", "type": kind, "path": path });
            let called = proxy.call("proxy", &call).await;
            assert_eq!(called.result().contains(RENAMED), server == "z", "{path}");
        }
    }
}

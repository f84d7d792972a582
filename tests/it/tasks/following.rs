//! Streams of news about tasks (tasks extension, revision 2026-07-28).

use crate::support::{
    modern::{REFUSED_TASK, UNHEARD_TASK},
    prelude::*,
};

const TAG: &str = "io.modelcontextprotocol/subscriptionId";
const LISTEN: &str = "subscriptions/listen";
const DECLARED: &str =
    r#"{"tools":{},"resources":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

fn able() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

fn both() -> [FakeUpstream; 2] {
    [FakeUpstream::stdio(), FakeUpstream::http()].map(|upstream| {
        let upstream = upstream.speaking(modern::REVISION);
        upstream.capabilities(DECLARED)
    })
}

/// Offers a tool that is answered with the task of this id.
fn making(upstream: FakeUpstream, id: &str) -> FakeUpstream {
    let task = format!(r#"{{"resultType":"task","taskId":"{id}","status":"working"}}"#);
    upstream.tool(id, reply(task))
}

/// A task in a new state, as its server says it.
fn state(id: &str, rest: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{{"taskId":"{id}","status":"completed","x":1.10{rest}}}}}"#
    )
}

/// The same on the stream of this id.
fn heard(id: &str, rest: &str, stream: i64) -> String {
    state(id, &format!(r#"{rest},"_meta":{{"{TAG}":{stream}}}"#))
}

async fn next(stream: &mut EventStream) -> String {
    stream.next().await.expect("an event").data
}

/// What of the filter is met.
async fn met(stream: &mut EventStream) -> Value {
    let frame: Value = serde_json::from_str(&next(stream).await).expect("JSON");
    assert_eq!(frame["method"], "notifications/subscriptions/acknowledged");
    frame["params"]["notifications"].clone()
}

/// The tasks that a server is listened to for, and the extensions that are declared for it.
fn listened(frame: &str) -> (Value, Value) {
    let frame: Value = serde_json::from_str(frame).expect("a frame");
    let meta = &frame["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    (
        frame["params"]["notifications"]["taskIds"].clone(),
        meta["extensions"]["io.modelcontextprotocol/tasks"].clone(),
    )
}

#[tokio::test]
async fn a_stream_brings_the_states_of_its_clients_own_tasks() {
    let note = |upstream| {
        let contents = reply(r#"{"contents":[]}"#);
        FakeUpstream::resource(upstream, r#"{"uri":"lib://note","name":"n"}"#, contents)
    };
    let ([a, b], [d, c]) = (both().map(note), both().map(note));
    for [a, b] in [[a, b], [c, d]] {
        let a = making(making(a, "of-a"), "of-other").await;
        let b = making(b, "of-b").await;
        let daemon = TestDaemon::with_two(&a, &b).await;
        let client = |name| ModernClient::able_to(&daemon, "/mcp/all", &able()).named(name);
        let (owner, other) = (client("owner"), client("other"));
        for tool in ["a__of-a", "a__of-other", "b__of-b"] {
            owner.wait_for_tool(tool).await;
        }
        owner.call("a__of-a", "{}").await.result();
        owner.call("b__of-b", "{}").await.result();
        other.call("a__of-other", "{}").await.result();
        let everything = r#"{"taskIds":["of-b","of-a","of-other","never-was"]}"#;
        let mut to_other = other.listen(everything).await;
        assert_eq!(met(&mut to_other).await, json!({"taskIds": ["of-other"]}));
        let mut to_owner = owner.listen(everything).await;
        let id = owner.last_id();
        assert_eq!(
            met(&mut to_owner).await,
            json!({"taskIds": ["of-a", "of-b"]})
        );
        let asked = a.received(LISTEN).pop().expect("a stream");
        assert_eq!(listened(&asked), (json!(["of-a", "of-other"]), json!({})));
        let asked = b.received(LISTEN).pop().expect("a stream");
        assert_eq!(listened(&asked), (json!(["of-b"]), json!({})));

        a.push(&state("of-other", "")).await;
        a.push(&state("of-a", "")).await;
        assert_eq!(next(&mut to_owner).await, heard("of-a", "", id));
        let to_other_id = other.last_id();
        assert_eq!(
            next(&mut to_other).await,
            heard("of-other", "", to_other_id)
        );
        // What the result of a task names is named as everywhere on the address.
        let result = |uri| {
            format!(
                r#","result":{{"content":[{{"type":"resource_link","uri":"{uri}","name":"n"}}]}}"#
            )
        };
        b.push(&state("of-b", &result("lib://note"))).await;
        let renamed = result("lib://b/note");
        assert_eq!(next(&mut to_owner).await, heard("of-b", &renamed, id));

        // On the address of its server a task is followed as well, with every URI as it is.
        let native = ModernClient::able_to(&daemon, "/mcp/server/b", &able()).named("owner");
        let mut to_native = native.listen(everything).await;
        assert_eq!(met(&mut to_native).await, json!({"taskIds": ["of-b"]}));
        b.push(&state("of-b", &result("lib://note"))).await;
        let same = heard("of-b", &result("lib://note"), native.last_id());
        assert_eq!(next(&mut to_native).await, same);

        // With the last stream of it the server is not listened to for it any more.
        drop((to_owner, to_native));
        for (upstream, left) in [(&a, json!(["of-other"])), (&b, Value::Null)] {
            until("the task is left out", || {
                let asked = upstream.received(LISTEN).pop().expect("a stream");
                (listened(&asked).0 == left).then_some(())
            })
            .await;
        }
    }
}

#[tokio::test]
async fn what_a_server_does_not_agree_to_is_not_acknowledged_and_costs_nobody_anything() {
    for upstream in both() {
        let upstream = making(upstream, UNHEARD_TASK);
        let upstream = making(making(upstream, REFUSED_TASK), "t").await;
        let daemon = TestDaemon::builder().upstream("up", &upstream).await;
        let client = ModernClient::able_to(&daemon, "/mcp/all", &able());
        for id in [UNHEARD_TASK, REFUSED_TASK, "t"] {
            client.wait_for_tool(&format!("up__{id}")).await;
            client.call(&format!("up__{id}"), "{}").await.result();
        }
        let filter = json!({ "taskIds": ["t", UNHEARD_TASK] }).to_string();
        let mut stream = client.listen(&filter).await;
        let id = client.last_id();
        assert_eq!(met(&mut stream).await, json!({"taskIds": ["t"]}));
        // A server may refuse all of a subscription for one task.
        let filter = json!({ "toolsListChanged": true, "taskIds": [REFUSED_TASK] }).to_string();
        let mut of_lists = client.listen(&filter).await;
        assert_eq!(met(&mut of_lists).await, json!({"toolsListChanged": true}));
        upstream.push(&state("t", "")).await;
        assert_eq!(next(&mut stream).await, heard("t", "", id));
        upstream.offer(&[(plain_tool("more"), echo())]).await;
        has!(next(&mut of_lists).await, "tools/list_changed");
    }
}

#[tokio::test]
async fn who_follows_tasks_declares_that_it_knows_them() {
    let capable = making(FakeUpstream::http().speaking(modern::REVISION), "t");
    let capable = capable.capabilities(DECLARED).await;
    let daemon = TestDaemon::builder().upstream("up", &capable).await;
    let filter = r#"{"notifications":{"taskIds":["t"],"toolsListChanged":true}}"#;
    for (path, tool) in [("/mcp/server/up", "t"), ("/mcp/all", "up__t")] {
        let client = ModernClient::new(&daemon, path);
        client.wait_for_tool(tool).await;
        let refused = client.request(LISTEN, filter).await;
        assert_eq!((refused.status, refused.error_code()), (400, -32021));
        let error: Value = serde_json::from_str(refused.error()).expect("JSON");
        assert_eq!(error["data"]["requiredCapabilities"], able());
        // Nobody wants to hear of a task here.
        let mut stream = client.listen(r#"{"taskIds":[]}"#).await;
        assert_eq!(met(&mut stream).await, json!({}));
    }
    // Where there are no tasks of this era, nothing of them is met.
    for upstream in super::legacy() {
        let upstream = upstream.await;
        let daemon = TestDaemon::builder().upstream("up", &upstream).await;
        for capabilities in [json!({}), able()] {
            let client = ModernClient::able_to(&daemon, "/mcp/server/up", &capabilities);
            client.wait_for_tool("a").await;
            let mut stream = client.listen(r#"{"taskIds":["of-a"]}"#).await;
            assert_eq!(met(&mut stream).await, json!({}));
        }
    }
}

#[tokio::test]
async fn a_followed_task_is_followed_over_a_new_stream_too() {
    for upstream in both() {
        let upstream = making(upstream, "t").await;
        let daemon = TestDaemon::builder().upstream("up", &upstream).await;
        let client = ModernClient::able_to(&daemon, "/mcp/server/up", &able());
        client.wait_for_tool("t").await;
        client.call("t", "{}").await.result();
        let mut stream = client.listen(r#"{"taskIds":["t"]}"#).await;
        assert_eq!(met(&mut stream).await, json!({"taskIds": ["t"]}));
        let before = upstream.received(LISTEN).len();
        upstream.end_subscriptions(modern::Ending::Result).await;
        upstream.wait_for_count(LISTEN, before + 1).await;
        let asked = upstream.received(LISTEN).pop().expect("a stream");
        assert_eq!(listened(&asked).0, json!(["t"]));
        upstream.push(&state("t", "")).await;
        assert_eq!(next(&mut stream).await, heard("t", "", client.last_id()));
    }
}

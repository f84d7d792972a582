//! Clients without a session at a server that asks: each has a connection of its own for as long as its connection to us lasts.

use futures_util::future::join_all;

use super::{
    asking, asks_once, before, before_with, begin, go_on, modern, pid_for, pid_for_modern, pid_in,
    question,
};
use crate::support::prelude::*;

#[tokio::test]
async fn all_calls_over_one_connection_go_to_one_instance_that_ends_with_it() {
    let upstream = asking().await;
    let daemon = before(&upstream).await;
    asks_once(&daemon).await;
    let client = modern(&daemon).on_one_connection().await;
    let pid = pid_for_modern(&client).await;
    let states = [begin(&client).await, begin(&client).await];
    assert_eq!(pid_for_modern(&client).await, pid, "while others wait");
    let of_another_call = format!(
        r#"{{"name":"form","arguments":{{"x":1}},"requestState":"{}"}}"#,
        states[0]
    );
    let refused = client.request("tools/call", &of_another_call).await;
    assert_eq!(refused.error_code(), -32602, "{}", refused.frame);
    has!(go_on(&client, &states[0]).await.text(), "decline");
    assert_eq!(pid_for_modern(&client).await, pid, "after one has ended");
    let unable = ModernClient::new(&daemon, "/mcp/server/up");
    let shared = daemon.client("/mcp/server/up").await;
    let pid_of_unable = pid_for_modern(&unable).await;
    assert_eq!(pid_of_unable, pid_for(&shared, "itself").await);
    assert_ne!(pid_of_unable, pid);
    // What waits for its client outlives the connection, and nothing else does.
    drop(client);
    let other = modern(&daemon).on_one_connection().await;
    let pid_of_other = pid_for_modern(&other).await;
    assert!(pid_of_other != pid && pid_of_other != pid_of_unable);
    assert!(
        upstream
            .alive()
            .iter()
            .any(|alive| u64::from(*alive) == pid)
    );
    has!(go_on(&other, &states[1]).await.text(), "decline");
    assert_eq!(pid_for_modern(&other).await, pid_of_other);
    let gone = || {
        let is_alive = upstream
            .alive()
            .iter()
            .any(|alive| u64::from(*alive) == pid);
        (!is_alive).then_some(())
    };
    until("the end of what nobody uses", gone).await;
}

/// Over HTTP a stream of news is another connection than the calls beside it.
#[tokio::test]
async fn a_stream_hears_of_updates_over_whichever_connection_its_caller_calls() {
    let updated = "notifications/resources/updated";
    let update =
        format!(r#"{{"jsonrpc":"2.0","method":"{updated}","params":{{"uri":"lib://note"}}}}"#);
    let upstream = asking()
        .tool("touch", notice(update).then(reply_text("done")))
        .resource(
            r#"{"uri":"lib://note","name":"n"}"#,
            reply(r#"{"contents":[]}"#),
        )
        .await;
    let daemon = before(&upstream).await;
    asks_once(&daemon).await;
    let subscriptions = |method: &str| upstream.received(method).len();
    let client = modern(&daemon).on_one_connection().await;
    pid_for_modern(&client).await;
    let processes = upstream.alive().len();
    let follower = modern(&daemon);
    let mut stream = follower
        .listen(r#"{"resourceSubscriptions":["lib://note"]}"#)
        .await;
    let acknowledged = stream.next().await.expect("an event").data;
    has!(acknowledged, r#""resourceSubscriptions":["lib://note"]"#);
    assert_eq!(upstream.alive().len(), processes, "none for the stream");
    assert_eq!(subscriptions("resources/subscribe"), 1);
    has!(client.call("touch", "{}").await.text(), "done");
    stream.next_frame(updated).await;
    // One that comes later.
    let other = modern(&daemon).on_one_connection().await;
    has!(other.call("touch", "{}").await.text(), "done");
    stream.next_frame(updated).await;
    assert_eq!(subscriptions("resources/subscribe"), 2);
    drop(client);
    upstream.wait_for_children(processes).await;
    has!(other.call("touch", "{}").await.text(), "done");
    stream.next_frame(updated).await;
    drop(stream);
    upstream.wait_for("resources/unsubscribe").await;
    // Nobody follows it any more.
    let last = modern(&daemon).on_one_connection().await;
    has!(last.call("touch", "{}").await.text(), "done");
    assert_eq!(subscriptions("resources/subscribe"), 2);
}

#[tokio::test]
async fn clients_that_say_the_same_do_not_get_each_others_connection() {
    let upstream = asking().await;
    let daemon = before(&upstream).await;
    asks_once(&daemon).await;
    let (one, other) = (
        modern(&daemon).on_one_connection().await,
        modern(&daemon).on_one_connection().await,
    );
    let pids = [pid_for_modern(&one).await, pid_for_modern(&other).await];
    assert_ne!(pids[0], pids[1]);
    for _ in 0..2 {
        assert_eq!(pid_for_modern(&one).await, pids[0]);
        assert_eq!(pid_for_modern(&other).await, pids[1]);
    }
    // What a proxy carries for several clients is known by what it says of itself.
    let through_proxy = async || {
        let params = call_params("itself", "{}");
        let headers = [("x-forwarded-for", "192.0.2.1")];
        let call = one.start_with("tools/call", &params, &headers).await;
        pid_in(&call.finish().await)
    };
    let [first, second] = [through_proxy().await, through_proxy().await];
    assert!(first == second && !pids.contains(&first));
}

#[tokio::test]
async fn a_question_outside_of_calls_is_refused_and_changes_nothing() {
    let upstream = asking().await;
    let daemon = before(&upstream).await;
    asks_once(&daemon).await;
    let client = modern(&daemon).on_one_connection().await;
    let pid = pid_for_modern(&client).await;
    upstream.push(&question("late")).await;
    // Each process asks, and none is answered.
    let asked = upstream.alive().len();
    let refusals = async || {
        let everything = upstream.everything().into_iter();
        let refusals = everything.filter(|one| one.body.contains(r#""id":"late""#));
        let refusals: Vec<_> = refusals.map(|one| one.body).collect();
        (refusals.len() == asked).then_some(refusals)
    };
    for refusal in until_async("every process to be refused", refusals).await {
        has!(refusal, "cannot be answered");
    }
    assert_eq!(pid_for_modern(&client).await, pid);
}

#[tokio::test]
async fn own_connections_are_bounded_and_calls_wait_for_them() {
    let upstream = asking().await;
    let daemon = before_with(&upstream, json!({ "call_tool_timeout": "5s" })).await;
    asks_once(&daemon).await;
    let clients = join_all((0..8).map(|_| modern(&daemon).on_one_connection())).await;
    let mut clients: Vec<_> = clients;
    for client in &clients {
        pid_for_modern(client).await;
    }
    // Those of sessions count as well.
    let session = super::able(&daemon, "/mcp/server/up").await;
    let overdue = session.call("itself", "{}").await.failure();
    assert_eq!(overdue["code"], "overloaded", "{overdue}");
    let waiting = pid_for(&session, "itself");
    let leaving = async { drop(clients.pop()) };
    let (pid, ()) = tokio::join!(waiting, leaving);
    // Eight, and the one that was asked before.
    upstream.wait_for_children(9).await;
    assert_eq!(pid_for(&session, "itself").await, pid);
    drop(daemon.shutdown().await);
    upstream.wait_for_children(0).await;
}

/// Of sessions that hear nothing outside of their calls, the one that has not called for longest gives way.
#[tokio::test]
async fn sessions_that_listen_to_nothing_do_not_keep_others_out() {
    let upstream = asking().await;
    let daemon = before(&upstream).await;
    asks_once(&daemon).await;
    for _ in 0..9 {
        let session = super::able(&daemon, "/mcp/server/up").await;
        pid_for(&session, "itself").await;
    }
    upstream.wait_for_children(9).await;
}

/// A server that is nobody's in common treats them as it treats sessions.
#[tokio::test]
async fn with_a_connection_for_each_client_they_have_one_too() {
    let upstream = asking().await;
    let daemon = before_with(&upstream, json!({ "session_scope": "client" })).await;
    upstream.wait_for_children(0).await;
    let able = modern(&daemon).on_one_connection().await;
    let unable = ModernClient::new(&daemon, "/mcp/server/up");
    let unable = unable.on_one_connection().await;
    for count in 1..=2 {
        for client in [&able, &unable] {
            let told = client.call("itself", "{}").await.text();
            has!(told, format!(r#""calls":{count}"#));
        }
    }
    assert_eq!(upstream.alive().len(), 2);
    // Each server is told what its client can do, and asks it whatever the other does.
    let asked = able.call("form", "{}").await.value();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let refused = unable.call("form", "{}").await.text();
    has!(refused, "-32601");
    let said = upstream.received("initialize");
    let declares = |n: usize| said[n].contains("elicitation");
    assert!(declares(1) && !declares(2), "{said:?}");
    drop(unable);
    upstream.wait_for_children(1).await;
}

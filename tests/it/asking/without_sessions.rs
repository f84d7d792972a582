//! Clients without a session at a server that asks: each call has a connection of its own, and whose it is afterwards.

use futures_util::future::join_all;
use serde_json::json;

use super::{
    asking, asks_once, before, before_with, begin, go_on, modern, pid_for, pid_for_modern, pid_in,
    question,
};
use crate::support::{client::call_params, modern_client::ModernClient, patience::until_async};

#[tokio::test]
async fn without_a_session_each_call_has_a_connection_and_the_next_one_gets_it_again() {
    let upstream = asking().start().await;
    let daemon = before(&upstream).await;
    asks_once(&daemon).await;
    let client = modern(&daemon).on_one_connection().await;
    let pid = pid_for_modern(&client).await;
    assert_eq!(pid_for_modern(&client).await, pid, "the same again");
    // An answered call makes nothing doubtful there.
    let state = begin(&client).await;
    // While it waits for its client, nobody else gets its connection.
    let meanwhile = pid_for_modern(&client).await;
    assert_ne!(meanwhile, pid);
    assert!(go_on(&client, &state).await.text().contains("decline"));
    assert_eq!(pid_for_modern(&client).await, pid, "the last that was used");
    let other = ModernClient::able_to(&daemon, "/mcp/server/up", &json!({ "sampling": {} }));
    let pid_of_other = pid_for_modern(&other).await;
    assert!(pid_of_other != pid && pid_of_other != meanwhile);
    let unable = ModernClient::new(&daemon, "/mcp/server/up");
    let shared = daemon.client("/mcp/server/up").await;
    assert_eq!(
        pid_for_modern(&unable).await,
        pid_for(&shared, "itself").await
    );
    // A call that was given up may still be at work.
    let state = begin(&client).await;
    let of_another_call =
        format!(r#"{{"name":"form","arguments":{{"x":1}},"requestState":"{state}"}}"#);
    let refused = client.request("tools/call", &of_another_call).await;
    assert_eq!(refused.error_code(), -32602, "{}", refused.frame);
    upstream.wait_for("notifications/cancelled").await;
    assert_ne!(pid_for_modern(&client).await, pid);
}

#[tokio::test]
async fn clients_without_a_session_that_say_the_same_do_not_get_each_others_connection() {
    let upstream = asking().start().await;
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
    // A call that is carried on over another connection stays where it is.
    let state = begin(&one).await;
    assert!(go_on(&other, &state).await.text().contains("decline"));
    assert_eq!(pid_for_modern(&one).await, pids[0]);
    // A proxy carries requests of several clients over one connection.
    let through_proxy = async || {
        let params = call_params("itself", "{}");
        let headers = [("x-forwarded-for", "192.0.2.1")];
        let call = one.start_with("tools/call", &params, &headers).await;
        pid_in(&call.finish().await)
    };
    let [first, second] = [through_proxy().await, through_proxy().await];
    assert!(first != second && !pids.contains(&first) && !pids.contains(&second));
}

#[tokio::test]
async fn a_connection_on_which_a_server_asked_outside_of_a_call_is_not_used_again() {
    let upstream = asking().start().await;
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
        assert!(refusal.contains("cannot be answered"), "{refusal}");
    }
    assert_ne!(pid_for_modern(&client).await, pid);
}

#[tokio::test]
async fn leased_connections_are_bounded_and_calls_wait_for_them() {
    let upstream = asking().start().await;
    let daemon = before_with(&upstream, json!({ "call_tool_timeout": "2s" })).await;
    asks_once(&daemon).await;
    let client = modern(&daemon);
    let states = join_all((0..8).map(|_| begin(&client))).await;
    let overdue = client.call("itself", "{}").await.failure();
    assert_eq!(overdue["code"], "overloaded", "{overdue}");
    let (waited, answered) = tokio::join!(client.call("itself", "{}"), go_on(&client, &states[0]));
    assert!(answered.text().contains("decline"));
    assert!(waited.text().contains("pid"), "{}", waited.frame);
    for state in &states[1..] {
        assert!(go_on(&client, state).await.text().contains("decline"));
    }
    // Another client's call takes the place of what is kept for this one.
    let other = ModernClient::able_to(&daemon, "/mcp/server/up", &json!({ "sampling": {} }));
    pid_for_modern(&other).await;
    // Eight, and the one that those share that cannot answer.
    upstream.wait_for_children(9).await;
    drop(daemon.shutdown().await);
    upstream.wait_for_children(0).await;
}

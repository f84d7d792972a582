//! The end of a link.

use std::sync::Arc;

use super::{
    Client,
    odd_server::{OddServer, Seen, empty, open_events},
    soon,
};
use crate::link::LinkError;

/// A server whose every stream stays open.
async fn endless() -> OddServer {
    OddServer::start(|seen: Seen| async move {
        match seen.what().as_str() {
            "GET" | "tools/call" => open_events([": hello\n\n".to_owned()]),
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await
}

#[tokio::test]
async fn closing_ends_every_task_every_call_and_the_session() {
    let mut server = endless().await;
    let client = Client::opened(&server.url).await;
    server.sees("GET").await;
    let mut exchange = client.call(1, "x").await.expect("taken");
    let (end, ()) = soon(async { tokio::join!(exchange.next(), client.link.close()) }).await;
    assert!(matches!(end, Err(LinkError::Lost(_))), "{end:?}");
    assert!(client.link.shared.tasks.is_idle());
    let goodbye = server.sees("DELETE").await;
    assert_eq!(goodbye.session(), Some("s1"));

    let late = client.call(2, "x").await.err();
    assert!(matches!(late, Some(LinkError::NotDelivered(_))), "{late:?}");
    client.link.close().await;
    drop(exchange);
    assert!(server.rest().is_empty());
}

#[tokio::test]
async fn nobody_knows_of_a_request_that_was_sent_before_the_link_was_closed() {
    let server = endless().await;
    let client = Client::opened(&server.url).await;
    let mut exchange = client.call(1, "x").await.expect("taken");
    client.link.close().await;
    let end = soon(exchange.next()).await;
    assert!(matches!(end, Err(LinkError::Lost(_))), "{end:?}");
}

#[tokio::test]
async fn the_last_clone_takes_the_tasks_with_it() {
    let mut server = endless().await;
    let client = Client::opened(&server.url).await;
    server.sees("GET").await;
    let shared = Arc::clone(&client.link.shared);
    assert!(!shared.tasks.is_idle());
    drop(client);
    soon(shared.tasks.idle()).await;
    assert!(shared.tasks.is_idle());
}

#[tokio::test]
async fn an_exchange_keeps_its_link_and_takes_its_leave() {
    let mut server = endless().await;
    let client = Client::opened(&server.url).await;
    let exchange = client.call(1, "x").await.expect("taken");
    let shared = Arc::clone(&client.link.shared);
    drop(client);
    assert!(!shared.tasks.is_idle());
    drop(exchange);
    server.sees("notifications/cancelled").await;
    soon(shared.tasks.idle()).await;
    assert!(shared.tasks.is_idle());
}

#[tokio::test]
async fn a_server_that_does_not_answer_a_goodbye_is_left() {
    let server = OddServer::start(|seen: Seen| async move {
        match seen.what().as_str() {
            "DELETE" => std::future::pending().await,
            _ => seen.handshake().unwrap_or_else(|| empty(500)),
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    soon(client.link.close()).await;
}

//! Streams that are cut, resumed, lost, and left.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{
    Client, ODD, last,
    odd_server::{OddServer, Seen, broken_off, empty, events, json, open_events},
    soon,
};
use crate::{
    link::{Incoming, LinkError},
    wire::Outcome,
};

const PRIMED: &str = "id: 1\nretry: 5\ndata:\n\n";

fn answer_to_p1() -> String {
    format!("id: 9\ndata: {{\"jsonrpc\":\"2.0\",\"id\":\"p1\",\"result\":{ODD}}}\n\n")
}

#[tokio::test]
async fn a_cut_stream_is_resumed_after_its_last_event() {
    let mut server = OddServer::start(|seen: Seen| async move {
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
        match (seen.what().as_str(), seen.header("last-event-id")) {
            ("GET", Some("1")) => events([format!("id: 2\ndata: {progress}\n\ndata: {{\"cut")]),
            ("GET", Some("2")) => broken_off("text/event-stream", ["id: 3\n\ndata".to_owned()]),
            ("GET", Some("3")) => events([answer_to_p1()]),
            ("tools/call", _) => events([PRIMED.to_owned()]),
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    let mut exchange = client.call(1, "x").await.expect("taken");
    assert!(matches!(
        soon(exchange.next()).await,
        Ok(Incoming::Notice(_))
    ));
    assert!(matches!(last(&mut exchange).await, Ok(Outcome::Result(r)) if r.as_str() == ODD));
    server.sees("tools/call").await;
    for _ in 0..3 {
        let resumed = server.sees("GET").await;
        assert_eq!(resumed.session(), Some("s1"));
        assert_eq!(resumed.header("accept"), Some("text/event-stream"));
        assert_eq!(resumed.header("mcp-protocol-version"), Some("2025-06-18"));
    }
}

#[tokio::test]
async fn a_reader_who_stops_waiting_does_not_undo_a_resumption() {
    let server = OddServer::start(|seen: Seen| async move {
        match (seen.what().as_str(), seen.header("last-event-id")) {
            ("GET", Some(_)) => events([answer_to_p1()]),
            ("tools/call", _) => events(["id: 1\nretry: 60\ndata:\n\n".to_owned()]),
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    let mut exchange = client.call(1, "x").await.expect("taken");
    let answer = soon(async {
        loop {
            let step = std::time::Duration::from_millis(1);
            if let Ok(answer) = tokio::time::timeout(step, exchange.next()).await {
                return answer;
            }
        }
    })
    .await;
    assert!(matches!(answer, Ok(Incoming::Answer(Outcome::Result(r))) if r.as_str() == ODD));
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_is_lost() {
    static GETS: AtomicUsize = AtomicUsize::new(0);
    let server = OddServer::start(|seen: Seen| async move {
        match (seen.what().as_str(), seen.header("last-event-id")) {
            ("GET", Some("gone")) => empty(404),
            ("GET", Some("down")) => empty(503),
            ("GET", Some("barren")) => {
                GETS.fetch_add(1, Ordering::Relaxed);
                events(["retry: 5\n: nothing new\n\n".to_owned()])
            }
            ("tools/call", _) => {
                let id = ["gone", "down", "barren"]
                    .into_iter()
                    .find(|id| seen.mentions(id));
                match id {
                    Some(id) => events([format!("id: {id}\nretry: 5\ndata:\n\n")]),
                    None if seen.mentions("json") => {
                        broken_off("application/json", [r#"{"jsonrpc":"#.to_owned()])
                    }
                    None => events([": no id, no way back\n\n".to_owned()]),
                }
            }
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    for tool in ["gone", "down", "barren", "json", "no-id"] {
        match client.result(1, tool).await {
            Err(LinkError::Lost(_)) => (),
            other => panic!("{tool}: {other:?}"),
        }
    }
    assert_eq!(GETS.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn without_a_session_there_is_nothing_to_resume() {
    let server = OddServer::start(|_| async { events([PRIMED.to_owned()]) }).await;
    let client = Client::to(&server.url);
    assert!(matches!(
        client.result(1, "x").await,
        Err(LinkError::Lost(_))
    ));
}

#[tokio::test]
async fn a_connection_closed_before_the_head_is_lost() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let serving = tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.expect("a connection");
            let mut some = [0; 64];
            let _ = tokio::io::AsyncReadExt::read(&mut socket, &mut some).await;
        }
    });
    let outcome = Client::to(&url).result(1, "x").await;
    assert!(matches!(outcome, Err(LinkError::Lost(_))), "{outcome:?}");
    serving.abort();
}

#[tokio::test]
async fn a_caller_who_leaves_cancels_his_request() {
    let mut server = OddServer::start(|seen: Seen| async move {
        match seen.what().as_str() {
            "tools/call" if seen.mentions("no-head") => std::future::pending().await,
            "tools/call" => open_events([": working\n\n".to_owned()]),
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    let cancelled = |number| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"p{number}","reason":"nobody waits for the answer any more"}}}}"#
        )
    };

    let exchange = client.call(1, "head").await.expect("taken");
    server.sees("tools/call").await;
    drop(exchange);
    let cancel = server.sees("notifications/cancelled").await;
    assert_eq!(cancel.body, cancelled(1));
    assert_eq!(cancel.session(), Some("s1"));

    let mut exchange = client.call(2, "head").await.expect("taken");
    tokio::select! {
        _ = exchange.next() => panic!("nothing comes"),
        _ = server.sees("tools/call") => (),
    }
    drop(exchange);
    assert_eq!(
        server.sees("notifications/cancelled").await.body,
        cancelled(2)
    );

    tokio::select! {
        _ = client.call(3, "no-head") => panic!("no head comes"),
        _ = server.sees("tools/call") => (),
    }
    assert_eq!(
        server.sees("notifications/cancelled").await.body,
        cancelled(3)
    );
}

#[tokio::test]
async fn a_request_that_is_over_is_not_cancelled() {
    let mut server = OddServer::after_handshake(|seen| {
        if seen.mentions("refused") {
            empty(500)
        } else {
            json(200, &seen.answer(ODD))
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    client.result(1, "x").await.expect("an answer");
    client.result(2, "refused").await.expect_err("a refusal");
    client.link.close().await;
    server.sees("tools/call").await;
    server.sees("tools/call").await;
    let seen: Vec<String> = server.rest().iter().map(Seen::what).collect();
    assert_eq!(seen, ["DELETE"]);
}

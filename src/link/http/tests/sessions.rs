//! Sessions that servers forget.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::response::Response;
use futures_util::future::join_all;
use tokio::sync::Barrier;

use super::{
    Client, ODD,
    odd_server::{OddServer, Seen, empty, in_session, json},
    soon,
};
use crate::link::{LinkError, Maker, News, Purpose};

const CALLS: usize = 20;

const RESULT: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{}, "n":1.10}"#;

/// A server that forgets its first session while 20 calls are in flight.
async fn forgetful(forgotten: fn() -> Response) -> OddServer {
    let sessions = Arc::new(AtomicUsize::new(0));
    // Every call of the first session has arrived before the first one is refused.
    let all_here = Arc::new(Barrier::new(CALLS));
    OddServer::start(move |seen: Seen| {
        let (sessions, all_here) = (sessions.clone(), all_here.clone());
        async move {
            match (seen.what().as_str(), seen.session()) {
                ("initialize", _) => {
                    let id = ["s1", "s2", "s3"][sessions.fetch_add(1, Ordering::Relaxed)];
                    in_session(id, json(200, &seen.answer(RESULT)))
                }
                ("tools/call", Some("s2")) => json(200, &seen.answer(ODD)),
                ("tools/call", Some("s1")) => {
                    all_here.wait().await;
                    forgotten()
                }
                _ => seen.handshake().expect("nothing else is sent"),
            }
        }
    })
    .await
}

async fn renews_once(mut server: OddServer) {
    let mut client = Client::opened(&server.url).await;
    let first = server.sees("initialize").await;
    server.sees("GET").await;
    let calls = (1..=CALLS as u64).map(|number| client.result(number, "x"));
    // Another version of the server may have taken the place of the first, so its lists are read before it is called.
    for result in join_all(calls).await {
        assert!(
            matches!(result, Err(LinkError::SessionRenewed)),
            "{result:?}"
        );
    }
    assert!(matches!(client.next_news().await, News::Renewed(raw) if raw.as_str() == RESULT));
    let renewed = client.link.session_number();
    client.link.lists_read_in(renewed - 1);
    let early = client.result(97, "x").await;
    assert!(matches!(early, Err(LinkError::SessionRenewed)), "{early:?}");
    client.link.lists_read_in(renewed);
    assert_eq!(client.result(98, "x").await.expect("an answer"), ODD);

    let second = server.sees("initialize").await;
    assert_eq!(second.body, first.body);
    for opening in [&first, &second] {
        assert_eq!(opening.session(), None);
        assert_eq!(opening.header("mcp-protocol-version"), None);
    }
    let initialized = server.sees("notifications/initialized").await;
    assert_eq!(initialized.session(), Some("s2"));
    let rest = server.rest();
    let count = |what: &str| rest.iter().filter(|seen| seen.what() == what).count();
    assert_eq!(count("initialize"), 0);
    assert_eq!(count("tools/call"), 1);
    assert_eq!(count("notifications/cancelled"), 0);
    assert!(rest.iter().all(|seen| seen.session() == Some("s2")));

    assert_eq!(client.result(99, "x").await.expect("an answer"), ODD);
    assert_eq!(
        server
            .sees("tools/call")
            .await
            .header("mcp-protocol-version"),
        Some("2025-06-18")
    );
}

#[tokio::test]
async fn a_session_forgotten_with_404_is_renewed_once_for_all_calls() {
    renews_once(forgetful(|| empty(404)).await).await;
}

#[tokio::test]
async fn a_session_forgotten_with_400_is_renewed_once_for_all_calls() {
    let said = || {
        json(
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#,
        )
    };
    renews_once(forgetful(said).await).await;
}

#[tokio::test]
async fn a_renewal_that_fails_fails_all_who_wait_and_the_link() {
    type Refusal = fn(&Seen) -> Response;
    let without_login: Refusal = |_| json(401, "log in");
    let without_quota: Refusal = |seen| {
        let error = r#"{"code":-32000,"message":"quota is used up"}"#;
        let id = seen.id();
        json(
            200,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
        )
    };
    for (refuse, outside, whole) in [
        (
            without_login,
            "session lost: it refuses access (HTTP 401)",
            "session lost: the server answered HTTP 401: \"log in\"",
        ),
        (
            without_quota,
            "session lost: the server refused a new one",
            "session lost: the server refused a new one: \"quota is used up\"",
        ),
    ] {
        let opened = Arc::new(AtomicUsize::new(0));
        let server = OddServer::start(move |seen: Seen| {
            let first = seen.what() == "initialize" && opened.fetch_add(1, Ordering::Relaxed) == 0;
            async move {
                match seen.what().as_str() {
                    "initialize" if !first => refuse(&seen),
                    "tools/call" => empty(404),
                    _ => seen.handshake().expect("nothing else is sent"),
                }
            }
        })
        .await;
        let mut client = Client::opened(&server.url).await;
        for result in join_all((1..6).map(|number| client.result(number, "x"))).await {
            match result {
                Err(lost @ LinkError::SessionLost(_)) => assert_eq!(lost.outside(), outside),
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(client.next_news().await, News::Closed(why) if why == whole));
    }
}

#[tokio::test]
async fn a_request_of_our_own_is_sent_again_only_once() {
    let mut server = OddServer::after_handshake(|_| empty(404)).await;
    let client = Client::opened(&server.url).await;
    let request = client
        .link
        .call(1, "tools/list", None, &[], Purpose::Own, Maker::Ourselves);
    let refused = soon(request).await.err();
    let refused = refused.expect("a refusal");
    assert_eq!(refused.outside(), "session lost: it answered HTTP 404");
    assert!(refused.is_undelivered());
    let lists = server
        .rest()
        .into_iter()
        .filter(|seen| seen.what() == "tools/list");
    assert_eq!(lists.count(), 2);
}

#[tokio::test]
async fn a_call_that_is_refused_again_was_not_refused_for_its_session() {
    let mut server = OddServer::after_handshake(|_| empty(404)).await;
    let client = Client::opened(&server.url).await;
    let first = client.call(1, "x").await.err();
    assert!(
        matches!(first, Some(LinkError::SessionRenewed)),
        "{first:?}"
    );
    client.link.lists_read_in(client.link.session_number());
    let again = client.link.call(
        1,
        "tools/call",
        None,
        &[],
        Purpose::Call,
        Maker::ClientAgain,
    );
    let refused = soon(again).await.err();
    assert!(
        matches!(refused, Some(LinkError::Status { status: 404, .. })),
        "{refused:?}"
    );
    let openings = server
        .rest()
        .into_iter()
        .filter(|seen| seen.what() == "initialize");
    assert_eq!(openings.count(), 2);
}

#[tokio::test]
async fn what_only_looks_like_a_lost_session_is_none() {
    let mut server = OddServer::after_handshake(|seen| {
        let error = |code, message| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":{code},"message":"{message}"}}}}"#,
                seen.id()
            )
        };
        if seen.mentions("unknown-method") {
            json(404, &error(-32601, "unknown"))
        } else {
            json(400, &error(-32602, "bad argument"))
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    assert!(
        client
            .result(1, "unknown-method")
            .await
            .expect("an answer")
            .contains("-32601")
    );
    assert!(
        client
            .result(2, "bad")
            .await
            .expect("an answer")
            .contains("-32602")
    );
    server.sees("initialize").await;
    assert!(server.rest().iter().all(|seen| seen.what() != "initialize"));
}

#[tokio::test]
async fn without_a_session_a_404_is_a_refusal() {
    let server = OddServer::start(|_| async { empty(404) }).await;
    let outcome = Client::to(&server.url).result(1, "x").await;
    assert!(
        matches!(outcome, Err(LinkError::Status { status: 404, .. })),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_notification_is_sent_again_and_an_answer_is_not() {
    let mut server = OddServer::start(|seen: Seen| async move {
        match (seen.what().as_str(), seen.session()) {
            ("notifications/roots/list_changed" | "POST", _) => empty(404),
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    server.sees("initialize").await;
    let told = client
        .link
        .notify("notifications/roots/list_changed", None)
        .await;
    assert!(matches!(told, Err(LinkError::SessionLost(_))), "{told:?}");
    server.sees("initialize").await;
    server.sees("notifications/roots/list_changed").await;

    let question = br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    let Ok(crate::wire::Message::Request(question)) =
        crate::wire::Message::parse(&bytes::Bytes::from_static(question))
    else {
        panic!("a request")
    };
    let nothing = crate::wire::Outcome::Result(crate::wire::Raw::empty_object());
    let told = client.link.answer(&question.id, &nothing).await;
    assert!(matches!(told, Err(LinkError::SessionLost(_))), "{told:?}");
    server.sees("POST").await;
    assert!(server.rest().iter().all(|seen| seen.what() != "initialize"));
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_undo_the_renewal() {
    let (release, _) = tokio::sync::watch::channel(false);
    let (opened, gate) = (Arc::new(AtomicUsize::new(0)), release.subscribe());
    let mut server = OddServer::start(move |seen: Seen| {
        let number = match seen.what().as_str() {
            "initialize" => opened.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        let mut gate = gate.clone();
        async move {
            match (seen.what().as_str(), seen.session()) {
                ("initialize", _) if number > 0 => {
                    let _ = gate.wait_for(|open| *open).await;
                    in_session("s2", json(200, &seen.answer(RESULT)))
                }
                ("tools/call", Some("s2")) => json(200, &seen.answer(ODD)),
                ("tools/call", _) => empty(404),
                _ => seen.handshake().expect("nothing else is sent"),
            }
        }
    })
    .await;
    let mut client = Client::opened(&server.url).await;
    server.sees("initialize").await;
    tokio::select! {
        _ = client.call(1, "x") => panic!("the renewal waits"),
        _ = server.sees("initialize") => (),
    }
    release.send_replace(true);
    assert!(matches!(client.next_news().await, News::Renewed(_)));
    client.link.lists_read_in(client.link.session_number());
    assert_eq!(client.result(2, "x").await.expect("an answer"), ODD);
    let rest = server.rest();
    assert!(rest.iter().all(|seen| seen.what() != "initialize"));
    assert!(
        rest.iter()
            .all(|seen| seen.what() != "notifications/cancelled")
    );
}

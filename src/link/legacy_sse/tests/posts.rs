//! What a server can make of a POST.

use tokio_util::sync::CancellationToken;

use super::*;
use crate::link::tests::odd_server::{events, json};

#[tokio::test]
async fn an_answer_comes_on_the_stream_as_it_was_written() {
    let server = Server::start().await;
    let client = Client::to(&server).await;
    let (mut first, mut second) = (
        client.call(1).await.expect("taken"),
        client.call(2).await.expect("taken"),
    );
    server.say_frame(&progress(1));
    server.say_frame(&answer(2, ODD));
    server.say_frame(&answer(1, "{}"));
    assert_eq!(last(&mut second).await.expect("an answer").0, ODD);
    let (text, notices) = last(&mut first).await.expect("an answer");
    assert_eq!((text.as_str(), notices), ("{}", 1));
}

#[tokio::test]
async fn an_answer_may_come_in_the_response() {
    let server = Server::answering(|seen| async move {
        match seen.id().as_str() {
            "\"p1\"" => json(200, &seen.answer(ODD)),
            "\"p2\"" => events([
                format!("data: {}\n\n", progress(2)),
                format!("data: {}\n\n", seen.answer(ODD)),
            ]),
            _ => typed(200, "text/plain", "Accepted"),
        }
    })
    .await;
    let client = Client::to(&server).await;
    for (number, notices) in [(1, 0), (2, 1)] {
        let mut exchange = client.call(number).await.expect("taken");
        let answer = last(&mut exchange).await.expect("an answer");
        assert_eq!(answer, (ODD.to_owned(), notices));
    }
    let mut exchange = client.call(3).await.expect("taken");
    server.say_frame(&answer(3, "{}"));
    last(&mut exchange).await.expect("an answer");
}

#[tokio::test]
async fn a_server_may_take_a_request_only_when_it_is_done() {
    let done = CancellationToken::new();
    let taking = done.clone();
    let server = Server::answering(move |seen| {
        let taking = taking.clone();
        async move {
            if seen.id() == "\"p1\"" {
                taking.cancelled().await;
            }
            empty(200)
        }
    })
    .await;
    let mut server = server;
    let client = Client::to(&server).await;
    let call = tokio::spawn({
        let link = client.link.clone();
        async move { link.call(1, "tools/call", None, Purpose::Call).await }
    });
    server.odd.sees("tools/call").await;
    server.say_frame(&progress(1));
    let mut exchange = soon(call).await.expect("no panic").expect("it has begun");
    server.say_frame(&answer(1, ODD));
    assert_eq!(last(&mut exchange).await.expect("an answer").0, ODD);
    done.cancel();
    client.link.notify("a", None).await.expect("it goes on");
}

#[tokio::test]
async fn a_refusal_fails_its_request_only() {
    let server = Server::answering(|seen| async move {
        match seen.id().as_str() {
            "\"p1\"" => empty(202),
            "\"p2\"" => typed(500, "text/plain", "oh no"),
            "\"p3\"" => json(
                400,
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1.0,"message":"m"}}"#,
            ),
            "\"p4\"" => json(
                403,
                r#"{"jsonrpc":"2.0","id":"p4","error":{"code":-1,"message":"m"}}"#,
            ),
            _ => empty(422),
        }
    })
    .await;
    let client = Client::to(&server).await;
    let mut first = client.call(1).await.expect("taken");
    let status = |error: Option<LinkError>| match error {
        Some(LinkError::Status { status, .. }) => status,
        other => panic!("not refused: {other:?}"),
    };
    assert_eq!(status(client.call(2).await.err()), 500);
    let mut answered = client.call(3).await.expect("an answer");
    let (error, _) = last(&mut answered).await.expect("an answer");
    assert_eq!(error, r#"{"code":-1.0,"message":"m"}"#);
    assert_eq!(status(client.call(4).await.err()), 403);
    let told = client.link.notify("a", None).await;
    assert_eq!(status(told.err()), 422);
    server.say_frame(&answer(1, "{}"));
    last(&mut first).await.expect("nothing happened to it");
}

#[tokio::test]
async fn a_server_that_does_not_know_the_session_has_not_read_the_request() {
    for (status, body) in [(404, ""), (400, "No transport found for sessionId")] {
        let server = Server::answering(move |seen| async move {
            match seen.id().as_str() {
                "\"p1\"" => empty(202),
                _ => typed(status, "text/plain", body),
            }
        })
        .await;
        let mut client = Client::to(&server).await;
        let mut first = client.call(1).await.expect("taken");
        let error = client.call(2).await.err();
        assert!(
            matches!(error, Some(LinkError::SessionLost(_))),
            "{error:?}"
        );
        let error = last(&mut first).await.expect_err("the session is gone");
        assert!(matches!(error, LinkError::Lost(_)), "{error}");
        assert!(client.farewell().await.contains("session"));
    }
}

#[tokio::test]
async fn a_withdrawal_follows_its_request() {
    let mut server = Server::start().await;
    let client = Client::to(&server).await;
    drop(client.call(7).await.expect("taken"));
    let cancelled = server.odd.sees("notifications/cancelled").await;
    assert!(cancelled.mentions(r#""requestId":"p7""#));
    // What is answered is not withdrawn.
    let mut exchange = client.call(8).await.expect("taken");
    server.say_frame(&answer(8, "{}"));
    last(&mut exchange).await.expect("an answer");
    drop(exchange);
    client.link.notify("after", None).await.expect("taken");
    server.odd.sees("after").await;
    assert!(server.odd.rest().is_empty());
}

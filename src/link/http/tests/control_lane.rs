//! What an rmcp client sees of the link.

use super::{
    Client, INITIALIZE,
    odd_server::{OddServer, Seen, empty, events, json, open_events, typed},
    soon,
};
use crate::link::{LinkError, News};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;

/// The rmcp client does not want the list any more.
const WITHDRAWN: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;

#[tokio::test]
async fn sending_does_not_wait_for_the_answer() {
    let mut server = OddServer::start(|seen: Seen| async move {
        match seen.what().as_str() {
            "tools/list" => open_events([": wait\n\n".to_owned()]),
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    soon(client.send(LIST)).await.expect("taken");
    server.sees("tools/list").await;
    assert_eq!(client.link.shared.controls.lock().len(), 1);
    soon(client.send(WITHDRAWN)).await.expect("taken");
    assert_eq!(server.sees("notifications/cancelled").await.body, WITHDRAWN);
    client.link.shared.idle().await;
    assert!(client.link.shared.controls.lock().is_empty());
}

#[tokio::test]
async fn a_withdrawn_request_is_waited_for_no_more() {
    let mut server = OddServer::start(|seen: Seen| async move {
        match seen.what().as_str() {
            "tools/list" => std::future::pending().await,
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    let withdraw = async {
        server.sees("tools/list").await;
        client.send(WITHDRAWN).await
    };
    let (sent, told) = soon(async { tokio::join!(client.send(LIST), withdraw) }).await;
    assert!(sent.is_ok() && told.is_ok(), "{sent:?} {told:?}");
    assert_eq!(server.sees("notifications/cancelled").await.body, WITHDRAWN);
    assert!(client.link.shared.controls.lock().is_empty());
}

#[tokio::test]
async fn answers_go_to_the_inbox_and_the_rest_is_sorted() {
    let server = OddServer::after_handshake(|seen| {
        let notice = |method: &str| {
            format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{ }}}}\n\n")
        };
        let question = "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}\n\n";
        events([
            notice("notifications/progress"),
            notice("notifications/tools/list_changed"),
            notice("notifications/message"),
            question.to_owned(),
            format!("data: {}\n\n", seen.answer(r#"{ "tools":[], "n":1.10}"#)),
        ])
    })
    .await;
    let mut client = Client::opened(&server.url).await;
    client.send(LIST).await.expect("taken");
    assert!(client.answer().await.contains("notifications/progress"));
    assert!(
        client
            .answer()
            .await
            .contains("notifications/tools/list_changed")
    );
    assert_eq!(
        client.answer().await,
        r#"{"jsonrpc":"2.0","id":1,"result":{ "tools":[], "n":1.10}}"#
    );
    for expected in [
        "notifications/tools/list_changed",
        "notifications/message",
        "ping",
    ] {
        let method = match client.next_news().await {
            News::Notification(notice) => notice.method,
            News::Question(question) => question.method,
            other => panic!("{other:?}"),
        };
        assert_eq!(&*method, expected);
    }
}

#[tokio::test]
async fn every_request_gets_an_answer() {
    for (response, word) in [
        (
            (|_| typed(400, "text/plain", "what?")) as fn(&Seen) -> _,
            "HTTP 400: what?",
        ),
        (|_| empty(405), "HTTP 405"),
        (|_| empty(202), "the body is empty"),
        (|_| json(200, "{nonsense"), "could not be read"),
        (|_| events(["data: x\n\n".to_owned()]), "could not be read"),
        (|_| events([String::new()]), "the stream ended"),
        (
            |seen| json(200, &seen.answer("{}").replace(":1,", ":2,")),
            "another request's id",
        ),
        (
            |_| {
                json(
                    400,
                    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"unheard of"}}"#,
                )
            },
            "unheard of",
        ),
    ] {
        let server = OddServer::after_handshake(response).await;
        let mut client = Client::opened(&server.url).await;
        client.send(LIST).await.expect("taken");
        let answer = client.answer().await;
        assert!(
            answer.starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"#),
            "{answer}"
        );
        assert!(answer.contains(word), "{answer}");
    }
}

#[tokio::test]
async fn a_login_that_is_missing_is_told_by_its_status() {
    let server = OddServer::start(|_| async { typed(401, "text/plain", "who?") }).await;
    let client = Client::to(&server.url);
    for frame in [INITIALIZE, LIST] {
        let told = client.send(frame).await;
        assert!(
            matches!(told, Err(LinkError::Status { status: 401, .. })),
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn a_refused_initialize_bears_its_status_and_opens_nothing() {
    let server = OddServer::start(|seen: Seen| async move {
        if seen.mentions("initialize") {
            empty(404)
        } else {
            empty(500)
        }
    })
    .await;
    let client = Client::to(&server.url);
    let told = client.send(INITIALIZE).await;
    assert!(
        matches!(told, Err(LinkError::Status { status: 404, .. })),
        "{told:?}"
    );
    assert_eq!(client.link.shared.session().number, 0);
}

#[tokio::test]
async fn the_session_comes_from_the_answer_to_initialize_only() {
    let mut server = OddServer::after_handshake(|seen| {
        super::odd_server::in_session("another", json(200, &seen.answer("{}")))
    })
    .await;
    let client = Client::opened(&server.url).await;
    let initialized = server.sees("notifications/initialized").await;
    assert_eq!(initialized.session(), Some("s1"));
    assert_eq!(
        initialized.header("mcp-protocol-version"),
        Some("2025-06-18")
    );
    for _ in 0..2 {
        client.result(1, "x").await.expect("an answer");
        assert_eq!(server.sees("tools/call").await.session(), Some("s1"));
    }
}

#[tokio::test]
async fn an_initialize_answered_over_a_stream_opens_the_session() {
    let mut server = OddServer::start(|seen: Seen| async move {
        match seen.what().as_str() {
            "initialize" => {
                let answer = seen.answer(r#"{"protocolVersion":"2025-03-26"}"#);
                let response = open_events([format!("event: message\ndata: {answer}\n\n")]);
                super::odd_server::in_session("s7", response)
            }
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let _client = Client::opened(&server.url).await;
    let initialized = server.sees("notifications/initialized").await;
    assert_eq!(initialized.session(), Some("s7"));
    assert_eq!(
        initialized.header("mcp-protocol-version"),
        Some("2025-03-26")
    );
}

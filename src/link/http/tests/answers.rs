//! Answers, in every shape that servers give them.

use super::{
    Client, ODD, last,
    odd_server::{OddServer, empty, events, json, typed},
    soon,
};
use crate::{
    link::{Incoming, LinkError},
    wire::Outcome,
};

#[tokio::test]
async fn a_json_answer_comes_byte_for_byte() {
    let server = OddServer::after_handshake(|seen| json(200, &seen.answer(ODD))).await;
    let client = Client::opened(&server.url).await;
    assert_eq!(client.result(1, "x").await.expect("an answer"), ODD);
}

#[tokio::test]
async fn a_streamed_answer_comes_byte_for_byte_wherever_the_stream_is_cut() {
    let server = OddServer::after_handshake(|seen| {
        let all = format!(
            ": hello\r\nevent: message\r\ndata: {}\r\n\r\n",
            seen.answer(ODD)
        );
        let at = seen
            .id()
            .trim_matches(['"', 'p'])
            .parse()
            .expect("a number");
        let cut = (at..=all.len())
            .find(|at| all.is_char_boundary(*at))
            .expect("the end is one");
        let (a, b) = all.split_at(cut);
        events([a.to_owned(), b.to_owned()])
    })
    .await;
    let client = Client::opened(&server.url).await;
    for number in 1..160 {
        assert_eq!(client.result(number, "x").await.expect("an answer"), ODD);
    }
}

#[tokio::test]
async fn a_large_answer_comes_byte_for_byte() {
    let large = format!(
        r#"{{"text":"{}","odd":{ODD}}}"#,
        "0123456789abcdef".repeat(200_000)
    );
    let answer = large.clone();
    let server = OddServer::after_handshake(move |seen| {
        if seen.mentions("stream") {
            events([format!("data: {}\n\n", seen.answer(&answer))])
        } else {
            json(200, &seen.answer(&answer))
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    assert!(client.result(1, "plain").await.expect("an answer") == large);
    assert!(client.result(2, "stream").await.expect("an answer") == large);
}

#[tokio::test]
async fn notices_and_questions_come_before_the_answer_in_their_order() {
    let server = OddServer::after_handshake(|seen| {
        let question = r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{ "odd": 1.10 }}"#;
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p1","progress":1}}"#;
        let answer = seen.answer(ODD);
        events([format!("data: {progress}\n\ndata: {question}\n\ndata: {answer}\n\n")])
    })
    .await;
    let mut server = server;
    let client = Client::opened(&server.url).await;
    let mut exchange = client.call(1, "x").await.expect("taken");
    assert!(
        matches!(soon(exchange.next()).await, Ok(Incoming::Notice(n)) if &*n.method == "notifications/progress")
    );
    let Ok(Incoming::Question(question)) = soon(exchange.next()).await else {
        panic!("a question")
    };
    assert_eq!(
        question.params.expect("params").as_str(),
        r#"{ "odd": 1.10 }"#
    );
    let reply =
        Outcome::Result(crate::wire::Raw::parse_str(r#"{"action":"accept"}"#).expect("JSON"));
    client
        .link
        .answer(&question.id, &reply)
        .await
        .expect("taken");
    assert!(
        matches!(soon(exchange.next()).await, Ok(Incoming::Answer(Outcome::Result(r))) if r.as_str() == ODD)
    );
    let posted = soon(async {
        loop {
            let seen = server.sees("POST").await;
            if seen.mentions("accept") {
                return seen;
            }
        }
    })
    .await;
    assert_eq!(
        posted.body,
        r#"{"jsonrpc":"2.0","id":7,"result":{"action":"accept"}}"#
    );
    assert_eq!(posted.session(), Some("s1"));
}

#[tokio::test]
async fn a_batch_is_read_message_by_message() {
    let server = OddServer::after_handshake(|seen| {
        let notice = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
        json(200, &format!("[{notice}, {}]", seen.answer(ODD)))
    })
    .await;
    let client = Client::opened(&server.url).await;
    let mut exchange = client.call(1, "x").await.expect("taken");
    assert!(matches!(
        soon(exchange.next()).await,
        Ok(Incoming::Notice(_))
    ));
    assert!(matches!(last(&mut exchange).await, Ok(Outcome::Result(r)) if r.as_str() == ODD));
}

#[tokio::test]
async fn a_json_rpc_error_is_an_answer_whatever_the_status() {
    let server = OddServer::after_handshake(|seen| {
        let id = if seen.mentions("null") {
            "null".to_owned()
        } else {
            seen.id()
        };
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"no","x":1.10}}}}"#
        );
        json(if seen.mentions("fine") { 200 } else { 500 }, &body)
    })
    .await;
    let client = Client::opened(&server.url).await;
    for tool in ["fine", "bad", "fine-null", "bad-null"] {
        let error = client.result(1, tool).await.expect("an answer");
        assert_eq!(
            error, r#"{"code":-32602,"message":"no","x":1.10}"#,
            "{tool}"
        );
    }
}

#[tokio::test]
async fn what_is_no_answer_to_this_request_is_unusable() {
    let server = OddServer::after_handshake(|seen| {
        let stranger = seen.answer(ODD).replace("\"p", "\"q");
        let no_id = seen.answer(ODD).replace(&seen.id(), "null");
        if seen.mentions("foreign-json") {
            json(200, &stranger)
        } else if seen.mentions("foreign-sse") {
            events([format!("data: {stranger}\n\n")])
        } else if seen.mentions("no-id") {
            json(200, &no_id)
        } else if seen.mentions("accepted") {
            empty(202)
        } else if seen.mentions("blank") {
            json(200, "  ")
        } else if seen.mentions("page") {
            typed(200, "text/html", "<html>Sign in</html>")
        } else if seen.mentions("half") {
            json(200, r#"{"jsonrpc":"2.0","#)
        } else if seen.mentions("noise") {
            events(["data: hello\n\n".to_owned()])
        } else {
            json(200, r#"{"jsonrpc":"2.0","method":"notifications/message"}"#)
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    for (tool, word) in [
        ("foreign-json", "the id of another request"),
        ("foreign-sse", "the id of another request"),
        ("no-id", "the id of another request"),
        ("accepted", "empty"),
        ("blank", "empty"),
        ("page", "text/html"),
        ("half", "it ends too early"),
        ("noise", "not JSON"),
        ("only-a-notice", "no answer"),
    ] {
        match client.result(1, tool).await {
            Err(LinkError::Broken(why)) => assert!(why.contains(word), "{tool}: {why}"),
            other => panic!("{tool}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_message_that_is_too_large_fails_its_call_only() {
    let server = OddServer::after_handshake(|seen| {
        let megabyte = "x".repeat(1 << 20);
        let pieces = std::iter::once("data: \"".to_owned())
            .chain(std::iter::repeat_n(megabyte, 66))
            .chain(["\"\n\n".to_owned()]);
        if seen.mentions("stream") {
            events(pieces)
        } else if seen.mentions("plain") {
            let body: String = pieces.collect();
            json(200, &body)
        } else {
            json(200, &seen.answer(ODD))
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    for (number, tool) in [(1, "stream"), (2, "plain")] {
        match client.result(number, tool).await {
            Err(LinkError::Broken(why)) => assert!(why.contains("64 MiB"), "{tool}: {why}"),
            other => panic!("{tool}: {:?}", other.map(|text| text.len())),
        }
    }
    assert_eq!(client.result(3, "good").await.expect("an answer"), ODD);
}

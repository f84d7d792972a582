//! Opening the stream, and the address to post to.

use super::*;
use crate::{
    link::tests::odd_server::{events, json, open_events},
    text::secret::{Secret, Secrets},
};

async fn refused(respond: impl Fn() -> Response + Send + Sync + 'static) -> String {
    let server = OddServer::start(move |_| {
        let response = respond();
        async { response }
    })
    .await;
    let endpoint = Endpoint {
        url: server.url.clone(),
        headers: vec![("X-Key".to_owned(), Secret::new("hunter2-hunter2"))],
        secrets: Secrets::new(["hunter2-hunter2".to_owned()]),
        ..Endpoint::default()
    };
    let client = Client::at(&endpoint);
    client.await.err().expect("it does not open").to_string()
}

#[tokio::test]
async fn what_is_no_stream_is_told() {
    let check = async |respond: fn() -> Response, parts: &[&str]| {
        let text = refused(respond).await;
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("hunter2"), "{text}");
    };
    check(|| empty(404), &["404"]).await;
    check(
        || typed(401, "text/plain", "no hunter2-hunter2"),
        &["401", "no "],
    )
    .await;
    check(|| json(200, "{}"), &["application/json", "event stream"]).await;
    let untyped = "no Content-Type, which must be text/event-stream";
    check(|| empty(200), &[untyped]).await;
    let mistyped = "its Content-Type must be text/event-stream";
    check(|| typed(200, "", "no"), &[mistyped]).await;
    check(
        || events([": hello\n\n".to_owned()]),
        &["ended before it named an address"],
    )
    .await;
    let foreign = || open_events(["event: endpoint\ndata: http://evil.example/x\n\n".to_owned()]);
    check(foreign, &["another origin", "(http://evil.example)"]).await;
    let useless = || open_events(["event: endpoint\ndata: javascript:x\n\n".to_owned()]);
    check(useless, &["its event \"endpoint\" names \"javascript:x\""]).await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told() {
    let gone = OddServer::start(|_| async { empty(200) }).await.url.clone();
    let endpoint = Endpoint {
        url: gone,
        ..Endpoint::default()
    };
    let error = Client::at(&endpoint).await.err().expect("nobody listens");
    assert!(
        matches!(error, StreamOpenError::Link(LinkError::NotDelivered(_))),
        "{error}"
    );
    let endpoint = Endpoint {
        url: "ftp://example.com/".to_owned(),
        ..Endpoint::default()
    };
    let error = Client::at(&endpoint).await.err().expect("a bad address");
    assert!(matches!(error, StreamOpenError::Endpoint(_)), "{error}");
}

#[tokio::test]
async fn every_request_bears_the_headers_and_posts_go_where_the_stream_says() {
    let mut server = Server::start().await;
    let endpoint = Endpoint {
        url: format!("{}?key=1", server.odd.url),
        headers: vec![("X-Key".to_owned(), Secret::new("abc"))],
        ..Endpoint::default()
    };
    let client = Client::at(&endpoint);
    let client = client.await.expect("it opens");
    client.link.notify("a", None).await.expect("it is taken");
    let get = server.odd.sees("GET").await;
    assert_eq!(get.target, "/mcp?key=1");
    assert_eq!(get.header("accept"), Some("text/event-stream"));
    assert_eq!(get.header("x-key"), Some("abc"));
    let post = server.odd.sees("a").await;
    assert_eq!(post.target, "/post?id=1");
    assert_eq!(post.header("x-key"), Some("abc"));
    assert_eq!(post.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn an_address_that_is_named_again_takes_the_place_of_the_first() {
    let mut server = Server::start().await;
    let mut client = Client::to(&server).await;
    server.say("event: endpoint\ndata: ?other\n\n");
    server.say_frame(r#"{"jsonrpc":"2.0","method":"here"}"#);
    assert!(matches!(client.next_news().await, News::Notification(_)));
    client.link.notify("a", None).await.expect("it is taken");
    assert_eq!(server.odd.sees("a").await.target, "/mcp?other");

    server.say("event: endpoint\ndata: http://evil.example/x\n\n");
    assert!(client.farewell().await.contains("another origin"));
    let error = client.link.notify("b", None).await.expect_err("it is over");
    assert!(matches!(error, LinkError::NotDelivered(_)), "{error}");
}

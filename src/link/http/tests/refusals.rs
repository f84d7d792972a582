//! Servers that refuse, and servers that are not there.

use std::time::Duration;

use super::{
    Client,
    odd_server::{OddServer, empty, json, typed},
};
use crate::{
    link::{LinkError, http::Endpoint},
    text::secret::{Secret, Secrets},
};

#[tokio::test]
async fn a_refusal_bears_its_status_and_the_beginning_of_its_text() {
    let server = OddServer::after_handshake(|seen| {
        if seen.mentions("login") {
            json(401, r#"{"error":"invalid_token"}"#)
        } else if seen.mentions("long") {
            typed(503, "text/plain", "é".repeat(5000))
        } else if seen.mentions("page") {
            let page = "<!DOCTYPE html>\n<html><head><title>\n502 Bad \"Gateway\"</title></head><body>a lot</body></html>";
            typed(502, "text/html", page.to_owned())
        } else if seen.mentions("wait ") {
            let mut response = empty(429);
            let said = ["7", "999999", "soon"].into_iter().find(|said| seen.mentions(said));
            let said = http::HeaderValue::from_static(said.unwrap_or_default());
            response.headers_mut().insert("retry-after", said);
            response
        } else if seen.mentions("foreign") {
            json(
                400,
                r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}"#,
            )
        } else {
            empty(500)
        }
    })
    .await;
    let client = Client::opened(&server.url).await;
    let refused = async |tool: &str| match client.result(1, tool).await {
        Err(LinkError::Status { status, text, .. }) => (status, text),
        other => panic!("{tool}: {other:?}"),
    };
    assert_eq!(
        refused("login").await,
        (401, r#""{\"error\":\"invalid_token\"}""#.to_owned())
    );
    assert_eq!(
        refused("long").await,
        (503, format!("\"{}…\"", "é".repeat(150)))
    );
    assert_eq!(
        refused("page").await,
        (502, r#"an HTML page, "502 Bad \"Gateway\"""#.to_owned())
    );
    assert_eq!(refused("foreign").await.0, 400);
    for (said, expected) in [("7", Some(7)), ("999999", Some(3600)), ("soon", None)] {
        let refused = client.result(1, &format!("wait {said}")).await;
        let error = refused.expect_err("it was asked too much");
        assert_eq!(
            error.retry_after(),
            expected.map(Duration::from_secs),
            "{said}"
        );
    }
    assert_eq!(refused("bare").await, (500, String::new()));
}

#[tokio::test]
async fn a_redirect_is_told_and_not_followed() {
    let mut server = OddServer::after_handshake(|_| {
        let mut response = empty(307);
        let target =
            http::HeaderValue::from_static("https://me:pw@example.com:8443/new?key=hunter2");
        response.headers_mut().insert("location", target);
        response
    })
    .await;
    let client = Client::opened(&server.url).await;
    server.rest();
    match client.result(1, "x").await {
        Err(LinkError::Status {
            status: 307, text, ..
        }) => {
            assert_eq!(
                text,
                "it redirects to https://example.com:8443/new, and mcpproxy does not follow redirects"
            );
        }
        other => panic!("{other:?}"),
    }
    let calls = server
        .rest()
        .into_iter()
        .filter(|seen| seen.what() == "tools/call");
    assert_eq!(calls.count(), 1);
}

#[tokio::test]
async fn headers_are_sent_and_never_shown() {
    let mut server = OddServer::after_handshake(|seen| {
        let headers = format!("{:?} {}", seen.headers, String::from_utf8_lossy(&seen.body));
        typed(403, "text/plain", headers)
    })
    .await;
    let endpoint = Endpoint {
        url: format!("{}?key=other-secret", server.url),
        headers: vec![
            (
                "Authorization".to_owned(),
                Secret::new("Bearer hunter2-hunter2"),
            ),
            ("X-Api-Key".to_owned(), Secret::new("swordfish")),
        ],
        secrets: Secrets::new(["Bearer hunter2-hunter2", "swordfish"].map(str::to_owned)),
        ..Endpoint::default()
    };
    let client = Client::at(&endpoint);
    client.open().await;
    let error = client.result(1, "x").await.expect_err("refused");
    for text in [
        error.to_string(),
        format!("{error:?}"),
        format!("{endpoint:?}"),
    ] {
        assert!(
            !text.contains("hunter2") && !text.contains("swordfish"),
            "{text}"
        );
    }
    let call = server.sees("tools/call").await;
    assert_eq!(call.header("authorization"), Some("Bearer hunter2-hunter2"));
    assert_eq!(call.header("x-api-key"), Some("swordfish"));
    let agent = format!("mcpproxy/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(call.header("user-agent"), Some(agent.as_str()));
    assert_eq!(
        call.header("accept"),
        Some("application/json, text/event-stream")
    );
    assert_eq!(call.header("content-type"), Some("application/json"));
    assert_eq!(call.target, "/mcp?key=other-secret");
}

#[tokio::test]
async fn a_server_that_is_not_there_got_nothing() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    for url in [
        format!("http://127.0.0.1:{port}/mcp?key=hunter2"),
        format!("https://127.0.0.1:{port}/mcp"),
        "http://name.invalid/mcp".to_owned(),
    ] {
        match Client::to(&url).result(1, "x").await {
            Err(LinkError::NotDelivered(why) | LinkError::NoHost(why)) => {
                assert!(!why.contains("hunter2"), "{why}");
            }
            other => panic!("{url}: {other:?}"),
        }
    }
}

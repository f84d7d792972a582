//! The server's own stream.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{
    Client,
    odd_server::{OddServer, Seen, empty, events, open_events},
};
use crate::link::News;

fn notice(id: u32, method: &str) -> String {
    format!("id: {id}\nretry: 5\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}\n\n")
}

#[tokio::test]
async fn the_stream_is_read_and_opened_again_after_its_last_event() {
    let mut server = OddServer::start(|seen: Seen| async move {
        match (seen.what().as_str(), seen.header("last-event-id")) {
            ("GET", None) => events([
                notice(1, "notifications/tools/list_changed"),
                "data: not for us\n\n: nor this\n\n".to_owned(),
                "data: {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}\n\n".to_owned(),
            ]),
            ("GET", Some("1")) => open_events([
                notice(2, "notifications/message"),
                "data: {\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n\n".to_owned(),
            ]),
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let mut client = Client::opened(&server.url).await;
    for expected in [
        "notifications/tools/list_changed",
        "roots/list",
        "notifications/message",
    ] {
        let method = match client.next_news().await {
            News::Notification(notice) => notice.method,
            News::Question(question) => question.method,
            other => panic!("{other:?}"),
        };
        assert_eq!(&*method, expected);
    }
    for _ in 0..2 {
        let get = server.sees("GET").await;
        assert_eq!(get.session(), Some("s1"));
        assert_eq!(get.header("accept"), Some("text/event-stream"));
    }
}

#[tokio::test]
async fn a_server_whose_streams_end_at_once_does_not_set_the_pace() {
    let mut server = OddServer::start(|seen: Seen| async move {
        match seen.what().as_str() {
            "GET" => {
                let last = seen.header("last-event-id").unwrap_or_default();
                events([format!("retry: 0\nid: {last}x\ndata: {{}}\n\n")])
            }
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let _client = Client::opened(&server.url).await;
    server.sees("GET").await;
    let first = std::time::Instant::now();
    for _ in 0..2 {
        server.sees("GET").await;
    }
    assert!(
        first.elapsed() > std::time::Duration::from_millis(2500),
        "1 s, then 2 s"
    );
}

#[tokio::test]
async fn a_server_without_the_stream_is_asked_once() {
    for status in [404, 405, 400, 501] {
        let mut server = OddServer::start(move |seen: Seen| async move {
            match seen.what().as_str() {
                "GET" => empty(status),
                _ => seen.handshake().expect("nothing else is sent"),
            }
        })
        .await;
        let client = Client::opened(&server.url).await;
        server.sees("GET").await;
        client.link.shared.tasks.idle().await;
        assert!(server.rest().is_empty());
    }
}

#[tokio::test]
async fn a_connection_is_open_when_its_server_can_be_heard() {
    let heard = Arc::new(Semaphore::new(0));
    let says = heard.clone();
    let mut server = OddServer::start(move |seen: Seen| {
        let says = says.clone();
        async move {
            match seen.what().as_str() {
                "GET" => {
                    says.acquire().await.expect("it stays open").forget();
                    open_events([": hello\n\n".to_owned()])
                }
                _ => seen.handshake().expect("nothing else is sent"),
            }
        }
    })
    .await;
    let url = server.url.clone();
    let mut opening = std::pin::pin!(Client::opened(&url));
    tokio::select! {
        biased;
        _ = &mut opening => panic!("it is open, and nobody listens yet"),
        _ = server.sees("GET") => (),
    }
    heard.add_permits(1);
    opening.await;
}

#[tokio::test]
async fn news_that_nobody_reads_are_bounded() {
    let mut server = OddServer::start(|seen: Seen| async move {
        match seen.what().as_str() {
            "GET" if seen.header("last-event-id").is_none() => {
                let many = (0..3000).map(|_| notice(3000, "notifications/message"));
                events(many)
            }
            "GET" => empty(405),
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let mut client = Client::opened(&server.url).await;
    server.sees("GET").await;
    // The second one is sent when the first has been read to its end.
    server.sees("GET").await;
    let mut kept = 0;
    while client.news.try_recv().is_ok() {
        kept += 1;
    }
    assert_eq!(kept, crate::link::NEWS_CAPACITY);
}

#[tokio::test]
async fn news_that_are_too_large_to_wait_are_dropped() {
    let server = OddServer::start(|seen: Seen| async move {
        match seen.what().as_str() {
            "GET" => {
                let filler = "x".repeat(100 << 10);
                let large = |method: &str, id: &str| {
                    format!(
                        "data: {{\"jsonrpc\":\"2.0\",{id}\"method\":\"{method}\",\"params\":{{\"x\":\"{filler}\"}}}}\n\n"
                    )
                };
                open_events([
                    large("notifications/message", ""),
                    large("roots/list", "\"id\":5,"),
                    notice(1, "notifications/tools/list_changed"),
                ])
            }
            _ => seen.handshake().expect("nothing else is sent"),
        }
    })
    .await;
    let mut client = Client::opened(&server.url).await;
    let News::Notification(first) = client.next_news().await else {
        panic!("a notification")
    };
    assert_eq!(&*first.method, "notifications/tools/list_changed");
}

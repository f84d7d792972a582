//! Which connection a request goes over.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper_util::client::proxy::matcher::Matcher;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use super::{Endpoint, HttpClient, Posted};

/// What is not there after this time will not come.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(Duration::from_secs(10), work).await;
    done.expect("it takes no ten seconds")
}

struct Server(TcpListener);

impl Server {
    async fn start() -> (Self, HttpClient, http::Uri) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let endpoint = Endpoint {
            url: format!("http://{address}/mcp?key=1"),
            ..Endpoint::default()
        };
        let direct = Matcher::builder().build();
        let (client, uri) = HttpClient::new(&endpoint, &direct).expect("an endpoint");
        (Self(listener), client, uri)
    }

    async fn accept(&self) -> Peer {
        let (stream, _) = soon(self.0.accept()).await.expect("a connection");
        Peer(BufReader::new(stream))
    }
}

/// The server's end of a connection.
struct Peer(BufReader<TcpStream>);

impl Peer {
    /// Reads one request; gives its first line, or nothing if the connection is closed.
    async fn request(&mut self) -> String {
        let (mut first, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            soon(self.0.read_line(&mut line)).await.expect("text");
            if first.is_empty() {
                first = line.trim().to_owned();
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().expect("a number");
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        soon(self.0.read_exact(&mut body)).await.expect("a body");
        first
    }

    async fn say(&mut self, text: &str) {
        soon(self.0.write_all(text.as_bytes()))
            .await
            .expect("it is read");
    }
}

async fn post(client: &HttpClient, uri: &http::Uri) -> String {
    let request = || client.message(uri, Bytes::from_static(b"{}"));
    let Ok(Posted::Accepted(response)) = soon(client.submit(request)).await else {
        panic!("no response");
    };
    let body = soon(response.into_body().collect())
        .await
        .expect("a body")
        .to_bytes();
    String::from_utf8(body.to_vec()).expect("text")
}

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes";

#[tokio::test]
async fn requests_in_turn_share_a_connection() {
    let (server, client, uri) = Server::start().await;
    let serving = async {
        let mut peer = server.accept().await;
        for answer in [
            ANSWER,
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n",
            ANSWER,
        ] {
            assert_eq!(peer.request().await, "POST /mcp?key=1 HTTP/1.1");
            peer.say(answer).await;
        }
        peer
    };
    let asking = async {
        for _ in 0..3 {
            assert_eq!(post(&client, &uri).await, "yes");
        }
    };
    tokio::join!(serving, asking);
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_is_not_used() {
    for last_words in ["", "connection: close\r\n"] {
        let (server, client, uri) = Server::start().await;
        for _ in 0..3 {
            let serving = async {
                let mut peer = server.accept().await;
                peer.request().await;
                peer.say(&ANSWER.replace("content", &format!("{last_words}content")))
                    .await;
                drop(peer);
            };
            let (text, ()) = tokio::join!(post(&client, &uri), serving);
            assert_eq!(text, "yes");
            // The end reaches this side of a connection on this machine at once, but the reactor has to see it.
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_request_that_is_given_up_takes_its_connection_with_it() {
    let (server, client, uri) = Server::start().await;
    let request = || client.message(&uri, Bytes::from_static(b"{}"));
    let mut asking = Box::pin(client.submit(request));
    let mut peer = tokio::select! {
        _ = &mut asking => panic!("nothing was answered"),
        peer = async {
            let mut peer = server.accept().await;
            peer.request().await;
            peer
        } => peer,
    };
    drop(asking);
    assert_eq!(peer.request().await, "", "it is closed");
    let next = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.say(ANSWER).await;
    };
    assert_eq!(tokio::join!(post(&client, &uri), next).0, "yes");
}

#[tokio::test]
async fn an_idle_connection_is_let_go_before_servers_do() {
    let (server, client, uri) = Server::start().await;
    let serving = async {
        let mut peer = server.accept().await;
        peer.request().await;
        peer.say(ANSWER).await;
        peer
    };
    let (_, mut peer) = tokio::join!(post(&client, &uri), serving);
    // Time flies from here on: it jumps when there is nothing else to do.
    tokio::time::pause();
    tokio::time::sleep(Duration::from_millis(4500)).await;
    tokio::time::resume();
    assert_eq!(peer.request().await, "", "it is closed");
}

//! The link against real servers: rmcp's own, and a hand-written one that does what servers do on bad days.

mod answers;
mod closing;
mod control_lane;
mod notifications;
mod refusals;
mod rmcp_server;
mod sessions;
mod streams;
mod tls_server;
mod ways;

use bytes::Bytes;
use hyper_util::client::proxy::matcher::Matcher;
use tokio::sync::mpsc;

use super::{Endpoint, HttpControl, HttpExchange, HttpLink, connect_through};
use crate::{
    link::{
        Incoming, LinkError, News,
        in_flight::Purpose,
        tests::{ODD, odd_server, soon},
    },
    wire::{Outcome, Raw, RequestNumbers},
};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"tests","version":"0"}}}"#;

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A link under test.
struct Client {
    link: HttpLink,
    control: HttpControl,
    inbox: mpsc::Receiver<Bytes>,
    news: mpsc::Receiver<News>,
}

impl Client {
    /// A link on which nothing was sent yet.
    fn to(url: &str) -> Self {
        Self::at(&Endpoint {
            url: url.to_owned(),
            ..Endpoint::default()
        })
    }

    fn at(endpoint: &Endpoint) -> Self {
        Self::through(endpoint, &Matcher::builder().build())
    }

    fn through(endpoint: &Endpoint, proxies: &Matcher) -> Self {
        let (link, control, inbox, news) =
            connect_through(endpoint, proxies, RequestNumbers::default()).expect("a good endpoint");
        Self {
            link,
            control,
            inbox,
            news,
        }
    }

    /// A link whose handshake is done.
    async fn opened(url: &str) -> Self {
        let mut client = Self::to(url);
        client.open().await;
        client
    }

    async fn open(&mut self) {
        self.send(INITIALIZE).await.expect("initialize is taken");
        assert!(self.answer().await.contains("protocolVersion"));
        self.send(INITIALIZED).await.expect("initialized is taken");
    }

    async fn send(&self, frame: &'static str) -> Result<(), LinkError> {
        self.control
            .send(Bytes::from_static(frame.as_bytes()))
            .await
    }

    /// The next frame that an rmcp client would see.
    async fn answer(&mut self) -> String {
        let frame = soon(self.inbox.recv()).await.expect("the lane is open");
        String::from_utf8(frame.to_vec()).expect("JSON is UTF-8")
    }

    async fn next_news(&mut self) -> News {
        soon(self.news.recv()).await.expect("the link is open")
    }

    async fn call(&self, number: u64, tool: &str) -> Result<HttpExchange, LinkError> {
        let params = format!(
            r#"{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":"p{number}"}}}}"#
        );
        let params = Raw::parse_str(&params).expect("JSON");
        soon(
            self.link
                .call(number, "tools/call", Some(&params), &[], Purpose::Call),
        )
        .await
    }

    /// The text of the answer to a call.
    async fn result(&self, number: u64, tool: &str) -> Result<String, LinkError> {
        let mut exchange = self.call(number, tool).await?;
        match last(&mut exchange).await? {
            Outcome::Result(raw) | Outcome::Error(raw) => Ok(raw.as_str().to_owned()),
        }
    }
}

/// Reads past notices to the answer.
async fn last(exchange: &mut HttpExchange) -> Result<Outcome, LinkError> {
    loop {
        match soon(exchange.next()).await? {
            Incoming::Answer(outcome) => return Ok(outcome),
            Incoming::Notice(_) => (),
            Incoming::Question(question) => panic!("nobody answers {question:?}"),
        }
    }
}

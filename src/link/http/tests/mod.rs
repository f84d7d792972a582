//! The link against real servers: a hand-written one that does what servers do on bad days.

mod answers;
mod closing;
mod notifications;
mod opening;
mod refusals;
mod sessions;
mod streams;
mod tls_server;
mod ways;

use hyper_util::client::proxy::matcher::Matcher;
use tokio::sync::mpsc;

use super::{Endpoint, HttpExchange, HttpLink, connect_through};
use crate::{
    link::{
        Incoming, LinkError, Maker, News,
        in_flight::Purpose,
        tests::{ODD, odd_server, soon},
    },
    wire::{Outcome, Raw, RequestNumbers},
};

const INITIALIZE: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"tests","version":"0"}}"#;

/// A link under test.
struct Client {
    link: HttpLink,
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
        let made = connect_through(endpoint, proxies, RequestNumbers::default());
        let made = made.expect("a good endpoint");
        Self {
            link: made.link,
            news: made.news,
        }
    }

    /// A link whose handshake is done.
    async fn opened(url: &str) -> Self {
        let client = Self::to(url);
        client.open().await;
        client
    }

    async fn open(&self) {
        let answer = self.initialize().await.expect("an answer");
        assert!(matches!(answer, Outcome::Result(_)), "{answer:?}");
        soon(self.link.initialized()).await.expect("it is taken");
    }

    async fn initialize(&self) -> Result<Outcome, LinkError> {
        let params = Raw::parse_str(INITIALIZE).expect("JSON");
        soon(self.link.initialize(&params)).await
    }

    async fn next_news(&mut self) -> News {
        soon(self.news.recv()).await.expect("the link is open")
    }

    async fn call(&self, number: u64, tool: &str) -> Result<HttpExchange, LinkError> {
        let params = format!(
            r#"{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":"p{number}"}}}}"#
        );
        let params = Raw::parse_str(&params).expect("JSON");
        soon(self.link.call(
            number,
            "tools/call",
            Some(&params),
            &[],
            Purpose::Call,
            Maker::Client,
        ))
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

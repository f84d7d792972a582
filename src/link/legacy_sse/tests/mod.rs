//! The link against a hand-written server that does what servers do on good and bad days.

mod opening;
mod posts;
mod streams;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use hyper_util::client::proxy::matcher::Matcher;
use tokio::sync::mpsc;

use super::{LegacySseExchange, LegacySseLink, StreamOpenError, connect_through};
use crate::{
    link::{
        Endpoint, Incoming, LinkError, News, Noise,
        in_flight::Purpose,
        tests::{
            ODD,
            odd_server::{OddServer, Seen, empty, typed},
            soon,
        },
    },
    wire::{Outcome, Raw, RequestNumbers},
};

/// A server whose stream is in the hands of the test.
struct Server {
    odd: OddServer,
    stream: Option<mpsc::UnboundedSender<Bytes>>,
}

impl Server {
    /// Answers every POST with 202.
    async fn start() -> Self {
        Self::answering(|_| async { empty(202) }).await
    }

    /// Answers every POST with `respond`.
    async fn answering<F>(respond: impl Fn(Seen) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Response> + Send + 'static,
    {
        let (stream, pieces) = mpsc::unbounded_channel();
        let pieces = Arc::new(Mutex::new(Some(pieces)));
        let odd = OddServer::start(move |seen| {
            let is_get = seen.verb == http::Method::GET;
            let pieces = is_get.then(|| pieces.lock().expect("no panic").take());
            let response = (!is_get).then(|| respond(seen));
            async move {
                match (response, pieces.flatten()) {
                    (Some(response), _) => response.await,
                    (None, Some(pieces)) => typed(200, "text/event-stream", streamed(pieces)),
                    (None, None) => empty(409),
                }
            }
        })
        .await;
        let server = Self {
            odd,
            stream: Some(stream),
        };
        server.say("event: endpoint\ndata: /post?id=1\n\n");
        server
    }

    /// Writes on the stream.
    fn say(&self, text: &str) {
        let stream = self.stream.as_ref().expect("not ended");
        stream
            .send(Bytes::copy_from_slice(text.as_bytes()))
            .expect("it is read");
    }

    fn say_frame(&self, frame: &str) {
        self.say(&format!("event: message\ndata: {frame}\n\n"));
    }

    /// Ends the stream.
    fn hang_up(&mut self) {
        self.stream = None;
    }
}

fn streamed(pieces: mpsc::UnboundedReceiver<Bytes>) -> Body {
    Body::from_stream(stream::unfold(pieces, |mut pieces| async {
        let piece = pieces.recv().await?;
        Some((Ok::<_, Infallible>(piece), pieces))
    }))
}

/// A link under test.
struct Client {
    link: LegacySseLink,
    news: mpsc::Receiver<News>,
    _tasks: Vec<tokio_util::task::AbortOnDropHandle<()>>,
}

impl Client {
    async fn to(server: &Server) -> Self {
        let endpoint = Endpoint {
            url: server.odd.url.clone(),
            ..Endpoint::default()
        };
        let client = Self::at(&endpoint);
        client.await.expect("it opens")
    }

    async fn at(endpoint: &Endpoint) -> Result<Self, StreamOpenError> {
        let direct = Matcher::builder().build();
        let made = soon(connect_through(
            endpoint,
            &direct,
            RequestNumbers::default(),
            Noise::default(),
        ))
        .await?;
        Ok(Self {
            link: made.link,
            news: made.news,
            _tasks: made.tasks,
        })
    }

    async fn call(&self, number: u64) -> Result<LegacySseExchange, LinkError> {
        let params = Raw::parse_str(r#"{"name":"x"}"#).expect("JSON");
        soon(
            self.link
                .call(number, "tools/call", Some(&params), Purpose::Call),
        )
        .await
    }

    async fn next_news(&mut self) -> News {
        soon(self.news.recv()).await.expect("the link is open")
    }

    /// Why the link is over.
    async fn farewell(&mut self) -> String {
        match self.next_news().await {
            News::Closed(why) => why,
            other => panic!("not over: {other:?}"),
        }
    }
}

/// The text of the answer, and how many notices came before it.
async fn last(exchange: &mut LegacySseExchange) -> Result<(String, usize), LinkError> {
    let mut notices = 0;
    loop {
        match soon(exchange.slot().next()).await? {
            Incoming::Answer(Outcome::Result(raw) | Outcome::Error(raw)) => {
                return Ok((raw.as_str().to_owned(), notices));
            }
            Incoming::Notice(_) => notices += 1,
            Incoming::Question(question) => panic!("nobody answers {question:?}"),
        }
    }
}

fn answer(number: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"p{number}","result":{result}}}"#)
}

fn progress(number: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"p{number}","progress":1}}}}"#
    )
}

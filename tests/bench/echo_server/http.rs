//! Streamable HTTP at any path, and HTTP+SSE at `/sse`.

use std::{
    collections::HashMap,
    convert::Infallible,
    error::Error,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use http_body_util::{BodyExt, Either, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body, Bytes, Frame, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

use super::{
    answers::{Answer, answer},
    tools,
};

const SESSION: &str = "mcp-session-id";

/// What all connections share.
#[derive(Default)]
struct Server {
    last_session: AtomicU64,
    /// The streams of HTTP+SSE, by session.
    streams: Mutex<HashMap<u64, UnboundedSender<Bytes>>>,
    /// Lists of tools, by path.
    lists: Mutex<HashMap<String, Arc<str>>>,
}

/// Events as they are sent; it ends when nobody can send any more.
struct Events(UnboundedReceiver<Bytes>);

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let event = self.0.poll_recv(context);
        event.map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

type Reply = Response<Either<Full<Bytes>, Events>>;

pub(super) fn serve(listen: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await?;
        let server = Arc::new(Server::default());
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let server = server.clone();
            let service = service_fn(move |request| {
                let server = server.clone();
                async move { server.reply(request).await }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    })
}

impl Server {
    async fn reply(&self, request: Request<Incoming>) -> Result<Reply, hyper::Error> {
        let path = request.uri().path().to_owned();
        Ok(match *request.method() {
            Method::GET => self.stream(&path),
            Method::POST => {
                let stream = request.uri().query().and_then(|number| number.parse().ok());
                let is_new = !request.headers().contains_key(SESSION);
                let body = request.into_body().collect().await?.to_bytes();
                let mut reply = self.post(&path, stream, &body).await;
                if is_new && stream.is_none() {
                    let session = HeaderValue::from(self.next_session());
                    reply.headers_mut().insert(SESSION, session);
                }
                reply
            }
            _ => status(StatusCode::OK),
        })
    }

    /// At `/sse` the answers of a session; elsewhere a stream on which nothing ever comes.
    fn stream(&self, path: &str) -> Reply {
        let (sender, events) = unbounded_channel();
        let session = self.next_session();
        if path == "/sse" {
            let first = format!("event: endpoint\ndata: /posts?{session}\n\n");
            // The receiver is right here.
            let _ = sender.send(first.into());
        }
        let mut streams = self.streams.lock().expect("no panic under lock");
        streams.retain(|_, stream| !stream.is_closed());
        streams.insert(session, sender);
        let mut reply = Response::new(Either::Right(Events(events)));
        let events = HeaderValue::from_static("text/event-stream");
        reply.headers_mut().insert(CONTENT_TYPE, events);
        reply
    }

    /// The answer, or nothing where it goes to the stream of that number.
    async fn post(&self, path: &str, stream: Option<u64>, body: &[u8]) -> Reply {
        let message = match answer(body, &self.list(path)) {
            Answer::Nothing => return status(StatusCode::ACCEPTED),
            Answer::Now(message) => message,
            Answer::After(time, message) => {
                tokio::time::sleep(time).await;
                message
            }
        };
        let Some(stream) = stream else {
            let mut reply = Response::new(Either::Left(Full::from(message)));
            let json = HeaderValue::from_static("application/json");
            reply.headers_mut().insert(CONTENT_TYPE, json);
            return reply;
        };
        let event = [b"event: message\ndata: ".as_slice(), &message, b"\n\n"].concat();
        if let Some(stream) = self
            .streams
            .lock()
            .expect("no panic under lock")
            .get(&stream)
        {
            // It fails where the client has left.
            let _ = stream.send(event.into());
        }
        status(StatusCode::ACCEPTED)
    }

    fn next_session(&self) -> u64 {
        self.last_session.fetch_add(1, Ordering::Relaxed)
    }

    /// The tools at `/FROM/COUNT`; 50 elsewhere.
    fn list(&self, path: &str) -> Arc<str> {
        let mut lists = self.lists.lock().expect("no panic under lock");
        if let Some(list) = lists.get(path) {
            return list.clone();
        }
        let mut numbers = path.split('/').skip(1).map(str::parse);
        let (from, count) = match (numbers.next(), numbers.next()) {
            (Some(Ok(from)), Some(Ok(count))) => (from, count),
            _ => (0, 50),
        };
        let list: Arc<str> = tools::list(from, count).into();
        lists.insert(path.to_owned(), list.clone());
        list
    }
}

fn status(status: StatusCode) -> Reply {
    let mut reply = Response::new(Either::Left(Full::default()));
    *reply.status_mut() = status;
    reply
}

//! The one stream of a client over HTTP+SSE, read on behalf of everybody who waits for something on it.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{sync::mpsc, task::AbortHandle};

use super::{event_stream::EventStream, http, patience::within};

/// An open stream. Dropping it closes its connection.
pub struct Feed {
    /// Where to post.
    pub address: String,
    listeners: Listeners,
    reading: AbortHandle,
}

type Listeners = Arc<Mutex<Vec<mpsc::UnboundedSender<String>>>>;

impl Feed {
    /// Opens the stream and reads the address to post to.
    pub async fn open(to: SocketAddr, path: &str) -> Self {
        Self::open_with(to, path, &[]).await
    }

    /// The same with these headers besides.
    pub async fn open_with(to: SocketAddr, path: &str, more: &[(&str, &str)]) -> Self {
        let headers = [&[("accept", "text/event-stream")], more].concat();
        let answer = http::open(to, "GET", path, &headers, "").await;
        assert_eq!(answer.status, 200, "GET {path}");
        assert_eq!(answer.header("content-type"), "text/event-stream");
        let mut stream = EventStream::new(answer).without_deadline();
        let first = within("the address to post to", stream.next()).await;
        let first = first.expect("a stream begins with an address");
        assert_eq!(first.kind, "endpoint");
        let listeners = Listeners::default();
        let reading = tokio::spawn(read(stream, listeners.clone()));
        Self {
            address: first.data,
            listeners,
            reading: reading.abort_handle(),
        }
    }

    /// Everything that comes from now on.
    pub fn hear(&self) -> Heard {
        let (sender, frames) = mpsc::unbounded_channel();
        let mut listeners = self.listeners.lock().expect("no panic under lock");
        if !self.reading.is_finished() {
            listeners.push(sender);
        }
        Heard { frames }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn read(mut stream: EventStream, listeners: Listeners) {
    while let Some(event) = stream.next().await {
        assert_eq!(event.kind, "message");
        let mut listeners = listeners.lock().expect("no panic under lock");
        listeners.retain(|listener| listener.send(event.data.clone()).is_ok());
    }
    listeners.lock().expect("no panic under lock").clear();
}

/// What comes on a feed.
pub struct Heard {
    frames: mpsc::UnboundedReceiver<String>,
}

impl Heard {
    /// The next frame; nothing when the stream has ended.
    pub async fn next(&mut self) -> Option<String> {
        within("a frame of a stream", self.frames.recv()).await
    }
}

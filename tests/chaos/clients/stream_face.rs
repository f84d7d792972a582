//! HTTP+SSE of 2024-11-05: one stream for all answers, opened again when it ends.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::{Mutex, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::{
    OPENED, Outcome, frame,
    http_face::{Address, Coming, send},
    lines::Events,
    opening,
    pipe_face::Waiting,
};

pub struct StreamFace {
    to: Address,
    path: String,
    last_id: AtomicU64,
    stream: Mutex<Option<Stream>>,
    waiting: Arc<Waiting>,
}

struct Stream {
    post_to: String,
    reading: AbortOnDropHandle<()>,
}

impl StreamFace {
    pub fn new(port: u16, path: &str) -> Self {
        Self {
            to: Address::Tcp(port),
            path: path.to_owned(),
            last_id: AtomicU64::new(0),
            stream: Mutex::default(),
            waiting: Arc::default(),
        }
    }

    pub async fn request(&self, method: &str, params: &Value) -> Outcome {
        let post_to = match self.opened().await {
            Ok(post_to) => post_to,
            Err(outcome) => return outcome,
        };
        self.ask(&post_to, method, params).await
    }

    async fn ask(&self, post_to: &str, method: &str, params: &Value) -> Outcome {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let answer = self.waiting.expect(id);
        let body = frame(id, method, &params.to_string());
        match self.post(post_to, body).await {
            Ok(202) => (),
            // The stream that it belongs to has just ended.
            Ok(404) => return Outcome::Disconnected("the session has ended".to_owned()),
            Ok(status) => return Outcome::Wrong(format!("POST {post_to}: status {status}")),
            Err(why) => return Outcome::Disconnected(why),
        }
        match answer.await {
            Ok(frame) => Outcome::Answer(frame),
            Err(_) => Outcome::Disconnected("the stream ended".to_owned()),
        }
    }

    async fn post(&self, path: &str, body: String) -> Result<u16, String> {
        let headers = [("content-type", "application/json".to_owned())];
        let coming = send(&self.to, "POST", path, &headers, body).await?;
        Ok(coming.response.status().as_u16())
    }

    /// Where to post, on a stream that is open.
    async fn opened(&self) -> Result<String, Outcome> {
        let mut slot = self.stream.lock().await;
        if let Some(stream) = &*slot
            && !stream.reading.is_finished()
        {
            return Ok(stream.post_to.clone());
        }
        *slot = None;
        let headers = [("accept", "text/event-stream".to_owned())];
        let coming = send(&self.to, "GET", &self.path, &headers, String::new()).await;
        let coming = coming.map_err(Outcome::Disconnected)?;
        let status = coming.response.status();
        if status != 200 {
            return Err(Outcome::Wrong(format!("GET {}: {status}", self.path)));
        }
        let (told, endpoint) = oneshot::channel();
        let reading = tokio::spawn(read(coming, told, self.waiting.clone()));
        let reading = AbortOnDropHandle::new(reading);
        let Ok(post_to) = endpoint.await else {
            let why = "the stream ended before its endpoint".to_owned();
            return Err(Outcome::Disconnected(why));
        };
        match self
            .ask(&post_to, "initialize", &opening("2024-11-05"))
            .await
        {
            Outcome::Answer(frame) if frame["result"].is_object() => (),
            other => return Err(other),
        }
        let told = self.post(&post_to, OPENED.to_owned()).await;
        told.map_err(Outcome::Disconnected)?;
        *slot = Some(Stream {
            post_to: post_to.clone(),
            reading,
        });
        Ok(post_to)
    }

    pub fn strays(&self) -> Vec<String> {
        self.waiting.strays()
    }

    pub async fn leave(&self) {
        *self.stream.lock().await = None;
    }
}

async fn read(coming: Coming, told: oneshot::Sender<String>, waiting: Arc<Waiting>) {
    let mut told = Some(told);
    let mut coming = coming;
    let mut events = Events::default();
    while let Some(Ok(piece)) = coming.response.body_mut().frame().await {
        let Ok(piece) = piece.into_data() else {
            continue;
        };
        for (kind, data) in events.feed(&piece) {
            if kind != "endpoint" {
                waiting.take(&data);
            } else if let Some(told) = told.take() {
                // Whoever opened it waits, or has given up.
                let _ = told.send(data);
            }
        }
    }
    waiting.give_up();
}

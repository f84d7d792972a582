//! The link over a child's pipes: one message a line.
//!
//! A reader task sorts what arrives, a writer task writes what waits; both end with the connection. Lines that are no messages
//! (banners, log lines on stdout) are counted and passed over; a message that is broken or too large fails the request whose id
//! it bears.

use std::{future::Future, sync::Arc};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    sync::mpsc,
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    Inbound, LinkError, MAX_FRAME, NEWS_CAPACITY, News,
    in_flight::{InFlight, Slot},
    outbox::Outbox,
};
use crate::wire::{
    Id, IdFinder, Message, Notification, Outcome, Raw, Response, error_frame, method,
    notification_frame, request_frame, result_frame,
};

/// How much is asked of the pipe at once.
const READ_SIZE: usize = 64 << 10;

/// Limit: answers waiting for the rmcp client, which has a few requests in flight at most.
const CONTROL_CAPACITY: usize = 64;

/// The link. Cheap to clone.
#[derive(Clone)]
pub struct StdioLink(Arc<Shared>);

#[derive(Default)]
struct Shared {
    outbox: Outbox,
    in_flight: InFlight,
}

/// What belongs to a new link over pipes.
pub struct StdioConnection {
    /// The raw lane.
    pub link: StdioLink,
    /// Answers for the control lane.
    pub control: mpsc::Receiver<Bytes>,
    /// What belongs to no request.
    pub news: mpsc::Receiver<News>,
    /// Reader and writer; dropping them ends the link.
    pub tasks: Vec<AbortOnDropHandle<()>>,
}

/// Takes the pipes of a child. `ended` is awaited, for half a second at most, when the output ends: it says why
/// ("exit code 3").
pub fn connect(
    stdin: impl AsyncWrite + Unpin + Send + 'static,
    stdout: impl AsyncRead + Unpin + Send + 'static,
    ended: impl Future<Output = String> + Send + 'static,
) -> StdioConnection {
    let link = StdioLink(Arc::default());
    let (control_in, control) = mpsc::channel(CONTROL_CAPACITY);
    let (news_in, news) = mpsc::channel(NEWS_CAPACITY);
    let reader = Reader {
        shared: link.0.clone(),
        control: control_in,
        news: news_in,
        strays: 0,
    };
    let shared = link.0.clone();
    let tasks = vec![
        AbortOnDropHandle::new(tokio::spawn(reader.run(stdout, ended))),
        AbortOnDropHandle::new(tokio::spawn(async move {
            if let Err(error) = shared.outbox.write_to(stdin).await {
                // The reader hears of the end too and says why; this only keeps new frames out.
                tracing::debug!(%error, "writing to the server failed");
                shared.outbox.close();
            }
        })),
    ];
    StdioConnection {
        link,
        control,
        news,
        tasks,
    }
}

impl StdioLink {
    /// Sends a request; see [`super::Link::call`].
    pub fn call(
        &self,
        number: u64,
        method: &str,
        params: Option<&Raw>,
    ) -> Result<StdioExchange, LinkError> {
        let slot = self.0.in_flight.insert(number)?;
        let exchange = StdioExchange {
            link: self.clone(),
            number,
            slot,
            open: true,
        };
        self.0
            .outbox
            .push(&request_frame(&Id::ours(number), method, params))
            .inspect_err(|_| {
                self.0.in_flight.remove(number);
            })?;
        Ok(exchange)
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Option<&Raw>) -> Result<(), LinkError> {
        self.0.outbox.push(&notification_frame(method, params))
    }

    /// Answers a question.
    pub fn answer(&self, id: &Id, outcome: &Outcome) -> Result<(), LinkError> {
        self.0.outbox.push(&match outcome {
            Outcome::Result(result) => result_frame(id, result),
            Outcome::Error(error) => error_frame(Some(id), error),
        })
    }

    /// Sends a frame of the control lane.
    pub fn send_control(&self, frame: &Bytes) -> Result<(), LinkError> {
        self.0.outbox.push(frame)
    }

    /// Writes what waits, then closes the child's input.
    pub fn close(&self) {
        self.0.outbox.close();
    }
}

/// The stream of one request.
pub struct StdioExchange {
    link: StdioLink,
    number: u64,
    slot: Arc<Slot>,
    /// Not answered yet, so leaving means cancelling.
    open: bool,
}

impl StdioExchange {
    /// The next message; see [`super::Exchange::next`].
    pub async fn next(&mut self) -> Result<Inbound, LinkError> {
        let message = self.slot.next().await;
        if matches!(message, Ok(Inbound::Answer(_)) | Err(_)) {
            self.open = false;
        }
        message
    }
}

impl Drop for StdioExchange {
    fn drop(&mut self) {
        if self.open && self.link.0.in_flight.remove(self.number) {
            let params = Raw::author(&serde_json::json!({
                "requestId": format!("p{}", self.number),
                "reason": "the client withdrew the request",
            }));
            // An error says that the link is over, and the request with it.
            let _ = self.link.notify(method::CANCELLED, Some(&params));
        }
    }
}

/// The task that sorts what arrives.
struct Reader {
    shared: Arc<Shared>,
    control: mpsc::Sender<Bytes>,
    news: mpsc::Sender<News>,
    /// Lines so far that were no messages.
    strays: u64,
}

impl Reader {
    async fn run(mut self, stdout: impl AsyncRead + Unpin, ended: impl Future<Output = String>) {
        let failure = self.read_lines(stdout).await.err();
        // The pipe ends a moment before the exit status is known.
        let exit = tokio::time::timeout(std::time::Duration::from_millis(500), ended)
            .await
            .ok();
        let reason = match (exit, failure) {
            (Some(exit), _) => format!("the server ended: {exit}"),
            (None, Some(error)) => format!("reading the server's output failed: {error}"),
            (None, None) => "the server closed its output".to_owned(),
        };
        self.shared.outbox.close();
        self.shared.in_flight.close(&reason);
        // The one message that must not be dropped.
        let _ = self.news.send(News::Closed(reason)).await;
    }

    async fn read_lines(&mut self, mut stdout: impl AsyncRead + Unpin) -> std::io::Result<()> {
        let mut buffer = BytesMut::with_capacity(READ_SIZE);
        let mut seen = 0;
        // A line that has become too large; its bytes go by, only its id is looked for.
        let mut oversized: Option<IdFinder> = None;
        loop {
            while let Some(at) = memchr::memchr(b'\n', &buffer[seen..]) {
                let line = buffer.split_to(seen + at + 1).freeze();
                seen = 0;
                match oversized.take() {
                    None => self.line(&line),
                    Some(mut finder) => {
                        finder.feed(&line);
                        self.broken(finder, "it is larger than 64 MiB");
                    }
                }
            }
            seen = buffer.len();
            if let Some(finder) = &mut oversized {
                finder.feed(&buffer);
                (buffer, seen) = (BytesMut::with_capacity(READ_SIZE), 0);
            } else if buffer.len() > MAX_FRAME {
                let mut finder = IdFinder::default();
                finder.feed(&buffer);
                oversized = Some(finder);
                (buffer, seen) = (BytesMut::with_capacity(READ_SIZE), 0);
            }
            buffer.reserve(READ_SIZE);
            if stdout.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
    }

    fn line(&mut self, line: &Bytes) {
        let text = line.trim_ascii();
        if text.is_empty() {
            return;
        }
        match Message::parse(&line.slice_ref(text)) {
            Ok(message) => self.sort(message, line),
            Err(error) if text.first() == Some(&b'{') => {
                let mut finder = IdFinder::default();
                finder.feed(text);
                self.broken(finder, &error.to_string());
            }
            Err(_) => self.stray(),
        }
    }

    fn sort(&mut self, message: Message, line: &Bytes) {
        match message {
            Message::Response(Response {
                id: Some(id),
                outcome,
            }) => match id.our_number() {
                Some(number) => self.shared.in_flight.finish(number, Ok(outcome)),
                None => drop(self.control.try_send(line.clone())),
            },
            Message::Response(Response { id: None, .. }) => self.unattributed_error(),
            Message::Notification(notice) => self.notice(notice),
            Message::Request(question) => self.post(News::Question(question)),
        }
    }

    /// Progress belongs to the request that its token names; a log line to the only request in flight, if there is one.
    fn notice(&mut self, notice: Notification) {
        let number = match &*notice.method {
            method::PROGRESS => progress_token(&notice),
            method::LOG_MESSAGE => self.shared.in_flight.only(),
            _ => return self.post(News::Notification(notice)),
        };
        let stranger = match number {
            Some(number) => self.shared.in_flight.notice(number, notice).err(),
            None => Some(notice),
        };
        if let Some(notice) = stranger.filter(|n| &*n.method == method::LOG_MESSAGE) {
            self.post(News::Notification(notice));
        }
    }

    fn broken(&mut self, finder: IdFinder, why: &str) {
        match finder.finish().and_then(|id| id.our_number()) {
            Some(number) => {
                let error = LinkError::Broken(format!("a message could not be read: {why}"));
                self.shared.in_flight.finish(number, Err(error));
            }
            None => self.stray(),
        }
    }

    /// The server could not read a request and does not say which. With one in flight it is that one.
    fn unattributed_error(&mut self) {
        match self.shared.in_flight.only() {
            Some(number) => {
                let error =
                    LinkError::Broken("the server rejected the request as unreadable".to_owned());
                self.shared.in_flight.finish(number, Err(error));
            }
            None => self.stray(),
        }
    }

    fn stray(&mut self) {
        self.strays += 1;
        if self.strays == 1 {
            tracing::warn!(
                "the server writes lines to its output that are no messages; they are passed over"
            );
        }
    }

    fn post(&self, news: News) {
        if self.news.try_send(news).is_err() {
            tracing::warn!("a message of the server was dropped: too many wait");
        }
    }
}

fn progress_token(notice: &Notification) -> Option<u64> {
    let token = notice.params.as_ref()?.get("progressToken")?.string()?;
    token.strip_prefix('p')?.parse().ok()
}

//! The link over a child's pipes: one message a line.
//!
//! A reader task sorts what arrives, a writer task writes what waits; both end with the connection. Lines that are no messages
//! (banners, log lines on stdout) are counted and passed over; a message that is broken or too large fails the request whose id
//! it bears.

mod outbox;
#[cfg(test)]
mod tests;

use std::{future::Future, io, sync::Arc, time::Duration};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::task::AbortOnDropHandle;

use self::outbox::Outbox;
use super::{
    Connection, LinkError, MAX_FRAME, News, Noise, Purpose, RequestsInFlight, Slot, TOO_LARGE,
    news_queue, sorter::Sorter, withdrawal_frame,
};
use crate::{
    storage::in_words,
    text::Secrets,
    wire::{
        Id, Outcome, Raw, RequestNumbers,
        lines::{Line, Lines},
        notification_frame, request_frame, response_frame,
    },
};

/// Limit: a line that goes by because it is larger than [`MAX_FRAME`]. A server that sends more without a line end is given up.
const LONGEST_LINE: usize = 4 * MAX_FRAME;

/// How long the reason of an end is waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long a server may still answer after it has closed its input.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// The link. Cheap to clone.
#[derive(Clone)]
pub struct StdioLink(Arc<StdioShared>);

struct StdioShared {
    outbox: Outbox,
    in_flight: RequestsInFlight,
    noise: Noise,
}

/// Takes the pipes of a child. `ended` is awaited, for half a second at most, when the output ends: it says why
/// ("exited with code 3").
pub fn connect(
    stdin: impl AsyncWrite + Unpin + Send + 'static,
    stdout: impl AsyncRead + Unpin + Send + 'static,
    ended: impl Future<Output = String> + Send + 'static,
    numbers: RequestNumbers,
    noise: Noise,
) -> Connection<StdioLink> {
    let (news_in, news) = news_queue();
    let link = StdioLink(Arc::new(StdioShared {
        outbox: Outbox::default(),
        in_flight: RequestsInFlight::new(numbers, news_in),
        noise: noise.clone(),
    }));
    let reader = StdoutReader {
        shared: link.0.clone(),
        sorter: Sorter::new(noise),
    };
    let tasks = vec![
        AbortOnDropHandle::new(tokio::spawn(reader.run(stdout, ended))),
        AbortOnDropHandle::new(tokio::spawn(write(link.0.clone(), stdin))),
    ];
    Connection { link, news, tasks }
}

/// Writes until the link is closed. A server that reads no more is of no use, but may still have answers to give: usually it has
/// ended, and the reader says why.
async fn write(shared: Arc<StdioShared>, stdin: impl AsyncWrite + Unpin + Send + 'static) {
    let Err(error) = shared.outbox.write_to(stdin).await else {
        return;
    };
    tracing::debug!(%error, "writing to the server failed");
    shared.outbox.close();
    tokio::time::sleep(LAST_ANSWERS).await;
    let reason = "the server closed its input".to_owned();
    shared.in_flight.close(&LinkError::Lost(reason.clone()));
    shared.in_flight.news().send(News::Closed(reason)).await;
}

impl StdioLink {
    /// Sends a request; see [`super::Link::call`] and [`super::Link::listen`].
    pub(super) fn call(
        &self,
        number: u64,
        method: &str,
        params: Option<&Raw>,
        purpose: Purpose,
    ) -> Result<StdioExchange, LinkError> {
        let slot = self.0.in_flight.insert(number, purpose)?;
        let frame = request_frame(&Id::ours(number), method, params);
        let sent = self.0.outbox.push(frame);
        sent.inspect_err(|_| _ = self.0.in_flight.forget(number))?;
        Ok(StdioExchange {
            link: self.clone(),
            number,
            slot,
            quiet: false,
            noise_before: self.0.noise.lines(),
        })
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Option<&Raw>) -> Result<(), LinkError> {
        self.0.outbox.push(notification_frame(method, params))
    }

    pub(super) fn in_flight(&self) -> &RequestsInFlight {
        &self.0.in_flight
    }

    /// See [`super::Link::secrets`].
    pub(super) fn secrets(&self) -> Secrets {
        self.0.noise.secrets().clone()
    }

    /// Answers a question.
    pub fn answer(&self, id: &Id, outcome: &Outcome) -> Result<(), LinkError> {
        self.0.outbox.push(response_frame(id, outcome))
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
    /// The server does not hear of it.
    quiet: bool,
    /// How many lines that are no messages came before it.
    noise_before: u64,
}

impl StdioExchange {
    /// See [`super::Exchange::leave_quietly`].
    pub fn leave_quietly(&mut self) {
        self.quiet = true;
    }

    pub(super) fn slot(&self) -> &Slot {
        &self.slot
    }

    /// What the program wrote to its stdout since the request was sent that is no message, in words; empty if there is none.
    pub fn noise(&self) -> String {
        let line = self.link.0.noise.last_since(self.noise_before);
        let line = line.map(|line| format!("it wrote {line} to its stdout, which is not MCP"));
        line.unwrap_or_default()
    }
}

impl Drop for StdioExchange {
    fn drop(&mut self) {
        // A request that was answered, or has failed, is not in the table any more.
        if self.link.0.in_flight.leave(self.number, &self.slot) && !self.quiet {
            // An error says that the link is over, and the request with it.
            let _ = self.link.0.outbox.push(withdrawal_frame(self.number));
        }
    }
}

/// The task that sorts what arrives.
struct StdoutReader {
    shared: Arc<StdioShared>,
    sorter: Sorter,
}

impl Drop for StdoutReader {
    /// However it ends, nobody waits for it any longer. A reason that is known already goes first.
    fn drop(&mut self) {
        let reason = "the connection was closed";
        self.shared.outbox.close();
        let lost = LinkError::Lost(reason.to_owned());
        self.shared.in_flight.close(&lost);
        self.shared
            .in_flight
            .news()
            .post(News::Closed(reason.to_owned()));
    }
}

impl StdoutReader {
    async fn run(mut self, stdout: impl AsyncRead + Unpin, ended: impl Future<Output = String>) {
        let mut lines = Lines::new(stdout, MAX_FRAME);
        let failure = self.read_lines(&mut lines).await.err();
        let error = match lines.endless() {
            Some(bytes) => LinkError::Endless(bytes >> 20),
            None => LinkError::Lost(why(failure, ended).await),
        };
        let reason = match &error {
            LinkError::Lost(why) => why.clone(),
            error => error.to_string(),
        };
        self.shared.outbox.close();
        self.shared.in_flight.close(&error);
        self.shared
            .in_flight
            .news()
            .send(News::Closed(reason))
            .await;
    }

    async fn read_lines(&mut self, lines: &mut Lines<impl AsyncRead + Unpin>) -> io::Result<()> {
        // One that has given no answer yet is no server of MCP.
        lines.bear(MAX_FRAME);
        let in_flight = &self.shared.in_flight;
        while let Some(line) = lines.next().await? {
            match line {
                // The end of the connection says more than a message that was torn off.
                Line::Text(text) if lines.is_over() && Raw::parse(&text).is_err() => (),
                Line::Text(text) => {
                    if self.sorter.sort(in_flight, &text) {
                        lines.bear(LONGEST_LINE);
                    }
                }
                Line::TooLarge(id) => {
                    let text = TOO_LARGE.as_bytes();
                    self.sorter.broken(in_flight, id.as_ref(), TOO_LARGE, text);
                }
            }
        }
        Ok(())
    }
}

/// Why the output has ended.
async fn why(failure: Option<io::Error>, ended: impl Future<Output = String>) -> String {
    // The pipe ends a moment before the exit status is known.
    match (tokio::time::timeout(LAST_WORDS, ended).await, failure) {
        (Ok(exit), _) => exit,
        (Err(_), Some(error)) => {
            format!("reading the server's output failed: {}", in_words(&error))
        }
        (Err(_), None) => "it closed its output".to_owned(),
    }
}

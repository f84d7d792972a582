//! One client on a pair of streams, a message a line: a program that started us, or a bridge on the local socket. Requests run at
//! once; answers and notices go out in order, as fast as the client reads. The session ends with the client's input.

mod requests;

use std::{collections::VecDeque, pin::pin, time::Duration};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
    time::sleep,
};

use self::requests::Requests;
use super::{
    Inbound,
    dispatch::{MAX_MESSAGE, ServedClient, Unframed},
    session::SessionKind,
    sessions::SessionOwner,
};
use crate::{
    access::Caller,
    router::View,
    wire::{
        FrameError, RpcError,
        lines::{self, Line, Lines},
    },
};

/// Limit: lines that wait behind an `initialize` which is not answered yet.
const HELD: usize = 256;

/// Limit: frames that wait for the client to read. Further ones wait.
const UNREAD: usize = 64;

/// Time for answers to a client that is likely to be gone, and for what was not written yet.
pub(super) const GRACE: Duration = Duration::from_secs(1);

impl Inbound {
    /// Serves one client until nobody reads its output, or its input has ended and its requests are answered, or it is `gone`. When
    /// the daemon ends, little time is left for that. One whose input lasts is served until the daemon ends and they are answered.
    pub async fn attend(
        self,
        view: View,
        caller: Caller,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
        gone: impl Future<Output = ()>,
    ) {
        let (out, frames) = mpsc::channel(UNREAD);
        let closing = self.0.closing.clone();
        // After the input. It is not polled before, so that no time of it passes.
        let mut given_up = pin!(async {
            let closed = async {
                closing.cancelled().await;
                sleep(GRACE).await;
            };
            tokio::select! {
                () = gone => (),
                () = closed => (),
            }
        });
        let mut conversation = Conversation::new(self, view, caller, out);
        let talking = async {
            match conversation.listen_to(input).await {
                End::Input => {
                    conversation.requests.announce_no_more();
                    tokio::select! {
                        () = conversation.answered() => true,
                        () = &mut given_up => false,
                    }
                }
                // The caller of the end sets the deadline.
                End::Closing => {
                    conversation.requests.streams_ended().await;
                    conversation.answered().await;
                    true
                }
            }
        };
        let mut writing = pin!(lines::write(frames, output));
        let may_read = tokio::select! {
            written = &mut writing => {
                tracing::debug!(?written, "a client stopped reading");
                false
            }
            may_read = talking => may_read,
        };
        conversation.end().await;
        if may_read {
            // What is queued goes out, as slowly as the client reads.
            tokio::select! {
                _ = writing => (),
                () = given_up => (),
            }
        }
    }
}

/// Why a client's input is read no longer.
enum End {
    /// It has nothing more to say.
    Input,
    /// The daemon ends.
    Closing,
}

/// One client. Dropping it ends the session and withdraws its requests.
struct Conversation {
    /// Dropped first.
    owner: SessionOwner,
    inbound: Inbound,
    requests: Requests,
    /// Lines that came while `initialize` is being answered.
    held: VecDeque<Line>,
}

impl Conversation {
    fn new(inbound: Inbound, view: View, caller: Caller, out: mpsc::Sender<Bytes>) -> Self {
        let sessions = &inbound.0.sessions;
        let owner = sessions.open_owned(SessionKind::Pipe, caller.clone(), view);
        let client = ServedClient::of_session(&inbound, owner.session.clone(), caller);
        Self {
            owner,
            inbound: inbound.clone(),
            requests: Requests::new(inbound, client, out),
            held: VecDeque::new(),
        }
    }

    /// Ends the session and withdraws its requests: before it returns, because the daemon may close the connections to servers then.
    async fn end(self) {
        let Self {
            owner,
            mut requests,
            ..
        } = self;
        drop(owner);
        requests.withdraw().await;
    }

    async fn listen_to(&mut self, input: impl AsyncRead + Unpin) -> End {
        let closing = self.inbound.0.closing.clone();
        let mut lines = Lines::new(input, MAX_MESSAGE);
        loop {
            let has_room = self.requests.has_room() && self.held.len() < HELD;
            tokio::select! {
                biased;
                () = closing.cancelled() => return End::Closing,
                () = self.requests.one_ended() => self.take_held().await,
                line = lines.next(), if has_room => match line {
                    Ok(Some(line)) if self.requests.is_opening() => self.held.push_back(line),
                    Ok(Some(line)) => self.take(line).await,
                    Ok(None) => return End::Input,
                    Err(error) => {
                        tracing::debug!(%error, "a client's input ended unexpectedly");
                        return End::Input;
                    }
                },
            }
        }
    }

    /// Waits until every request is answered.
    async fn answered(&mut self) {
        while self.requests.is_opening() {
            self.requests.opening_ended().await;
            self.take_held().await;
        }
        self.requests.all_ended().await;
    }

    async fn take_held(&mut self) {
        while !self.requests.is_opening()
            && let Some(line) = self.held.pop_front()
        {
            self.take(line).await;
        }
    }

    async fn take(&mut self, line: Line) {
        let text = match line {
            Line::Text(text) => text,
            Line::TooLarge(id) => {
                let error = RpcError::too_large();
                return self.requests.refuse(id.as_ref(), &error).await;
            }
        };
        let session = &self.owner.session;
        let by = (&session.caller, &session.view);
        match self.inbound.read(&text, by, || session.shown_client()) {
            // Nobody waits for an answer; it is logged.
            Err(FrameError::NoId) => (),
            Err(error) => {
                let refused = error.to_rpc_error();
                self.requests.refuse(error.id(), &refused).await;
            }
            Ok(Unframed::Batch(messages)) => self.requests.take_batch(messages).await,
            Ok(Unframed::One(message)) => self.requests.take(message).await,
        }
    }
}

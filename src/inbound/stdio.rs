//! One client on a pair of streams, a message a line: a program that started us, or a bridge on the local socket. Requests run at
//! once; answers and notices go out in order, as fast as the client reads. The session ends with the client's input.

use std::{collections::VecDeque, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Semaphore, mpsc},
    task::{JoinError, JoinSet},
    time::timeout,
};

use super::{
    Inbound,
    answering::Answering,
    dispatch::{MAX_MESSAGE, ServedClient, Unframed, Work, too_large},
    session::{OwnStream, SessionKind},
    sessions::SessionOwner,
};
use crate::{
    access::Caller,
    call_context::{ClientReceiver, ClientSender},
    lines::{self, Line, Lines},
    router::View,
    wire::{FrameError, Id, Message, RpcError, error_frame},
};

/// Limit: requests that run at once. Later ones wait for their turn.
const RUNNING: usize = 256;

/// Limit: requests that run or wait. With so many nothing more is read, so that the client has to wait.
const TAKEN: usize = 1024;

/// Limit: streams of changes that a client keeps open.
const STREAMS: usize = 64;

/// Limit: lines that wait behind an `initialize` which is not answered yet.
const HELD: usize = 256;

/// Limit: frames that wait for the client to read. Whoever has more to say waits.
const UNREAD: usize = 64;

/// What runs when the input ends may still be answered in this time: `printf … | mcpproxy serve --stdio` shall see its answers,
/// and a client that wants to end must not be kept waiting.
const GRACE: Duration = Duration::from_secs(1);

impl Inbound {
    /// Serves one client until its input ends or nobody reads what it is told; or, when the daemon ends, until its requests are
    /// answered.
    pub async fn attend(
        self,
        view: View,
        caller: Caller,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
    ) {
        let (out, frames) = mpsc::channel(UNREAD);
        let mut conversation = Conversation::new(self, view, caller, out);
        let talking = async move {
            match conversation.listen_to(input).await {
                End::Input => drop(timeout(GRACE, conversation.answered()).await),
                // Whoever ends us sets the deadline.
                End::Closing => {
                    all(&mut conversation.streams).await;
                    conversation.answered().await;
                }
            }
        };
        let mut writing = pin!(lines::write(frames, output));
        tokio::select! {
            written = &mut writing => {
                tracing::debug!(?written, "a client reads no more");
            }
            () = talking => {
                // What is said already goes out, if the client still reads.
                let _ = timeout(GRACE, writing).await;
            }
        }
    }
}

/// Why a client is heard no longer.
enum End {
    /// It has nothing more to say.
    Input,
    /// The daemon ends.
    Closing,
}

/// One client. Dropping it ends the session and withdraws its requests.
struct Conversation {
    /// Dropped first.
    _owner: SessionOwner,
    inbound: Inbound,
    client: ServedClient,
    out: mpsc::Sender<Bytes>,
    requests: JoinSet<()>,
    /// Streams of changes that a modern client keeps open.
    streams: JoinSet<()>,
    turns: Arc<Semaphore>,
    /// The `initialize` that is being answered. What comes after it waits, because it decides what is spoken.
    opening: JoinSet<Option<OwnStream>>,
    held: VecDeque<Line>,
    /// Passes on what belongs to no request.
    listening: JoinSet<()>,
}

impl Conversation {
    fn new(inbound: Inbound, view: View, caller: Caller, out: mpsc::Sender<Bytes>) -> Self {
        let sessions = &inbound.0.sessions;
        let owner = sessions.open_owned(SessionKind::Pipe, caller, view);
        Self {
            client: ServedClient::of_session(&inbound, owner.session.clone()),
            inbound,
            _owner: owner,
            out,
            requests: JoinSet::new(),
            streams: JoinSet::new(),
            turns: Arc::new(Semaphore::new(RUNNING)),
            opening: JoinSet::new(),
            held: VecDeque::new(),
            listening: JoinSet::new(),
        }
    }

    async fn listen_to(&mut self, input: impl AsyncRead + Unpin) -> End {
        let closing = self.inbound.0.closing.clone();
        let mut lines = Lines::new(input, MAX_MESSAGE);
        loop {
            tokio::select! {
                biased;
                () = closing.cancelled() => return End::Closing,
                Some(opened) = self.opening.join_next() => {
                    self.opened(opened.unwrap_or_else(|error| fault(&error)));
                    self.take_held().await;
                }
                Some(ended) = self.requests.join_next() => ended.unwrap_or_else(|error| fault(&error)),
                line = lines.next(), if self.has_room() => match line {
                    Ok(Some(line)) if self.opening.is_empty() => self.take(line).await,
                    Ok(Some(line)) => self.held.push_back(line),
                    Ok(None) => return End::Input,
                    Err(error) => {
                        tracing::debug!(%error, "a client's input broke off");
                        return End::Input;
                    }
                },
            }
        }
    }

    /// Waits until everything that was asked is answered.
    async fn answered(&mut self) {
        while let Some(opened) = self.opening.join_next().await {
            self.opened(opened.unwrap_or_else(|error| fault(&error)));
            self.take_held().await;
        }
        all(&mut self.requests).await;
    }

    fn has_room(&self) -> bool {
        self.requests.len() < TAKEN && self.held.len() < HELD
    }

    async fn take_held(&mut self) {
        while self.opening.is_empty()
            && let Some(line) = self.held.pop_front()
        {
            self.take(line).await;
        }
    }

    async fn take(&mut self, line: Line) {
        let text = match line {
            Line::Text(text) => text,
            Line::TooLarge(id) => return self.refuse(id.as_ref(), &too_large()).await,
        };
        match Unframed::read(&text) {
            Err(error) => self.refuse(None, &error.to_rpc_error()).await,
            Ok(Unframed::Batch(messages)) => self.take_batch(messages).await,
            Ok(Unframed::One(message)) => self.take_message(message).await,
        }
    }

    async fn take_message(&mut self, message: Message) {
        let (to_client, receiver) = ClientSender::new(self.inbound.memory());
        match self.client.serve(message, to_client) {
            Work::Refused(frame) => self.say(frame).await,
            Work::Opening(answering) => self.open(answering),
            Work::Answering(answering) => {
                let (turns, out) = (self.turns.clone(), self.out.clone());
                self.requests.spawn(async move {
                    // Fails only if closed, which these never are.
                    let _turn = turns.acquire_owned().await;
                    pass_on(answering, &receiver, &out).await;
                });
            }
            Work::Listening(id, answering) => self.listen(&id, answering, receiver).await,
            Work::Noting(noting) => noting.await,
            Work::Done => (),
        }
    }

    /// Answers `initialize`; from the answer on the client hears of changes.
    fn open(&mut self, answering: Answering) {
        let (out, router) = (self.out.clone(), self.inbound.0.router.clone());
        self.opening.spawn(async move {
            let answer = answering.await?;
            // Fails only if nobody is left to be told.
            out.send(answer.frame).await.ok()?;
            Some(answer.opened?.listen(&router))
        });
    }

    fn opened(&mut self, own: Option<OwnStream>) {
        if let Some(own) = own {
            let out = self.out.clone();
            self.listening.abort_all();
            self.listening
                .spawn(async move { while out.send(own.receiver.next().await).await.is_ok() {} });
        }
    }

    /// Opens a stream of changes, which takes no turn: it lasts as long as the client wants.
    async fn listen(&mut self, id: &Id, answering: Answering, receiver: ClientReceiver) {
        while self.streams.try_join_next().is_some() {}
        if self.streams.len() >= STREAMS {
            let why = format!("{STREAMS} streams of news are open on this connection already");
            let error = RpcError::new(RpcError::INTERNAL, why);
            return self.refuse(Some(id), &error).await;
        }
        let out = self.out.clone();
        self.streams.spawn(async move {
            pass_on(answering, &receiver, &out).await;
        });
    }

    /// One line with all the answers, if any is wanted.
    async fn take_batch(&mut self, messages: Vec<Result<Message, FrameError>>) {
        if let Some(error) = self.client.no_batches() {
            return self.refuse(None, &error).await;
        }
        let (client, out) = (self.client.clone(), self.out.clone());
        self.requests.spawn(async move {
            if let Some(answers) = client.batch(messages).await {
                // Nobody is left to be told.
                let _ = out.send(answers).await;
            }
        });
    }

    async fn refuse(&self, id: Option<&Id>, error: &RpcError) {
        self.say(error_frame(id, &error.to_raw())).await;
    }

    async fn say(&self, frame: Bytes) {
        // Nobody is left to be told; the writer says so itself.
        let _ = self.out.send(frame).await;
    }
}

/// Notices as they come, then the answer.
async fn pass_on(mut answering: Answering, receiver: &ClientReceiver, out: &mpsc::Sender<Bytes>) {
    let answer = loop {
        tokio::select! {
            biased;
            notice = receiver.next() => if out.send(notice).await.is_err() {
                return;
            },
            answer = &mut answering => break answer,
        }
    };
    let answer = answer.map(|answer| answer.frame);
    for frame in std::iter::from_fn(|| receiver.take()).chain(answer) {
        if out.send(frame).await.is_err() {
            return;
        }
    }
}

/// Waits until all of them are done.
async fn all(requests: &mut JoinSet<()>) {
    while let Some(ended) = requests.join_next().await {
        ended.unwrap_or_else(|error| fault(&error));
    }
}

/// A request whose task ended with a panic, which has told the log already.
fn fault<T: Default>(error: &JoinError) -> T {
    if error.is_panic() {
        tracing::error!(%error, "a request ended with a fault");
    }
    T::default()
}

//! One client on a pair of streams, a message a line: a program that started us, or a bridge on the local socket. Requests run at
//! once; answers and notices go out in order, as fast as the client reads. The session ends with the client's input.

mod stateless;

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
    dispatch::{Envelope, MAX_MESSAGE, too_large, took},
    session::{Agreed, Listening, Session},
};
use crate::{
    access::Caller,
    call_context::{ClientReceiver, ClientSender},
    lines::{self, Line, Lines},
    router::View,
    wire::{
        FrameError, Message, Request, RpcError, error_frame, method, parse_client, result_frame,
    },
};

/// Limit: requests that run at once. Later ones wait for their turn.
const RUNNING: usize = 256;

/// Limit: requests that run or wait. With so many nothing more is read, so that the client has to wait.
const TAKEN: usize = 1024;

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
                    conversation.streams_ended().await;
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

/// One client. Dropping it withdraws its requests.
struct Conversation {
    inbound: Inbound,
    session: Arc<Session>,
    out: mpsc::Sender<Bytes>,
    requests: JoinSet<()>,
    /// Streams of news that a modern client keeps open.
    streams: JoinSet<()>,
    turns: Arc<Semaphore>,
    /// The `initialize` that is being answered. What comes after it waits, because it decides what is spoken.
    opening: JoinSet<Option<Listening>>,
    held: VecDeque<Line>,
    /// Passes on what belongs to no request.
    listening: JoinSet<()>,
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.inbound.0.sessions.close(&self.session);
    }
}

impl Conversation {
    fn new(inbound: Inbound, view: View, caller: Caller, out: mpsc::Sender<Bytes>) -> Self {
        let session = inbound.0.sessions.open(caller, view, Agreed::default());
        Self {
            inbound,
            session,
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
        while let Some(ended) = self.requests.join_next().await {
            ended.unwrap_or_else(|error| fault(&error));
        }
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
            Line::TooLarge(id) => {
                self.say(error_frame(id.as_ref(), &too_large().to_raw()))
                    .await;
                return;
            }
        };
        match parse_client(&text) {
            Err(error) => self.refuse(&error).await,
            Ok((messages, true)) => self.take_batch(messages).await,
            Ok((messages, false)) => {
                for message in messages {
                    match message {
                        Ok(message) => self.take_message(message).await,
                        Err(error) => self.refuse(&error).await,
                    }
                }
            }
        }
    }

    async fn take_message(&mut self, message: Message) {
        match message {
            Message::Request(request) if self.is_stateless(&request) => {
                self.stateless_request(request).await;
            }
            Message::Request(request) if &*request.method == method::INITIALIZE => {
                self.open(request);
            }
            Message::Request(request) => self.request(self.envelope(), request),
            Message::Notification(notification) => {
                let envelope = self.envelope();
                self.inbound.notification(&envelope, &notification).await;
            }
            Message::Response(response) => took(Some(&self.session), response),
        }
    }

    /// Answers `initialize`; from the answer on the client hears of changes.
    fn open(&mut self, request: Request) {
        let (inbound, session) = (self.inbound.clone(), self.session.clone());
        let out = self.out.clone();
        self.opening.spawn(async move {
            let parts = &inbound.0;
            let params = request.params.as_ref();
            match parts.router.open(&session.caller, &session.view, params).await {
                Ok(opening) => {
                    session.agree(Agreed {
                    revision: opening.revision,
                    client: opening.client.clone(),
                });
                    tracing::debug!(client = opening.client.info.as_str(), revision = %opening.revision, "session opened");
                    out.send(result_frame(&request.id, &opening.result)).await.ok()?;
                    Some(session.listen(&parts.router, &parts.sessions))
                }
                Err(error) => {
                    // Nobody is left to be told.
                    let _ = out.send(error_frame(Some(&request.id), &error.to_raw())).await;
                    None
                }
            }
        });
    }

    fn opened(&mut self, listening: Option<Listening>) {
        if let Some(listening) = listening {
            let out = self.out.clone();
            self.listening.abort_all();
            self.listening.spawn(async move {
                while out.send(listening.receiver.next().await).await.is_ok() {}
            });
        }
    }

    fn request(&mut self, envelope: Envelope, request: Request) {
        let (to_client, receiver) = ClientSender::new();
        let running = self.session.begin(&request.id);
        let answering = self
            .inbound
            .answer_while(Some(running), envelope, request, to_client);
        let (turns, out) = (self.turns.clone(), self.out.clone());
        self.requests.spawn(async move {
            // Fails only if closed, which these never are.
            let _turn = turns.acquire_owned().await;
            pass_on(answering, &receiver, &out).await;
        });
    }

    /// One line with all the answers, if any is wanted.
    async fn take_batch(&mut self, messages: Vec<Result<Message, FrameError>>) {
        let (inbound, envelope) = (self.inbound.clone(), self.envelope());
        if !envelope.revision.has_batches() {
            let error =
                RpcError::invalid_request(format!("revision {} has no batches", envelope.revision));
            self.say(error_frame(None, &error.to_raw())).await;
            return;
        }
        let out = self.out.clone();
        self.requests.spawn(async move {
            if let Some(answers) = inbound.batch(&envelope, messages).await {
                // Nobody is left to be told.
                let _ = out.send(answers).await;
            }
        });
    }

    async fn refuse(&self, error: &FrameError) {
        self.say(error_frame(None, &error.to_rpc_error().to_raw()))
            .await;
    }

    async fn say(&self, frame: Bytes) {
        // Nobody is left to be told; the writer says so itself.
        let _ = self.out.send(frame).await;
    }

    fn envelope(&self) -> Envelope {
        let Agreed { revision, client } = self.session.agreed();
        Envelope {
            view: self.session.view.clone(),
            caller: self.session.caller.clone(),
            session: Some(self.session.clone()),
            connection: None,
            revision,
            client,
            log_level: self.session.wishes.log_level(),
        }
    }
}

/// Notices as they come, then the answer.
async fn pass_on(
    answering: impl Future<Output = Option<Bytes>>,
    receiver: &ClientReceiver,
    out: &mpsc::Sender<Bytes>,
) {
    let mut answering = pin!(answering);
    let answer = loop {
        tokio::select! {
            biased;
            notice = receiver.next() => if out.send(notice).await.is_err() {
                return;
            },
            answer = &mut answering => break answer,
        }
    };
    for frame in std::iter::from_fn(|| receiver.take()).chain(answer) {
        if out.send(frame).await.is_err() {
            return;
        }
    }
}

/// A request whose task ended with a panic, which has told the log already.
fn fault<T: Default>(error: &JoinError) -> T {
    if error.is_panic() {
        tracing::error!(%error, "a request ended with a fault");
    }
    T::default()
}

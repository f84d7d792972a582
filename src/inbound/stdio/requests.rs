//! The requests of one client on a pair of streams: they run at once, within bounds, and their answers go out in order.

use std::sync::Arc;

use bytes::Bytes;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::{JoinError, JoinSet},
};

use crate::{
    call_context::{ClientReceiver, ClientSender},
    inbound::{
        Inbound,
        answering::Answering,
        bounds,
        dispatch::{ServedClient, Work},
        session::OwnStream,
    },
    wire::{FrameError, Id, Message, RpcError, error_frame},
};

/// Limit: requests that run at once, those of batches among them. Later ones wait for their turn.
const RUNNING: usize = 256;

/// Limit: requests that run or wait. With so many nothing more is read, so that the client has to wait.
const TAKEN: usize = 1024;

/// Limit: streams of changes that a client keeps open.
const STREAMS: usize = 64;

/// Dropping it withdraws them.
pub(super) struct Requests {
    inbound: Inbound,
    client: ServedClient,
    out: mpsc::Sender<Bytes>,
    running: JoinSet<()>,
    /// Streams of changes that a modern client keeps open.
    streams: JoinSet<()>,
    turns: Arc<Semaphore>,
    room: Arc<Semaphore>,
    /// The `initialize` that is being answered.
    opening: JoinSet<Option<OwnStream>>,
    /// Passes on what belongs to no request.
    listening: JoinSet<()>,
}

impl Requests {
    pub(super) fn new(inbound: Inbound, client: ServedClient, out: mpsc::Sender<Bytes>) -> Self {
        Self {
            inbound,
            client,
            out,
            running: JoinSet::new(),
            streams: JoinSet::new(),
            turns: Arc::new(Semaphore::new(RUNNING)),
            room: Arc::new(Semaphore::new(TAKEN)),
            opening: JoinSet::new(),
            listening: JoinSet::new(),
        }
    }

    /// Whether an `initialize` is being answered. What comes after it has to wait, because it decides what is spoken.
    pub(super) fn is_opening(&self) -> bool {
        !self.opening.is_empty()
    }

    /// Whether one more can be taken.
    pub(super) fn has_room(&self) -> bool {
        self.room.available_permits() > 0
    }

    /// Takes the room of so many, or what is left: a batch comes whole.
    fn take_room(&self, requests: usize) -> Option<OwnedSemaphorePermit> {
        let free = requests.min(self.room.available_permits());
        let free = u32::try_from(free).ok()?;
        self.room.clone().try_acquire_many_owned(free).ok()
    }

    /// Returns when one has ended; never if there is none. Cancel-safe.
    pub(super) async fn one_ended(&mut self) {
        tokio::select! {
            biased;
            Some(opened) = self.opening.join_next() => {
                self.opened(opened.unwrap_or_else(|error| fault(&error)));
            }
            Some(ended) = self.running.join_next() => ended.unwrap_or_else(|error| fault(&error)),
            else => std::future::pending().await,
        }
    }

    /// Waits until `initialize` is answered, if one was sent.
    pub(super) async fn opening_ended(&mut self) {
        while let Some(opened) = self.opening.join_next().await {
            self.opened(opened.unwrap_or_else(|error| fault(&error)));
        }
    }

    /// Ends the announcements: a client whose input has ended cannot ask for what they announce.
    pub(super) fn announce_no_more(&mut self) {
        self.listening.abort_all();
    }

    /// Waits until all are answered.
    pub(super) async fn all_ended(&mut self) {
        join_all(&mut self.running).await;
    }

    /// Withdraws all that run, and waits until each has ended: what tells a server on pipes of it is queued then.
    pub(super) async fn withdraw(&mut self) {
        self.opening.shutdown().await;
        self.running.shutdown().await;
        self.streams.shutdown().await;
    }

    /// Waits until the streams of changes have ended, as they do when the daemon does.
    pub(super) async fn streams_ended(&mut self) {
        join_all(&mut self.streams).await;
    }

    pub(super) async fn take(&mut self, message: Message) {
        let (to_client, receiver) = ClientSender::new(self.inbound.memory());
        match self.client.serve(message, to_client) {
            Work::Refused(frame) => self.say(frame).await,
            Work::Opening(answering) => self.open(answering),
            Work::Answering(answering) => {
                let (turns, out) = (self.turns.clone(), self.out.clone());
                let room = self.take_room(1);
                self.running.spawn(async move {
                    let _room = room;
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

    /// One line with all the answers, if any is wanted.
    pub(super) async fn take_batch(&mut self, messages: Vec<Result<Message, FrameError>>) {
        if let Some(error) = self.client.no_batches() {
            return self.refuse(None, &error).await;
        }
        let (client, out) = (self.client.clone(), self.out.clone());
        let (turns, room) = (self.turns.clone(), self.take_room(messages.len()));
        self.running.spawn(async move {
            let _room = room;
            if let Some(answers) = client.batch(messages, &turns).await {
                // Nobody may be left to read it.
                let _ = out.send(answers).await;
            }
        });
    }

    pub(super) async fn refuse(&self, id: Option<&Id>, error: &RpcError) {
        self.say(error_frame(id, &error.to_raw())).await;
    }

    async fn say(&self, frame: Bytes) {
        // Nobody may be left to read it; the writer logs that.
        let _ = self.out.send(frame).await;
    }

    /// Answers `initialize`; from the answer on the client gets announcements of changes.
    fn open(&mut self, answering: Answering) {
        let (out, router) = (self.out.clone(), self.inbound.0.router.clone());
        self.opening.spawn(async move {
            let answer = answering.await?;
            // Fails only if nobody is left to read it.
            out.send(answer.frame.joined()).await.ok()?;
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
            let why = format!("{STREAMS} notification streams are already open on this connection");
            let error = bounds::overloaded(why, "Close one before opening another.");
            return self.refuse(Some(id), &error).await;
        }
        let out = self.out.clone();
        self.streams.spawn(async move {
            pass_on(answering, &receiver, &out).await;
        });
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
    let answer = answer.map(|answer| answer.frame.joined());
    for frame in std::iter::from_fn(|| receiver.take()).chain(answer) {
        if out.send(frame).await.is_err() {
            return;
        }
    }
}

/// Waits until all of them are done.
async fn join_all(requests: &mut JoinSet<()>) {
    while let Some(ended) = requests.join_next().await {
        ended.unwrap_or_else(|error| fault(&error));
    }
}

/// A request whose task ended with a panic, which is in the log already.
fn fault<T: Default>(error: &JoinError) -> T {
    if error.is_panic() {
        tracing::error!(%error, "a request failed");
    }
    T::default()
}

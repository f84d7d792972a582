//! A client's session as its requests carry it: its key, the questions to the client, its end. The transport of the client keeps it.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::{ClientSender, NamedResources, NotAnswered, Questions};
use crate::{
    runtime::sync::Guarded,
    sessions::session_records::{RecordedSession, SessionRecords},
    wire::{Outcome, Raw},
};

/// One client's session, or the connection of a client that shares it with nobody. Cheap to clone.
#[derive(Clone)]
pub struct ClientSession(Arc<Parts>);

/// What it takes to bind a session to this daemon, so that no other one continues it, and this one does not after a restart.
pub struct Binding {
    /// Records the end of ids.
    pub records: SessionRecords,
    /// The session's id.
    pub record: RecordedSession,
    /// Whether this daemon opened the session. Otherwise another one may have bound it already.
    pub is_ours: bool,
}

struct Parts {
    key: Arc<str>,
    binding: Option<Binding>,
    questions: Questions,
    named: NamedResources,
    state: Guarded<State>,
    ended: CancellationToken,
}

#[derive(Default)]
struct State {
    /// The stream on which the client listens outside of its requests.
    stream: ClientSender,
    /// The client's roots, from the first request for them on.
    roots: Arc<OnceCell<Raw>>,
}

impl ClientSession {
    /// The session with this key, which must be unique. A session that another daemon could continue has a binding.
    pub fn new(key: Arc<str>, binding: Option<Binding>) -> Self {
        Self(Arc::new(Parts {
            key,
            binding,
            questions: Questions::default(),
            named: NamedResources::default(),
            state: Guarded::default(),
            ended: CancellationToken::new(),
        }))
    }

    /// Its key.
    pub fn key(&self) -> &Arc<str> {
        &self.0.key
    }

    /// Binds the session to this daemon, before something is started for it that no other daemon has. If another daemon may have bound it,
    /// the session ends and the result is false.
    pub async fn bind(&self) -> bool {
        let Some(binding) = &self.0.binding else {
            return true;
        };
        binding.records.end(binding.record).await;
        if !binding.is_ours {
            self.end();
        }
        binding.is_ours
    }

    /// The id of the session's record, if it can be continued by another daemon.
    pub fn record(&self) -> Option<RecordedSession> {
        self.0.binding.as_ref().map(|binding| binding.record)
    }

    /// The open questions to its client.
    pub fn questions(&self) -> &Questions {
        &self.0.questions
    }

    /// The resources that servers named to its client.
    pub fn named_resources(&self) -> &NamedResources {
        &self.0.named
    }

    /// Cancelled when the session is over.
    pub fn ended(&self) -> &CancellationToken {
        &self.0.ended
    }

    /// Ends the session and its open questions.
    pub fn end(&self) {
        self.0.ended.cancel();
        self.0.questions.end();
    }

    /// The stream to the client outside of its requests.
    pub fn stream(&self) -> ClientSender {
        self.0.state.lock().stream.clone()
    }

    /// Notes the stream on which the client listens from now on.
    pub fn set_stream(&self, stream: ClientSender) {
        self.0.state.lock().stream = stream;
    }

    /// Asks the client on its own stream, or on that of a request if it listens on none, and waits for the answer. Dropping the future
    /// withdraws the question.
    pub async fn ask(
        &self,
        request: &ClientSender,
        method: &str,
        params: Option<&Raw>,
    ) -> Result<Outcome, NotAnswered> {
        let mut streams = [self.stream(), request.clone()].into_iter();
        let heard = streams.find(ClientSender::is_heard);
        let stream = heard.ok_or(NotAnswered::NotListening)?;
        self.0.questions.ask(&stream, method, params).await
    }

    /// Sends the client a frame outside of its requests, if it listens.
    pub fn tell(&self, frame: Bytes) {
        self.stream().send(frame);
    }

    /// The client's roots, requested once. A failed request is made again the next time.
    pub async fn roots<E>(&self, request: impl Future<Output = Result<Raw, E>>) -> Result<Raw, E> {
        let roots = self.0.state.lock().roots.clone();
        roots.get_or_try_init(|| request).await.cloned()
    }

    /// Forgets the client's roots, because they changed.
    pub fn forget_roots(&self) {
        self.0.state.lock().roots = Arc::default();
    }
}

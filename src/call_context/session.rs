//! A client's session as those see it who act on its behalf: its key, the ways to ask it something, and its end. The face that the
//! client came by keeps it; the client's requests carry it with them.

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

/// One client's session, or the connection that a client has to itself. Cheap to clone.
#[derive(Clone)]
pub struct ClientSession(Arc<Parts>);

/// Records that a session cannot be continued, for other daemons and for the next start of this one.
pub struct Binding {
    /// Where that is noted.
    pub records: SessionRecords,
    /// The session.
    pub record: RecordedSession,
    /// Whether it was opened with these records. Otherwise it may have something elsewhere already.
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
    /// The stream that the client listens on outside of its requests.
    stream: ClientSender,
    /// The roots that the client named, from the first time that somebody wanted to know.
    roots: Arc<OnceCell<Raw>>,
}

impl ClientSession {
    /// The session of this key, which no other has. One that could be continued by another daemon has a binding.
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

    /// What identifies it.
    pub fn key(&self) -> &Arc<str> {
        &self.0.key
    }

    /// Something is about to be started for this session alone, which no other daemon has. Whether it may be; if not, the session is
    /// over.
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

    /// What identifies the session's record, if it can be continued.
    pub fn record(&self) -> Option<RecordedSession> {
        self.0.binding.as_ref().map(|binding| binding.record)
    }

    /// The questions to its client.
    pub fn questions(&self) -> &Questions {
        &self.0.questions
    }

    /// What servers named to its client.
    pub fn named_resources(&self) -> &NamedResources {
        &self.0.named
    }

    /// Cancelled when the session is over.
    pub fn ended(&self) -> &CancellationToken {
        &self.0.ended
    }

    /// Ends it, and all waits for answers of its client.
    pub fn end(&self) {
        self.0.ended.cancel();
        self.0.questions.end();
    }

    /// The way to the client outside of any request.
    pub fn stream(&self) -> ClientSender {
        self.0.state.lock().stream.clone()
    }

    /// Notes the stream on which the client listens from now on.
    pub fn set_stream(&self, stream: ClientSender) {
        self.0.state.lock().stream = stream;
    }

    /// Asks the client on its own stream, or on that of a request where it does not listen, which may end sooner. Waits for the
    /// answer; dropping the future withdraws the question.
    pub async fn ask(
        &self,
        request: &ClientSender,
        method: &str,
        params: Option<&Raw>,
    ) -> Result<Outcome, NotAnswered> {
        let stream = [self.stream(), request.clone()];
        let Some(stream) = stream.into_iter().find(ClientSender::is_heard) else {
            return Err(NotAnswered::NoWay);
        };
        self.0.questions.ask(&stream, method, params).await
    }

    /// Tells the client something outside of its requests, if it listens.
    pub fn tell(&self, frame: Bytes) {
        self.stream().send(frame);
    }

    /// The roots that the client named, requested once. An answer that does not count is not kept.
    pub async fn roots<E>(&self, request: impl Future<Output = Result<Raw, E>>) -> Result<Raw, E> {
        let roots = self.0.state.lock().roots.clone();
        roots.get_or_try_init(|| request).await.cloned()
    }

    /// The client has other roots now.
    pub fn forget_roots(&self) {
        self.0.state.lock().roots = Arc::default();
    }
}

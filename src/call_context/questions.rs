//! Questions to a legacy client: requests of mcpproxy on the client's stream, and the client's answers.

use std::{collections::HashMap, sync::Arc};

use tokio::sync::oneshot;

use super::ClientSender;
use crate::{
    runtime::sync::Guarded,
    wire::{Id, Outcome, Raw, method, notification_frame, request_frame},
};

/// Limit: questions that wait for one client. Its user cannot read more.
const OPEN: usize = 64;

/// The questions of one client that wait for an answer. Cheap to clone.
#[derive(Clone, Default)]
pub struct Questions(Arc<Guarded<Open>>);

#[derive(Default)]
struct Open {
    waiting: HashMap<Id, oneshot::Sender<Outcome>>,
    /// The number of the last question.
    last: u64,
    /// Whether the client is gone.
    over: bool,
}

/// Why a question got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAnswered {
    /// The client did not declare the capability.
    #[error("the client does not support it")]
    Unable,
    /// The client would answer by repeating its request, and a script cannot be resumed in the middle.
    #[error("a script cannot ask the user")]
    Script,
    /// Its request takes nothing before the answer.
    #[error(
        "the client's request accepts no event stream (it lacks `Accept: text/event-stream`, or is a batch)"
    )]
    NoStream,
    /// No stream to it is open.
    #[error("the client has no event stream open")]
    NotListening,
    /// Too many questions wait for it already.
    #[error("{} questions already wait for the client, the most at once", OPEN)]
    TooMany,
    /// The client left before it answered.
    #[error("the client left")]
    Left,
}

impl Questions {
    /// Asks, and waits for the answer. Dropping the future withdraws the question.
    pub(super) async fn ask(
        &self,
        to_client: &ClientSender,
        method: &str,
        params: Option<&Raw>,
    ) -> Result<Outcome, NotAnswered> {
        let (question, answered) = self.begin(to_client.clone())?;
        to_client.send(request_frame(&question.id, method, params).joined());
        answered.await.map_err(|_| NotAnswered::Left)
    }

    fn begin(&self, to_client: ClientSender) -> Result<(Question, Answered), NotAnswered> {
        let (answer, answered) = oneshot::channel();
        let mut open = self.0.lock();
        if open.over {
            return Err(NotAnswered::Left);
        }
        if open.waiting.len() >= OPEN {
            return Err(NotAnswered::TooMany);
        }
        open.last += 1;
        let id = Id::ours(open.last);
        open.waiting.insert(id.clone(), answer);
        drop(open);
        let question = Question {
            id,
            questions: self.clone(),
            to_client,
        };
        Ok((question, answered))
    }

    /// Takes an answer of the client. False if no question waits for it.
    pub fn answer(&self, id: &Id, outcome: Outcome) -> bool {
        let waiting = self.0.lock().waiting.remove(id);
        waiting.is_some_and(|waiting| waiting.send(outcome).is_ok())
    }

    /// Ends all questions, now and later: the client is gone.
    pub fn end(&self) {
        let mut open = self.0.lock();
        open.over = true;
        open.waiting.clear();
    }
}

type Answered = oneshot::Receiver<Outcome>;

/// Withdraws a question when it is dropped, unless the client has answered.
struct Question {
    id: Id,
    questions: Questions,
    to_client: ClientSender,
}

impl Drop for Question {
    fn drop(&mut self) {
        if self.questions.0.lock().waiting.remove(&self.id).is_none() {
            return;
        }
        let params = serde_json::json!({ "requestId": self.id.to_raw() });
        let params = Raw::author(&params);
        let frame = notification_frame(method::CANCELLED, Some(&params));
        self.to_client.send(frame);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::{runtime::memory_budget::MemoryBudget, wire::Message};

    fn sent(receiver: &super::super::ClientReceiver) -> Message {
        Message::parse(&receiver.take().expect("a frame")).expect("a message")
    }

    #[test]
    fn an_answer_finds_its_question() {
        let (questions, (to_client, receiver)) = (
            Questions::default(),
            ClientSender::new(&MemoryBudget::default()),
        );
        let mut asking = Box::pin(questions.ask(&to_client, "roots/list", None));
        assert!(asking.as_mut().now_or_never().is_none());
        let Message::Request(request) = sent(&receiver) else {
            panic!("a request")
        };
        assert_eq!(&*request.method, "roots/list");
        let outcome = || Outcome::Result(Raw::empty_object());
        assert!(!questions.answer(&Id::ours(0), outcome()), "a stranger's");
        assert!(questions.answer(&request.id, outcome()));
        assert!(!questions.answer(&request.id, outcome()), "twice");
        assert!(matches!(
            asking.now_or_never(),
            Some(Ok(Outcome::Result(_)))
        ));
        assert!(receiver.take().is_none());
    }

    #[test]
    fn a_question_that_nobody_waits_for_is_withdrawn() {
        let (questions, (to_client, receiver)) = (
            Questions::default(),
            ClientSender::new(&MemoryBudget::default()),
        );
        let mut asking = Box::pin(questions.ask(&to_client, "roots/list", None));
        assert!(asking.as_mut().now_or_never().is_none());
        let Message::Request(request) = sent(&receiver) else {
            panic!("a request")
        };
        drop(asking);
        let Message::Notification(notice) = sent(&receiver) else {
            panic!("a notification")
        };
        let params = notice.params.expect("params");
        let id = params.get("requestId").expect("an id");
        assert_eq!(
            (&*notice.method, id.as_str()),
            (method::CANCELLED, request.id.as_str())
        );
    }

    #[test]
    fn a_client_that_left_answers_nothing() {
        let (questions, (to_client, receiver)) = (
            Questions::default(),
            ClientSender::new(&MemoryBudget::default()),
        );
        let mut asking = Box::pin(questions.ask(&to_client, "roots/list", None));
        assert!(asking.as_mut().now_or_never().is_none());
        questions.end();
        assert!(matches!(
            asking.now_or_never(),
            Some(Err(NotAnswered::Left))
        ));
        let again = questions.ask(&to_client, "roots/list", None).now_or_never();
        assert!(matches!(again, Some(Err(NotAnswered::Left))));
        assert!(receiver.take().is_some());
        assert!(
            receiver.take().is_none(),
            "it would not hear of a withdrawal"
        );
    }

    #[test]
    fn questions_are_bounded() {
        let (questions, (to_client, _receiver)) = (
            Questions::default(),
            ClientSender::new(&MemoryBudget::default()),
        );
        let ask = || Box::pin(questions.ask(&to_client, "roots/list", None));
        let mut all: Vec<_> = (0..OPEN).map(|_| ask()).collect();
        for asking in &mut all {
            assert!(asking.as_mut().now_or_never().is_none());
        }
        assert!(matches!(
            ask().now_or_never(),
            Some(Err(NotAnswered::TooMany))
        ));
    }
}

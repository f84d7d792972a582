//! Requests that wait for their answers on one connection: callers insert them, the reader removes them. The same table decides which
//! call gets a question or a log line that names no request.

use std::sync::Arc;

use super::{ConnectionOwner, Incoming, LinkError, News, NewsSender, Slot, Unattributed};
use crate::{
    runtime::{quick_map::QuickMap, sync::Guarded},
    wire::{Notification, Outcome, Raw, Request, RequestNumbers, meta, method},
};

/// What a request is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// A client waits for its answer.
    Call,
    /// The same, for a request about this task of the server.
    OfTask(Box<str>),
    /// It is one of our own.
    Own,
    /// It stays open for the server's notices.
    Listening,
}

impl Purpose {
    /// The purpose of a request that a client makes.
    pub(super) fn of_client(method: &str, params: Option<&Raw>) -> Self {
        let task = method::names_a_task(method).then(|| params?.get("taskId")?.string());
        match task.flatten() {
            Some(task) => Self::OfTask(task.into()),
            None => Self::Call,
        }
    }

    fn is_call(&self) -> bool {
        matches!(self, Self::Call | Self::OfTask(_))
    }
}

/// The table of one link.
pub(super) struct RequestsInFlight {
    table: Guarded<Table>,
    owner: ConnectionOwner,
    numbers: RequestNumbers,
    /// Where goes what belongs to no request.
    news: NewsSender,
}

#[derive(Default)]
struct Table {
    open: QuickMap<u64, Open>,
    /// Set once, when the link is over: nothing is inserted any more.
    over: Option<LinkError>,
}

struct Open {
    slot: Arc<Slot>,
    purpose: Purpose,
}

impl RequestsInFlight {
    /// An empty table. The numbers are those of all links to one server, one after the other.
    pub(super) fn new(numbers: RequestNumbers, news: NewsSender) -> Self {
        Self {
            table: Guarded::default(),
            owner: ConnectionOwner::default(),
            numbers,
            news,
        }
    }

    /// Whose the connection is.
    pub(super) fn owner(&self) -> &ConnectionOwner {
        &self.owner
    }

    /// Where goes what belongs to no request.
    pub(super) fn news(&self) -> &NewsSender {
        &self.news
    }

    /// A number for a request of our own.
    pub(super) fn next_number(&self) -> u64 {
        self.numbers.take()
    }

    /// A place for a request that is about to be sent. Fails when the link is over.
    pub(super) fn insert(&self, number: u64, purpose: Purpose) -> Result<Arc<Slot>, LinkError> {
        let mut table = self.table.lock();
        if let Some(reason) = &table.over {
            return Err(LinkError::NotDelivered(reason.to_string()));
        }
        let slot = Arc::new(Slot::default());
        let open = Open {
            slot: slot.clone(),
            purpose,
        };
        table.open.insert(number, open);
        Ok(slot)
    }

    /// Forgets a request that nobody waits for any more, and hands on the questions that nobody has read; whether it was there.
    pub(super) fn leave(&self, number: u64, slot: &Slot) -> bool {
        let was_there = self.forget(number);
        for question in slot.close() {
            self.news.post(News::Question(question));
        }
        was_there
    }

    /// Forgets a request; whether anybody waited for it.
    pub(super) fn forget(&self, number: u64) -> bool {
        self.table.lock().open.remove(&number).is_some()
    }

    /// Hands a request its answer, or the reason why there is none; whether anybody waited for it.
    pub(super) fn finish(&self, number: u64, end: Result<Outcome, LinkError>) -> bool {
        let open = self.table.lock().open.remove(&number);
        if let Some(open) = &open {
            open.slot.push(end.map(Incoming::Answer));
        }
        open.is_some()
    }

    /// Hands a notice to a request; gives it back if there is no such request.
    pub(super) fn notice(&self, number: u64, notice: Notification) -> Result<(), Notification> {
        let slot = self.table.lock().open.get(&number).map(|o| o.slot.clone());
        match slot {
            Some(slot) => {
                slot.push(Ok(Incoming::Notice(notice)));
                Ok(())
            }
            None => Err(notice),
        }
    }

    /// Hands a question to the newest call of the client whose connection this is.
    pub(super) fn attribute_question(&self, question: &Request) -> Result<(), Unattributed> {
        let task = task_named(&question.method, question.params.as_ref());
        loop {
            let call = self.attributed(task.as_deref())?;
            match call.push_question(question.clone()) {
                // It was over just now, and is passed over next time.
                Err(Unattributed::NoCall) => (),
                given => return given,
            }
        }
    }

    /// The same with a notice; gives it back if there is no such call.
    pub(super) fn attribute_notice(&self, notice: Notification) -> Result<(), Notification> {
        let task = task_named(&notice.method, notice.params.as_ref());
        match self.attributed(task.as_deref()) {
            Ok(slot) => {
                slot.push(Ok(Incoming::Notice(notice)));
                Ok(())
            }
            Err(_) => Err(notice),
        }
    }

    /// What names a task is for a request about that task, if one is in flight; all else is the owner's.
    fn attributed(&self, task: Option<&str>) -> Result<Arc<Slot>, Unattributed> {
        let table = self.table.lock();
        let newest = |is_meant: &dyn Fn(&Purpose) -> bool| {
            let open = table.open.iter();
            let meant = open.filter(|(_, open)| is_meant(&open.purpose) && !open.slot.is_closed());
            let newest = meant.max_by_key(|(number, open)| (!open.slot.is_parked(), **number));
            newest.map(|(_, open)| open.slot.clone())
        };
        let is_about =
            |task: &str, purpose: &Purpose| matches!(purpose, Purpose::OfTask(of) if **of == *task);
        if let Some(about) = task.and_then(|task| newest(&|purpose| is_about(task, purpose))) {
            return Ok(about);
        }
        // Read with the table locked: a client with a call in it has entered before.
        match self.owner.unowned() {
            Some(why) => Err(why),
            None => newest(&Purpose::is_call).ok_or(Unattributed::NoCall),
        }
    }

    /// Whether this is the number of a request that listens.
    pub(super) fn is_listening(&self, number: u64) -> bool {
        let table = self.table.lock();
        let open = table.open.get(&number);
        open.is_some_and(|open| matches!(open.purpose, Purpose::Listening))
    }

    /// The only request in flight that waits for an answer, if there is exactly one.
    pub(super) fn only(&self) -> Option<u64> {
        let table = self.table.lock();
        let waits = |open: &Open| !matches!(open.purpose, Purpose::Listening);
        let mut waiting = table.open.iter().filter(|(_, open)| waits(open));
        let (only, more) = (waiting.next(), waiting.next());
        only.filter(|_| more.is_none()).map(|(number, _)| *number)
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.table.lock().open.is_empty()
    }

    /// Fails everything in flight and refuses what comes later.
    pub(super) fn close(&self, reason: &LinkError) {
        let open = {
            let mut table = self.table.lock();
            table.over.get_or_insert_with(|| reason.clone());
            std::mem::take(&mut table.open)
        };
        for open in open.into_values() {
            open.slot.push(Err(reason.clone()));
        }
    }
}

/// The task that a question or a notice says it is about.
fn task_named(method: &str, params: Option<&Raw>) -> Option<String> {
    let params = params?;
    let about = match method {
        method::TASK_STATUS => params.clone(),
        _ => params.get(meta::META)?.get(meta::RELATED_TASK)?,
    };
    about.get("taskId")?.string()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::{
        link::{
            news::news_queue,
            owner::ClientKey,
            slot::{PARKED, PARKED_BYTES, WAITING_BYTES, WAITING_QUESTIONS},
        },
        wire::Id,
    };

    fn in_flight() -> RequestsInFlight {
        RequestsInFlight::new(RequestNumbers::default(), news_queue().0)
    }

    fn question() -> Request {
        Request {
            id: Id::ours(1),
            method: "elicitation/create".into(),
            params: None,
        }
    }

    fn line() -> Notification {
        Notification {
            method: "notifications/message".into(),
            params: None,
        }
    }

    fn call(in_flight: &RequestsInFlight, number: u64, session: &str) -> Arc<Slot> {
        enter(in_flight, session);
        let slot = in_flight.insert(number, Purpose::Call);
        slot.expect("it is open")
    }

    fn enter(in_flight: &RequestsInFlight, session: &str) {
        let client = ClientKey::Session(session.into());
        in_flight.owner().enter(&client, false, true);
    }

    fn answer(in_flight: &RequestsInFlight, number: u64) {
        let answer = Outcome::Result(Raw::empty_object());
        in_flight.finish(number, Ok(answer));
    }

    #[test]
    fn questions_and_lines_go_to_the_same_call() {
        let in_flight = in_flight();
        let _own = in_flight.insert(1, Purpose::Own).expect("it is open");
        let _heard = in_flight.insert(2, Purpose::Listening).expect("open");
        let nobodys = in_flight.attribute_question(&question());
        assert_eq!(nobodys, Err(Unattributed::Nobody), "ours count for no one");
        let (_older, newer) = (call(&in_flight, 3, "a"), call(&in_flight, 4, "a"));
        assert_eq!(in_flight.attribute_question(&question()), Ok(()));
        assert!(in_flight.attribute_notice(line()).is_ok());
        let arrived = || newer.next().now_or_never().expect("it is there");
        assert!(matches!(arrived(), Ok(Incoming::Question(_))));
        assert!(matches!(arrived(), Ok(Incoming::Notice(_))));
        let _stranger = call(&in_flight, 5, "b");
        let several = in_flight.attribute_question(&question());
        assert_eq!(several, Err(Unattributed::Several));
        assert!(in_flight.attribute_notice(line()).is_err());
    }

    #[test]
    fn what_names_a_task_goes_to_a_request_about_that_task_or_to_nobody() {
        let in_flight = in_flight();
        let about = |task: &str| Raw::author(&serde_json::json!({ "taskId": task }));
        let status = |task: &str| Notification {
            method: method::TASK_STATUS.into(),
            params: Some(about(task)),
        };
        let line = |task: &str| {
            let meta = serde_json::json!({ "_meta": { meta::RELATED_TASK: { "taskId": task } } });
            let params = Some(Raw::author(&meta));
            Notification { params, ..line() }
        };
        let (_one, _other) = (call(&in_flight, 1, "b"), call(&in_flight, 3, "a"));
        assert!(in_flight.attribute_notice(status("t")).is_err());
        let asked = |task: &str| Request {
            params: line(task).params,
            ..question()
        };
        let refused = in_flight.attribute_question(&asked("t"));
        assert_eq!(refused, Err(Unattributed::Several));
        let purpose = Purpose::of_client(method::TASKS_RESULT, Some(&about("t")));
        let slot = in_flight.insert(2, purpose).expect("it is open");
        assert_eq!(in_flight.attribute_question(&asked("t")), Ok(()));
        assert!(in_flight.attribute_notice(status("t")).is_ok());
        assert!(in_flight.attribute_notice(line("t")).is_ok());
        assert!(in_flight.attribute_notice(line("u")).is_err());
        assert_eq!(std::iter::from_fn(|| slot.take()).count(), 3);
    }

    #[test]
    fn nothing_that_ends_or_passes_makes_a_connection_anybody_elses() {
        let ends: [fn(&RequestsInFlight); 2] = [
            |table| answer(table, 1),
            |table| assert!(table.forget(1), "withdrawn"),
        ];
        for end in ends {
            let in_flight = in_flight();
            let _first = call(&in_flight, 1, "a");
            end(&in_flight);
            let late = in_flight.attribute_question(&question());
            assert_eq!(late, Err(Unattributed::NoCall), "it is a's still");
            let later = call(&in_flight, 2, "a");
            assert_eq!(in_flight.attribute_question(&question()), Ok(()));
            assert_eq!(later.close().len(), 1);
            answer(&in_flight, 2);
            let stranger = call(&in_flight, 3, "b");
            let of_nobody = in_flight.attribute_question(&question());
            assert_eq!(of_nobody, Err(Unattributed::Several));
            assert!(in_flight.attribute_notice(line()).is_err());
            assert!(stranger.take().is_none());
        }
    }

    #[test]
    fn a_call_that_is_parked_comes_after_those_that_somebody_reads() {
        let in_flight = in_flight();
        let (read, parked) = (call(&in_flight, 1, "a"), call(&in_flight, 2, "a"));
        parked.set_parked(true);
        assert_eq!(in_flight.attribute_question(&question()), Ok(()));
        assert_eq!(read.close().len(), 1);
        answer(&in_flight, 1);
        assert_eq!(in_flight.attribute_question(&question()), Ok(()));
        assert_eq!(parked.close().len(), 1);
    }

    #[test]
    fn a_parked_call_keeps_little_and_its_answer() {
        let notice = |size: usize| Notification {
            method: "m".into(),
            params: Some(Raw::author(&"x".repeat(size))),
        };
        let kept = |parked: bool, count: usize, size: usize| {
            let in_flight = in_flight();
            let slot = call(&in_flight, 1, "a");
            slot.set_parked(parked);
            for _ in 0..count {
                in_flight.notice(1, notice(size)).expect("it is in flight");
            }
            answer(&in_flight, 1);
            let read = std::iter::from_fn(|| slot.take());
            let read: Vec<_> = read.map(|message| message.expect("no failure")).collect();
            let notices = read.len() - 1;
            assert!(matches!(read.last(), Some(Incoming::Answer(_))));
            notices
        };
        assert_eq!(kept(true, PARKED + 10, 1), PARKED);
        assert_eq!(kept(true, 10, PARKED_BYTES / 4), 3);
        assert_eq!(kept(true, 1, PARKED_BYTES + 1), 0, "not even one");
        assert_eq!(kept(false, PARKED + 10, 1), PARKED + 10);
        assert_eq!(kept(false, 2, WAITING_BYTES), 1, "one alone may be larger");
    }

    #[test]
    fn questions_that_nobody_read_can_be_answered_yet() {
        let in_flight = in_flight();
        let slot = call(&in_flight, 1, "a");
        in_flight.notice(1, line()).expect("it is in flight");
        assert_eq!(in_flight.attribute_question(&question()), Ok(()));
        assert_eq!(slot.close().len(), 1);
        // From then on there is nobody who would.
        let late = in_flight.attribute_question(&question());
        assert_eq!(late, Err(Unattributed::NoCall));
    }

    #[test]
    fn questions_to_one_call_are_bounded() {
        let in_flight = in_flight();
        let _call = call(&in_flight, 1, "a");
        let given = (0..=WAITING_QUESTIONS).map(|_| in_flight.attribute_question(&question()));
        assert_eq!(given.last(), Some(Err(Unattributed::TooMany)));
    }
}

//! The commands that wait for the disk: at most one for each session, so that none is lost on a slow disk, and the queue stays bounded by the
//! number of sessions.

use std::{collections::HashMap, mem};

use tokio::sync::{Notify, oneshot};

use super::{Content, RecordedSession, SessionDigest};
use crate::runtime::sync::Guarded;

/// A command to the task, and those who wait for it. Dropping it wakes them.
pub(super) struct SessionCommand {
    pub(super) of: RecordedSession,
    pub(super) action: SessionAction,
    pub(super) waiters: Vec<oneshot::Sender<()>>,
}

pub(super) enum SessionAction {
    /// Record that the session ended.
    End,
    /// Store this content.
    Keep(Content),
}

/// The queue.
#[derive(Default)]
pub(super) struct SessionCommands {
    waiting: Guarded<Waiting>,
    news: Notify,
}

#[derive(Default)]
struct Waiting {
    commands: HashMap<SessionDigest, SessionCommand>,
    /// Whether the task has ended.
    is_closed: bool,
}

impl SessionCommands {
    /// Adds a command. It replaces a waiting content of the session, but never its end. The receiver ends when the command is carried out, or
    /// when the task has ended.
    pub(super) fn add(&self, of: RecordedSession, action: SessionAction) -> oneshot::Receiver<()> {
        let (waiter, done) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        if waiting.is_closed {
            return done;
        }
        let command = waiting
            .commands
            .entry(of.digest)
            .or_insert_with(|| SessionCommand {
                of,
                action: SessionAction::Keep(Box::new(|| None)),
                waiters: Vec::new(),
            });
        if !matches!(command.action, SessionAction::End) {
            command.action = action;
        }
        command.waiters.push(waiter);
        drop(waiting);
        self.news.notify_one();
        done
    }

    /// Waits for commands.
    pub(super) async fn wait(&self) {
        self.news.notified().await;
    }

    /// Takes the waiting commands.
    pub(super) fn take(&self) -> Vec<SessionCommand> {
        let commands = mem::take(&mut self.waiting.lock().commands);
        commands.into_values().collect()
    }

    /// Takes the waiting commands, and accepts none from now on.
    pub(super) fn close(&self) -> Vec<SessionCommand> {
        self.waiting.lock().is_closed = true;
        self.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_session_one_command_waits_and_an_end_stays() {
        let session = |name: &str| RecordedSession {
            digest: SessionDigest::of(name),
            expires: 1_000,
        };
        let keep = |text: &'static str| SessionAction::Keep(Box::new(move || Some(text.into())));
        let commands = SessionCommands::default();
        let mut done: Vec<_> = [
            ("a", keep("1")),
            ("a", keep("2")),
            ("b", keep("3")),
            ("b", SessionAction::End),
            ("b", keep("4")),
        ]
        .into_iter()
        .map(|(name, action)| commands.add(session(name), action))
        .collect();
        let mut taken = commands.take();
        taken.sort_by_key(|command| command.waiters.len());
        let [kept, ended] = taken.try_into().ok().expect("two sessions");
        assert_eq!((kept.of, kept.waiters.len()), (session("a"), 2));
        let SessionAction::Keep(content) = kept.action else {
            panic!("it is to be kept");
        };
        assert_eq!(content().expect("something"), b"2");
        assert_eq!((ended.of, ended.waiters.len()), (session("b"), 3));
        assert!(matches!(ended.action, SessionAction::End));
        assert!(done.iter_mut().all(|done| done.try_recv().is_err()));
        assert_eq!(commands.close().len(), 0);
        let mut refused = commands.add(session("c"), SessionAction::End);
        assert_eq!(
            refused.try_recv(),
            Err(oneshot::error::TryRecvError::Closed)
        );
        assert_eq!(commands.take().len(), 0);
    }
}

//! What waits for the disk: at most one command of each session, so that nothing is lost however slow the disk is, and no more waits than
//! there are sessions.

use std::{collections::HashMap, mem};

use tokio::sync::{Notify, oneshot};

use super::{Content, RecordedSession, SessionDigest};
use crate::runtime::sync::Guarded;

/// A command to the task, and who waits for it.
pub(super) struct SessionCommand {
    pub(super) of: RecordedSession,
    pub(super) action: SessionAction,
    pub(super) waiters: Vec<oneshot::Sender<()>>,
}

pub(super) enum SessionAction {
    /// The id must not be continued.
    End,
    /// This is to be found when it is.
    Keep(Content),
}

/// The commands.
#[derive(Default)]
pub(super) struct SessionCommands {
    waiting: Guarded<Waiting>,
    news: Notify,
}

#[derive(Default)]
struct Waiting {
    commands: HashMap<SessionDigest, SessionCommand>,
    /// Nobody carries out any more.
    is_closed: bool,
}

impl SessionCommands {
    /// Adds a command, in place of what was to be kept before. What has ended stays so. The receiver ends when it is carried out, and
    /// where nobody carries out any.
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

    /// Waits until there are some.
    pub(super) async fn wait(&self) {
        self.news.notified().await;
    }

    /// Those that wait.
    pub(super) fn take(&self) -> Vec<SessionCommand> {
        let commands = mem::take(&mut self.waiting.lock().commands);
        commands.into_values().collect()
    }

    /// Those that wait; none is taken from now on.
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

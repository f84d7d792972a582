//! The task that writes the folder, in batches of commands.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use super::{
    Content, RecordFiles, RecordedSession, SessionAction, SessionCommands, SessionRecords, now,
    queue::SessionCommand,
};
use crate::{runtime::sync::Guarded, telemetry::log_throttle::LogThrottle};

/// The interval at which expired records are deleted.
const PRUNE: Duration = Duration::from_hours(1);

/// The interval at which an idle task checks that the folder is still there.
const LOOK: Duration = Duration::from_secs(30);

/// The most commands of a batch.
const AT_ONCE: usize = 256;

/// Writes the records of sessions; [`SessionRecordsTask::run`] ends with the daemon.
pub struct SessionRecordsTask {
    records: SessionRecords,
    writer: Arc<Guarded<Writer>>,
    commands: Arc<SessionCommands>,
}

struct Writer {
    files: RecordFiles,
    failures: LogThrottle,
    removals: LogThrottle,
    pruned: Instant,
}

impl SessionRecordsTask {
    pub(super) fn new(
        records: SessionRecords,
        files: RecordFiles,
        commands: Arc<SessionCommands>,
    ) -> Self {
        let writer = Writer {
            files,
            failures: LogThrottle::default(),
            removals: LogThrottle::default(),
            pruned: Instant::now(),
        };
        Self {
            records,
            writer: Arc::new(Guarded::new(writer)),
            commands,
        }
    }

    /// Runs until shutdown, and carries out all commands given before.
    pub async fn run(self, shutdown: CancellationToken) {
        loop {
            let (mut commands, is_last) = tokio::select! {
                () = self.commands.wait() => (self.commands.take(), false),
                () = tokio::time::sleep(LOOK) => (Vec::new(), false),
                () = shutdown.cancelled() => (self.commands.close(), true),
            };
            // Those who wait are woken after each batch. A batch without commands only deletes what has expired.
            loop {
                let later = commands.split_off(commands.len().min(AT_ONCE));
                let (records, writer) = (self.records.clone(), self.writer.clone());
                let writing = move || writer.lock().carry_out(commands, &records);
                if let Err(error) = tokio::task::spawn_blocking(writing).await {
                    tracing::warn!(%error, "saving sessions was interrupted");
                }
                if later.is_empty() {
                    break;
                }
                commands = later;
            }
            if is_last {
                return;
            }
        }
    }
}

impl Writer {
    /// Carries out a batch. Blocks.
    fn carry_out(&mut self, commands: Vec<SessionCommand>, records: &SessionRecords) {
        if self.files.is_removed() {
            self.begin_anew(records);
        }
        if commands.is_empty() && self.pruned.elapsed() >= PRUNE {
            self.prune(records);
        }
        // Dropped at the end, which wakes those who wait.
        let mut done = Vec::with_capacity(commands.len());
        for SessionCommand {
            of,
            action,
            waiters,
        } in commands
        {
            match action {
                SessionAction::End => self.end(of, records),
                // The session has ended since.
                SessionAction::Keep(_) if records.has_ended(of) => (),
                SessionAction::Keep(content) => self.keep(of, content, records),
            }
            done.push(waiters);
        }
        if self.files.is_long() || self.files.is_torn() {
            self.prune(records);
        }
    }

    fn keep(&mut self, session: RecordedSession, content: Content, records: &SessionRecords) {
        let room = records.0.kept.lock().room(session.digest);
        match self.files.keep(session, content, room) {
            Ok(Some(bytes)) => records.0.kept.lock().insert(session, bytes),
            Ok(None) => records.0.kept.lock().remove(session.digest),
            Err(error) => {
                self.log_failure(&error, "a session cannot be stored and will start again");
                if records.0.ended.lock().insert(session) {
                    self.end(session, records);
                }
            }
        }
    }

    fn end(&mut self, session: RecordedSession, records: &SessionRecords) {
        records.0.kept.lock().remove(session.digest);
        if let Err(error) = self.files.end(session) {
            let what = "the end of a session cannot be stored: it may continue after a restart";
            self.log_failure(&error, what);
        }
    }

    /// Writes the removed folder anew. Sessions whose content is lost must not be continued without it, so they end.
    fn begin_anew(&mut self, records: &SessionRecords) {
        if let Some(times) = self.removals.due() {
            tracing::warn!(
                folder = %self.files.folder.display(),
                times,
                effect = "some sessions end at the next restart",
                "session files missing, written again"
            );
        }
        let lost = records.0.kept.lock().expired(u32::MAX);
        for session in lost {
            records.0.ended.lock().insert(session);
        }
        self.prune(records);
    }

    fn prune(&mut self, records: &SessionRecords) {
        self.pruned = Instant::now();
        let now = now();
        let expired = records.0.kept.lock().expired(now);
        self.files.remove(&expired);
        let ended = {
            let mut ended = records.0.ended.lock();
            ended.prune(now);
            ended.clone()
        };
        if let Err(error) = self.files.rewrite(&ended) {
            self.log_failure(&error, "the list of ended sessions cannot be written");
        }
    }

    fn log_failure(&self, error: &std::io::Error, what: &str) {
        if let Some(times) = self.failures.due() {
            tracing::warn!(%error, times, "{what}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::session_records::SessionDigest;

    #[tokio::test]
    async fn a_folder_that_is_removed_is_written_anew_and_nothing_is_continued_by_half() {
        let ground = tempfile::tempdir().expect("a folder");
        let data_dir = ground.path().join("data");
        let session = |name: &str| RecordedSession {
            digest: SessionDigest::of(name),
            expires: now() + 1_000,
        };
        let [deleted, kept, later, open] = ["deleted", "kept", "later", "open"].map(session);
        let (records, task) = SessionRecords::open(&data_dir).expect("a new folder");
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(task.run(shutdown.clone()));
        records.end(deleted).await;
        let content = || Some(b"{}".to_vec());
        records.keep(kept, Box::new(content)).await;
        std::fs::remove_dir_all(&data_dir).expect("it is ours");
        records.end(later).await;
        shutdown.cancel();
        running.await.expect("it ends");
        let (again, _task) = SessionRecords::open(&data_dir).expect("it is there again");
        let ended = [deleted, kept, later, open].map(|session| again.has_ended(session));
        assert_eq!(ended, [true, true, true, false]);
        assert_eq!(again.origin(), records.origin());
    }

    #[tokio::test]
    async fn what_is_commanded_is_done_though_nobody_waits_for_it() {
        const SESSIONS: usize = 2 * AT_ONCE + 1;
        let ground = tempfile::tempdir().expect("a folder");
        let session = |number: usize| RecordedSession {
            digest: SessionDigest::of(&number.to_string()),
            expires: now() + 1_000,
        };
        let (records, task) = SessionRecords::open(ground.path()).expect("a new folder");
        for number in 0..SESSIONS {
            // The client has left.
            drop(records.end(session(number)));
        }
        let shutdown = CancellationToken::new();
        shutdown.cancel();
        task.run(shutdown).await;
        let (again, _task) = SessionRecords::open(ground.path()).expect("it is there");
        assert!((0..SESSIONS).all(|number| again.has_ended(session(number))));
        assert!(!again.has_ended(session(SESSIONS)));
    }
}

//! The task that writes the log. It gathers events for a moment, has records made of them on a blocking thread, and has these written at least
//! once a second.

use std::{path::PathBuf, pin::pin, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot, watch},
    task::{JoinError, JoinHandle},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{Shared, counting, event::ActivityEvent, writer::RecordWriter};
use crate::{config::Settings, runtime::waits::or_never};

/// How long an event waits for others before a record is made of it.
const GATHER: Duration = Duration::from_millis(50);

/// How long a record waits for others before they are written.
const COMMIT: Duration = Duration::from_secs(1);

/// Limit: records that wait; when there are so many they are written at once.
const ENOUGH: usize = 4_096;

/// The interval at which old records are removed.
const UPKEEP: Duration = Duration::from_mins(10);

/// The interval at which the task checks that the file is still there.
const LOOK: Duration = Duration::from_secs(30);

/// The interval at which waiting events are detached from their messages while the disk is slow.
const DETACH: Duration = Duration::from_millis(100);

/// Writes the log; [`ActivityTask::run`] ends with the daemon.
pub struct ActivityTask {
    pub(super) shared: Arc<Shared>,
    pub(super) data_dir: PathBuf,
    pub(super) settings: watch::Receiver<Arc<Settings>>,
    pub(super) flushes: mpsc::Receiver<oneshot::Sender<()>>,
    /// `None` while it works on a blocking thread, and if it panicked there.
    pub(super) writer: Option<RecordWriter>,
    /// Counts the calls of earlier runs, once.
    pub(super) counting: Option<JoinHandle<()>>,
}

/// What the writer does after it has made records of the waiting events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Job {
    Begin,
    TakeIn,
    Commit,
    Look,
    End,
}

impl ActivityTask {
    /// Runs until it is cancelled, and then writes what still waits.
    pub async fn run(mut self, ending: CancellationToken) {
        let shared = self.shared.clone();
        let mut take_in_at: Option<Instant> = None;
        let mut commit_at: Option<Instant> = None;
        let mut upkeep = tokio::time::interval(UPKEEP);
        upkeep.reset();
        let mut look = tokio::time::interval(LOOK);
        look.reset();
        self.work(Job::Begin).await;
        loop {
            self.count_file(&ending);
            let waiting = self.writer.as_ref().map_or(0, RecordWriter::n_pending);
            if waiting == 0 {
                commit_at = None;
            } else if commit_at.is_none() {
                commit_at = Some(Instant::now() + COMMIT);
            }
            let job = tokio::select! {
                biased;
                () = ending.cancelled() => break,
                Some(done) = self.flushes.recv() => {
                    self.work(Job::Commit).await;
                    // The reader may have left.
                    let _ = done.send(());
                    continue;
                }
                Ok(()) = self.settings.changed() => Job::TakeIn,
                () = shared.much.notified() => Job::TakeIn,
                () = shared.something.notified() => {
                    take_in_at.get_or_insert(Instant::now() + GATHER);
                    continue;
                }
                () = or_never(take_in_at.map(sleep_until)) => Job::TakeIn,
                () = or_never(commit_at.map(sleep_until)) => {
                    commit_at = None;
                    Job::Commit
                }
                _ = upkeep.tick() => Job::Commit,
                _ = look.tick() => Job::Look,
            };
            take_in_at = None;
            let is_much = waiting >= ENOUGH && job == Job::TakeIn;
            self.work(if is_much { Job::Commit } else { job }).await;
        }
        if let Some(counting) = self.counting.take() {
            // It stops at its next page. Its panic would not matter any more.
            let _ = counting.await;
        }
        self.work(Job::End).await;
        shared.queue.lock().close();
    }

    /// Starts to count the calls of earlier runs, as soon as the file is open.
    fn count_file(&mut self, ending: &CancellationToken) {
        if self.counting.is_some() {
            return;
        }
        let Some(store) = self.shared.store.lock().clone() else {
            return;
        };
        let (shared, ending) = (self.shared.clone(), ending.clone());
        let count = move || counting::count_file(&shared, &store, &ending);
        self.counting = Some(tokio::task::spawn_blocking(count));
    }

    async fn work(&mut self, job: Job) {
        let waiting = self.shared.queue.lock().take();
        let settings = self.settings.borrow_and_update().clone();
        let new = || RecordWriter::new(self.shared.clone(), &self.data_dir, settings.clone());
        let mut writer = self.writer.take().unwrap_or_else(new);
        let unwritten =
            u64::try_from(waiting.events.len() + writer.n_pending()).unwrap_or(u64::MAX);
        let in_force = settings.clone();
        let working = tokio::task::spawn_blocking(move || {
            if job == Job::Begin {
                writer.note_daemon("start");
            }
            writer.follow(in_force);
            writer.take_in(&waiting);
            // Frees the messages before the disk is written.
            drop(waiting);
            match job {
                Job::TakeIn => (),
                Job::Look => writer.look(),
                Job::Begin | Job::Commit => writer.commit(),
                Job::End => {
                    writer.note_daemon("stop");
                    writer.commit();
                }
            }
            writer
        });
        let worked = self.detaching_while(working).await;
        self.writer = Some(match worked {
            Ok(writer) => writer,
            Err(error) => {
                tracing::error!(%error, "activity log writer failed");
                self.shared.publish(None);
                let mut writer = new();
                writer.miss(unwritten);
                writer
            }
        });
    }

    /// Waits for the writer. Events that come meanwhile keep whole messages alive by parts of them, so these parts are copied here, where no caller
    /// waits.
    async fn detaching_while<T>(&self, working: JoinHandle<T>) -> Result<T, JoinError> {
        let mut working = pin!(working);
        loop {
            tokio::select! {
                biased;
                worked = &mut working => return worked,
                () = tokio::time::sleep(DETACH) => {
                    let mut waiting = self.shared.queue.lock().lend();
                    waiting.iter_mut().for_each(ActivityEvent::detach);
                    self.shared.queue.lock().give_back(waiting);
                }
            }
        }
    }
}

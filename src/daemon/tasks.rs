//! How the tasks of a daemon end: faces first, then what is behind them, what they recorded, and its spans.

use std::time::Duration;

use tokio::{task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

/// How long tasks may take to end after `hurry`, before they are aborted.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// How long the last records may take to be written.
const LAST_RECORDS: Duration = Duration::from_secs(5);

/// The signals of a shutdown.
#[derive(Default)]
pub(super) struct Ends {
    /// No new connections, and streams that only listen end.
    pub(super) closing: CancellationToken,
    /// Everything else ends.
    pub(super) ending: CancellationToken,
    /// No more grace for anything.
    pub(super) hurry: CancellationToken,
    /// The activity log ends, after everything that it records.
    pub(super) recording: CancellationToken,
    /// The export of spans ends, after everything else.
    pub(super) exporting: CancellationToken,
}

/// The tasks behind the faces, by when they end.
pub(super) struct RunningTasks {
    pub(super) tasks: JoinSet<()>,
    pub(super) records: JoinSet<()>,
    pub(super) exports: JoinSet<()>,
}

/// Every task of a daemon.
pub(super) struct DaemonTasks {
    pub(super) ends: Ends,
    pub(super) faces: JoinSet<()>,
    pub(super) behind: RunningTasks,
}

impl DaemonTasks {
    /// Ends every task and waits for it.
    pub(super) async fn shutdown(self) {
        let (ends, mut faces) = (self.ends, self.faces);
        let RunningTasks {
            mut tasks,
            mut records,
            mut exports,
        } = self.behind;
        ends.closing.cancel();
        tokio::select! {
            () = join_all(&mut faces) => (),
            () = ends.hurry.cancelled() => faces.abort_all(),
        }
        ends.ending.cancel();
        let hurried = async {
            ends.hurry.cancelled().await;
            tokio::time::sleep(LAST_MOMENT).await;
        };
        tokio::select! {
            () = join_all(&mut tasks) => (),
            () = hurried => tasks.abort_all(),
        }
        ends.recording.cancel();
        let written = timeout(LAST_RECORDS, join_all(&mut records)).await;
        if written.is_err() {
            tracing::warn!("the last records of the activity log were not written");
        }
        ends.exporting.cancel();
        tokio::select! {
            () = join_all(&mut exports) => (),
            () = ends.hurry.cancelled() => exports.abort_all(),
        }
    }
}

/// Waits for every task. One that panicked is in the log already.
async fn join_all(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            tracing::error!(%error, "a task of the daemon failed");
        }
    }
}

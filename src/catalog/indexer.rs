//! Keeps the index up to date with the newest snapshot, once somebody searches or a client is offered the search: indexes what changed on a
//! blocking thread and publishes a searcher. Only the first searches wait for it.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{IndexChanges, IndexError, Searcher, Snapshot, Writer, handle::CatalogState};

/// How long it waits for more snapshots before it indexes: after a start dozens come within a second.
const DEBOUNCE: Duration = Duration::from_millis(50);

/// Runs until shutdown. Indexes the snapshot of the moment when the index is first wanted without delay.
pub(super) async fn run(state: &CatalogState, shutdown: CancellationToken) {
    let mut writer = None;
    let wanted = shutdown.run_until_cancelled(state.is_index_wanted.wait());
    if wanted.await.is_none() {
        return;
    }
    loop {
        let snapshot = state.published.load_full();
        // If this future is dropped, the thread finishes its update and drops the writer.
        let worked = tokio::task::spawn_blocking(move || update(writer, snapshot)).await;
        writer = match worked {
            Ok(Ok((writer, searcher))) => {
                state.searcher.store(Arc::new(searcher));
                Some(writer)
            }
            Ok(Err(error)) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%error, cause, "the index is rebuilt at the next change");
                None
            }
            Err(error) => {
                tracing::error!(%error, "indexing was interrupted; mcpproxy rebuilds the index at the next change");
                None
            }
        };
        // It is set once.
        let _ = state.is_indexed.set(());
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = state.news.notified() => (),
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(DEBOUNCE) => (),
        }
    }
}

fn update(
    writer: Option<Writer>,
    snapshot: Arc<Snapshot>,
) -> Result<(Writer, Searcher), IndexError> {
    let began = std::time::Instant::now();
    let mut writer = match writer {
        Some(writer) => writer,
        None => Writer::new()?,
    };
    let generation = snapshot.generation;
    let (searcher, IndexChanges { indexed, removed }) = writer.update(snapshot)?;
    tracing::debug!(generation, indexed, removed, took = ?began.elapsed(), "the index follows the catalog");
    if indexed + removed > 0 {
        tracing::info!(indexed, removed, "tools indexed");
    }
    Ok((writer, searcher))
}

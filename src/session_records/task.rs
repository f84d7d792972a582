//! The one task that writes the folder, many orders at a time.

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Order, RecordedSession, SessionRecords, What, files::Files, now};
use crate::{log_limit::LogLimit, sync::Guarded};

/// How often what has expired is looked for.
const PRUNE: Duration = Duration::from_hours(1);

/// Limit: orders that are carried out in one turn.
const AT_ONCE: usize = 256;

/// Writes what is kept of sessions.
pub struct SessionRecordsTask {
    records: SessionRecords,
    writer: Arc<Guarded<Writer>>,
    orders: mpsc::Receiver<Order>,
}

struct Writer {
    files: Files,
    failures: LogLimit,
}

impl SessionRecordsTask {
    pub(super) fn new(
        records: SessionRecords,
        files: Files,
        orders: mpsc::Receiver<Order>,
    ) -> Self {
        let failures = LogLimit::default();
        Self {
            records,
            writer: Arc::new(Guarded::new(Writer { files, failures })),
            orders,
        }
    }

    /// Runs until shutdown, and carries out what was ordered before.
    pub async fn run(mut self, shutdown: CancellationToken) {
        loop {
            let mut orders = Vec::new();
            let ends = tokio::select! {
                _ = self.orders.recv_many(&mut orders, AT_ONCE) => false,
                () = tokio::time::sleep(PRUNE) => false,
                () = shutdown.cancelled() => {
                    self.orders.close();
                    while let Some(order) = self.orders.recv().await {
                        orders.push(order);
                    }
                    true
                }
            };
            let (records, writer) = (self.records.clone(), self.writer.clone());
            let writing = move || writer.lock().carry_out(orders, &records);
            if let Err(error) = tokio::task::spawn_blocking(writing).await {
                tracing::warn!(%error, "keeping sessions was cut short");
            }
            if ends {
                return;
            }
        }
    }
}

impl Writer {
    /// Carries out the orders; those without any only tidy up. Blocks.
    fn carry_out(&mut self, orders: Vec<Order>, records: &SessionRecords) {
        if orders.is_empty() {
            self.prune(records);
        }
        // Whoever waits is told when all is done: its senders are dropped then.
        let mut done = Vec::with_capacity(orders.len());
        for Order { of, what, told } in orders {
            match what {
                What::End => self.end(of, records),
                // It has ended since.
                What::Keep(_) if records.has_ended(of) => (),
                What::Keep(content) => {
                    let room = records.0.kept.lock().room(of.digest);
                    match self.files.keep(of, content, room) {
                        Ok(Some(bytes)) => records.0.kept.lock().insert(of, bytes),
                        Ok(None) => records.0.kept.lock().remove(of.digest),
                        Err(error) => {
                            self.failed(&error, "a session cannot be kept and will begin anew");
                            if records.0.ended.lock().insert(of) {
                                self.end(of, records);
                            }
                        }
                    }
                }
            }
            done.push(told);
        }
        if self.files.is_long() {
            self.prune(records);
        }
    }

    fn end(&mut self, session: RecordedSession, records: &SessionRecords) {
        records.0.kept.lock().remove(session.digest);
        if let Err(error) = self.files.end(session) {
            let what =
                "it cannot be kept that a session has ended: it may be continued after a restart";
            self.failed(&error, what);
        }
    }

    fn prune(&mut self, records: &SessionRecords) {
        let now = now();
        let expired = records.0.kept.lock().expired(now);
        self.files.remove(&expired);
        let ended = {
            let mut ended = records.0.ended.lock();
            ended.prune(now);
            ended.clone()
        };
        if let Err(error) = self.files.rewrite(&ended) {
            self.failed(&error, "the list of ended sessions cannot be written");
        }
    }

    fn failed(&self, error: &std::io::Error, what: &str) {
        if let Some(times) = self.failures.due() {
            tracing::warn!(%error, times, "{what}");
        }
    }
}

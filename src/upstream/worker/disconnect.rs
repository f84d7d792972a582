//! The end of a connection: the worker lets it go, or it was lost.

use super::Worker;
use crate::{
    config::Transport,
    failure::NextStep,
    process::Grace,
    text::Quoted,
    upstream::{
        connect::Open,
        connect_error::{self, ConnectError},
        state::{ConnectionHealth, HEALTHY_AFTER, StateEvent},
    },
};

impl Worker {
    /// Ends the connection: no new calls, goodbye to the server, and the whole process group ends.
    pub(super) async fn disconnect(&mut self) {
        self.shared.live.store(None);
        (self.life.relisting, self.life.pinging) = (None, None);
        self.life.answering.clear();
        self.forget_subscriptions();
        (self.life.levelling, self.life.level_set) = (None, None);
        self.life.level_waiters.clear();
        let Some(connected) = self.life.open.take() else {
            return;
        };
        let Open {
            link,
            news,
            listening,
            process,
            tasks,
            listing: _,
            failed_lists: _,
            meanwhile: _,
        } = connected.open;
        drop(listening);
        let goodbye = async {
            link.close().await;
            drop((link, news));
            if let Some(process) = process {
                process.stop(Grace::default()).await;
            }
        };
        tokio::select! {
            () = goodbye => (),
            // Dropping the process kills its group at once.
            () = self.context.hurry.cancelled() => (),
        }
        drop(tasks);
    }

    /// The connection ended without our doing, for this reason.
    pub(super) async fn lose_connection(&mut self, reason: String) {
        let Some(connected) = &self.life.open else {
            return;
        };
        let health = if connected.since.elapsed() >= HEALTHY_AFTER {
            ConnectionHealth::Proved
        } else {
            ConnectionHealth::Brief
        };
        self.blame_ping();
        let secrets = self.shared.secrets_of(&self.entry);
        let reason = connect_error::shown(&reason, &secrets);
        let (outside, step) = match self.entry.transport {
            Transport::Stdio(_) => (reason.clone(), NextStep::ReadLog),
            // The reason may hold the server's own words.
            Transport::Remote(_) => ("connection lost".to_owned(), NextStep::Wait),
        };
        let error = ConnectError {
            outside: outside.into(),
            ..ConnectError::plain(&reason, step)
        };
        // A secret may have another value by now.
        let error = error.without(&self.current_entry().secrets);
        self.set_status(|status| status.last_error = Some(error.clone()));
        self.disconnect().await;
        // All that it wrote is there when it has ended.
        let error = error.with_words(&self.shared.stderr, self.life.log_began);
        let (server, reason) = (&self.entry.name, &error.reason);
        let stderr = error.wrote.stderr.as_ref().map(Quoted::as_str);
        tracing::warn!(%server, %reason, stderr, "connection to server lost");
        self.record_error("lost", &error.whole());
        self.set_status(|status| status.last_error = Some(error));
        let (need, retries) = (self.need(), self.retries());
        self.apply(StateEvent::Lost(need, retries, health)).await;
    }
}

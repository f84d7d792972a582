//! What a daemon does beside serving: it ends what an earlier one left behind, keeps secrets out of the log, and forgets silent sessions.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    authorization::Logins, config::Settings, inbound::Sessions, process::ChildLedger,
    telemetry::logging,
};

/// How often silent sessions are looked for, and streams that nobody will ask for any more.
const HOUSEKEEPING: Duration = Duration::from_mins(1);

/// Keeps the secrets of the settings in force out of the log.
pub(super) async fn hide_secrets(mut settings: watch::Receiver<Arc<Settings>>) {
    while settings.changed().await.is_ok() {
        let secrets = settings.borrow_and_update().secrets();
        logging::hide(secrets);
    }
}

/// Ends the processes that an earlier daemon left running.
pub(super) async fn sweep(ledger: ChildLedger) {
    match tokio::task::spawn_blocking(move || ledger.sweep()).await {
        Ok(swept) => {
            for (server, groups) in swept {
                tracing::warn!(%server, groups, "processes of an earlier daemon ended");
            }
        }
        Err(error) => {
            tracing::warn!(%error, "search for processes of an earlier daemon ended early");
        }
    }
}

/// Renewals of tokens are waited for: one that is torn off may cost the login.
pub(super) async fn end_logins(logins: Logins, ending: CancellationToken) {
    ending.cancelled().await;
    logins.end().await;
}

pub(super) async fn until(ending: CancellationToken, work: impl Future<Output = ()>) {
    ending.run_until_cancelled(work).await;
}

pub(super) async fn housekeeping(sessions: Sessions) {
    loop {
        tokio::time::sleep(HOUSEKEEPING).await;
        sessions.forget_silent();
    }
}

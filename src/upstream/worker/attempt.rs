//! Attempts to connect: begins one, and takes over the connection that comes of it.

use std::{
    sync::{Arc, OnceLock, atomic::Ordering},
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use futures_util::{future::FutureExt, stream::StreamExt};

use super::{Connected, Worker, listing::listed_in_words};
use crate::{
    config::{ServerEntry, Transport},
    failure::NextStep,
    upstream::{
        calls::{
            handle::{Live, UpstreamShared},
            unread::UnreadChange,
        },
        connect::{self, ConnectContext, Open, lists::ReadLists},
        connect_error::ConnectError,
        state::{State, StateEvent},
    },
};

impl Worker {
    /// Begins an attempt to connect. A server that is started for the first time waits for its turn.
    pub(super) fn start_attempt(&mut self) {
        self.life.attempt_began = Some(Instant::now());
        self.life.log_began = self.shared.stderr.position();
        self.life.paused_until = None;
        self.life.had_no_login = self.shared.is_login_needed();
        let (shared, context) = (self.shared.clone(), self.context.clone());
        let urgent = self.life.urgent.clone();
        let (known, remembered) = (self.is_known(), self.remembered());
        let (entry, timeouts) = (self.entry.clone(), self.current_entry());
        let deadline = if known {
            timeouts.init_timeout
        } else {
            timeouts.first_init_timeout
        };
        let may_download = match &entry.transport {
            Transport::Stdio(stdio) => !known && stdio.may_download(),
            Transport::Remote(_) => false,
        };
        self.set_status(|status| status.first_start = may_download.then_some(deadline));
        let settings = self.settings();
        if !self.life.waiters.is_empty() {
            urgent.notify_one();
        }
        let attempt = async move {
            let is_process = matches!(entry.transport, Transport::Stdio(_));
            let turn = if known || !is_process {
                None
            } else {
                context.turns.take(&urgent).await
            };
            let connect_context = &context.connect;
            let entry = with_secrets_of_now(entry, connect_context, &shared).await;
            let connecting = connect::connect(
                &entry,
                &settings,
                connect_context,
                &shared,
                remembered,
                deadline,
            );
            match turn {
                Some(turn) => turn.spend(connecting).await,
                None => connecting.await,
            }
        };
        self.life.attempt = Some(attempt.boxed());
    }

    /// Takes the outcome of the attempt.
    pub(super) async fn finish_attempt(&mut self, result: Result<Open, ConnectError>) {
        self.life.urgent = Arc::default();
        self.set_status(|status| status.first_start = None);
        let outcome = match result {
            Ok(open) => self.take_connection_in(open).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(live) => self.attempt_succeeded(&live).await,
            Err(error) if self.shared.is_login_needed() => {
                self.put_off_until_login(Some(error)).await;
            }
            Err(error) => self.attempt_failed(error).await,
        }
    }

    async fn attempt_succeeded(&mut self, live: &Arc<Live>) {
        // A logout meanwhile still counts.
        let login = self.shared.login.as_ref();
        if let Some(login) = login.filter(|_| self.life.had_no_login) {
            login.accepted();
        }
        self.apply(StateEvent::Opened).await;
        self.answer_waiters(&Ok(live.clone()));
        // A server that turned out only now to ask its clients still serves the calls that wait for it here.
        if self.is_for_its_lists_only() && self.shared.usage.in_flight() == 0 {
            self.apply(StateEvent::Unused).await;
        }
    }

    async fn attempt_failed(&mut self, error: ConnectError) {
        let error = self.with_login_trouble(error);
        self.set_status(|status| status.last_error = Some(error.clone()));
        let (need, retries) = (self.need(), self.retries());
        self.apply(StateEvent::NotOpened(need, retries)).await;
        self.pause_at_least(error.retry_after);
        if self.shared.shakes_hands {
            // A server that had sessions may have given them up: the next call finds it out anew.
            let habits = &self.shared.habits;
            if habits.has_both_eras() == Some(true) {
                habits.note_eras(None);
            }
            self.note_habits();
        }
        // The connection that everybody lists from says what is wrong with the server.
        if !self.is_of_other_era() {
            self.log_failure(&error);
        }
        self.answer_waiters(&Err(error));
    }

    /// Puts the next attempt off where the server asks for that.
    fn pause_at_least(&mut self, requested: Option<Duration>) {
        let is_waiting = matches!(self.life.state, State::Waiting { .. });
        let Some(until) = requested
            .filter(|_| is_waiting)
            .map(|requested| Instant::now() + requested)
        else {
            return;
        };
        if self.life.paused_until.is_none_or(|paused| paused < until) {
            self.life.paused_until = Some(until);
            self.set_status(|status| status.next_attempt = Some(until));
        }
    }

    /// Takes over a new connection: its lists go to the catalog, then calls may use it.
    async fn take_connection_in(&mut self, mut open: Open) -> Result<Arc<Live>, ConnectError> {
        if self.is_of_other_era() {
            self.note_habits();
        } else if !self.is_instance() {
            let is_modern = !open.listing.revision.has_server_requests();
            let habits = &self.shared.habits;
            habits.note_stateless(is_modern && open.link.has_headers());
        }
        self.record_unrecorded();
        let meanwhile = std::mem::take(&mut open.meanwhile);
        let lists = ReadLists {
            listing: open.listing.clone(),
            failed: std::mem::take(&mut open.failed_lists),
        };
        let known = self.known();
        let listing = self.keep_known_lists(lists, known.as_deref());
        let Some(catalog) = self.take_in(listing).await else {
            // Either the daemon is shutting down, and nobody reads this, or something of the catalog has failed, which is in the log.
            let reason = "mcpproxy failed to keep its lists";
            let step = NextStep::act("read the log of mcpproxy, then restart mcpproxy");
            return Err(ConnectError::plain(reason, step));
        };
        self.life.incarnation += 1;
        self.life.in_doubt = false;
        let live = Arc::new(Live {
            owner: OnceLock::new(),
            incarnation: self.life.incarnation,
            link: open.link.clone(),
            catalog: ArcSwap::new(catalog.clone()),
            log_level: ArcSwapOption::empty(),
            unread: UnreadChange::new(Instant::now()),
        });
        if catalog.has_capability("tools.listChanged") {
            tracing::debug!(server = %self.entry.name, "Server supports tool change notifications - registered handler");
        }
        tracing::info!(server = %self.entry.name, tools = catalog.tools.len(), "server is ready");
        let listed = listed_in_words(&catalog, known.as_deref());
        let step = self.attempt_ended(None, Some(listed));
        self.set_status(|status| status.last_start = step.took);
        self.record("ready", step);
        self.life.answering = meanwhile.answering;
        self.life.open = Some(Connected::new(open, meanwhile.news, live.clone()));
        self.sync_subscriptions();
        // They are sent before the calls that wait.
        if let Some(Some(answers)) = self.life.telling.next().now_or_never() {
            self.subscriptions_answered(answers);
        }
        if !self.is_held() {
            self.shared.is_restarting.store(false, Ordering::Relaxed);
            self.shared.live.store(Some(live.clone()));
        }
        self.sync_log_level();
        Ok(live)
    }
}

/// The entry with the values that its secrets have now.
async fn with_secrets_of_now(
    entry: Arc<ServerEntry>,
    context: &ConnectContext,
    shared: &UpstreamShared,
) -> Arc<ServerEntry> {
    let Some(keeper) = context.keeper.as_ref().filter(|_| entry.uses_secrets) else {
        return entry;
    };
    // What is wrong with the file, or with another server, is shown elsewhere.
    let _ = keeper.reload_now().await;
    let settings = keeper.settings();
    let current = settings.servers.get(&entry.name);
    // Another configuration of it gets another worker.
    let Some(current) = current.filter(|now| now.fingerprint == entry.fingerprint) else {
        return entry;
    };
    match &shared.instance_scope {
        Some(scope) => scope.entry(current),
        None => current.clone(),
    }
}

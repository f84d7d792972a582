//! Making a connection, taking it in, and letting it go.

use std::{
    pin::pin,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use futures_util::future::FutureExt;

use super::{Connected, Worker, liveness::Liveness, schedule::Schedule};
use crate::{
    activity::ServerStep,
    catalog::{Catalog, Listing, ServerCatalog},
    config::{ServerEntry, SessionScope, Transport, duration},
    process::Grace,
    upstream::{
        calls::{
            handle::{Command, Live, Status, UpstreamShared},
            unread::UnreadChange,
        },
        connect::{self, ConnectContext, Open, lists::ReadLists},
        connect_error::{self, ConnectError},
        state::{ConnectionHealth, HEALTHY_AFTER, State, StateEvent},
    },
};

/// How long a discovery keeps its turn. A server that hangs must not hold up those behind it.
const TURN: Duration = Duration::from_secs(3);

impl Worker {
    pub(super) fn start_attempt(&mut self) {
        self.life.attempt_began = Some(Instant::now());
        self.life.paused_until = None;
        self.life.had_no_login = self.is_login_needed();
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
            let turn = tokio::select! {
                turn = context.discovery.clone().acquire_owned(), if !known => turn.ok(),
                () = urgent.notified() => None,
                () = std::future::ready(()), if known => None,
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
            let mut connecting = pin!(connecting);
            tokio::select! {
                result = &mut connecting => return result,
                () = tokio::time::sleep(TURN) => drop(turn),
            }
            connecting.await
        };
        self.life.attempt = Some(attempt.boxed());
    }

    pub(super) async fn attempted(&mut self, result: Result<Open, ConnectError>) {
        self.life.urgent = Arc::default();
        self.set_status(|status| status.first_start = None);
        let outcome = match result {
            Ok(open) => self.opened(open).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(live) => {
                // A logout meanwhile still counts.
                let login = self.shared.login.as_ref();
                if let Some(login) = login.filter(|_| self.life.had_no_login) {
                    login.accepted();
                }
                self.event(StateEvent::Opened).await;
                for waiter in self.life.waiters.drain(..) {
                    // A caller that left needs no answer.
                    let _ = waiter.send(Ok(live.clone()));
                }
                // Unless it was found only now to be one that asks: those who wait for it have their calls here.
                if self.is_for_its_lists_only() && self.shared.usage.in_flight() == 0 {
                    self.event(StateEvent::Unused).await;
                }
            }
            Err(error) if self.is_login_needed() => self.put_off_until_login(Some(error)).await,
            Err(error) => {
                let error = self.with_login_trouble(error);
                self.set_status(|status| status.last_error = Some(error.clone()));
                let (need, retries) = (self.need(), self.retries());
                self.event(StateEvent::NotOpened(need, retries)).await;
                self.pause_at_least(error.retry_after);
                self.log_failure(&error);
                for waiter in self.life.waiters.drain(..) {
                    let _ = waiter.send(Err(error.clone()));
                }
            }
        }
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

    pub(super) fn set_status(&self, set: impl FnOnce(&mut Status)) {
        self.shared.status.send_modify(set);
    }

    /// Records how the server is.
    pub(super) fn record(&self, action: &'static str, step: ServerStep) {
        let activity = &self.context.connect.activity;
        activity.note_server(action, self.entry.name.as_str(), step);
    }

    /// That an attempt came to an end, and when it began.
    fn attempt_ended(&mut self, error: Option<&String>, detail: Option<String>) -> ServerStep {
        let began = self.life.attempt_began.take();
        ServerStep {
            error: error.cloned(),
            detail,
            took: began.map(|began| began.elapsed()),
            times: None,
        }
    }

    /// Records failed attempts that no record says yet, before something else is recorded.
    pub(super) fn record_unrecorded(&mut self) {
        let status = self.shared.status.borrow().clone();
        let times = status.unrecorded_failures;
        if times > 0 {
            let step = ServerStep {
                error: status.last_error.map(|error| error.reason),
                times: Some(times.into()),
                ..ServerStep::default()
            };
            self.record("failed", step);
            self.set_status(|status| status.unrecorded_failures = 0);
        }
    }

    /// The first failures in a row are logged and recorded each, later ones about once an hour; the record says how many they are.
    fn log_failure(&mut self, error: &ConnectError) {
        const EACH: u32 = 6;
        const ONE_OF: u32 = 60;

        let (server, reason) = (self.entry.name.clone(), &error.reason);
        let status = self.shared.status.borrow().clone();
        let attempt = status.state.failures();
        let next_attempt = status.next_attempt_in();
        let next_attempt = next_attempt.map_or_else(
            || "when somebody asks for it".to_owned(),
            |wait| format!("in {}", duration::show(wait)),
        );
        if attempt <= EACH || attempt.is_multiple_of(ONE_OF) {
            tracing::warn!(%server, %reason, attempt, next_attempt, "server is not available");
            let mut step = self.attempt_ended(Some(reason), None);
            let times = status.unrecorded_failures + 1;
            step.times = (times > 1).then_some(times.into());
            self.record("failed", step);
            self.set_status(|status| status.unrecorded_failures = 0);
        } else {
            self.set_status(|status| status.unrecorded_failures += 1);
            tracing::debug!(%server, %reason, attempt, next_attempt, "server is not available");
        }
    }

    /// Takes the connection in: its lists go to the catalog, then calls may use it.
    pub(super) async fn opened(&mut self, mut open: Open) -> Result<Arc<Live>, ConnectError> {
        self.record_unrecorded();
        let meanwhile = std::mem::take(&mut open.meanwhile);
        let lists = ReadLists {
            listing: open.listing.clone(),
            failed: std::mem::take(&mut open.failed_lists),
        };
        let known = self.known();
        let listing = self.completed(lists, known.as_deref());
        let Some(catalog) = self.take_in(listing).await else {
            return Err(ConnectError {
                reason: "the daemon is shutting down".to_owned(),
                outside: "the daemon is shutting down".to_owned(),
                next_step: "start it again".to_owned(),
                retry_after: None,
            });
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
        self.record("ready", step);
        let now = Instant::now();
        self.life.answering = meanwhile.answering;
        self.life.open = Some(Connected {
            early: meanwhile.news,
            open,
            live: live.clone(),
            since: now,
            liveness: Liveness::new(now),
            schedule: Schedule::new(now),
            due_for: Vec::new(),
            listing_for: Vec::new(),
        });
        if !self.is_held() {
            self.shared.live.store(Some(live.clone()));
        }
        self.sync_subscriptions();
        self.sync_log_level();
        Ok(live)
    }

    /// The listing. Keeps the known list where one could not be read, and notes the error for the operator.
    pub(super) fn completed(&self, lists: ReadLists, known: Option<&ServerCatalog>) -> Listing {
        let known = known.map(|known| &known.listing);
        let (listing, failed) = lists.or_known(known, connect::lists_hint(&self.entry));
        let secrets = self.shared.secrets_of(&self.entry);
        let failed = failed.map(|error| error.without(&secrets));
        self.set_status(|status| {
            // Logged once, not at each listing.
            if let Some(error) = failed.as_ref().filter(|_| failed != status.last_error) {
                tracing::warn!(server = %self.entry.name, reason = %error.reason, "lists of the server could not be read");
            }
            status.last_error = failed;
        });
        listing
    }

    /// The catalog that calls over this connection are checked against. The server's own goes to the catalog; an instance keeps its own,
    /// and has the server listed again where that differs. `None` while shutting down.
    pub(super) async fn take_in(&mut self, listing: Listing) -> Option<Arc<ServerCatalog>> {
        let (name, entry) = (&self.entry.name, &self.entry.fingerprint);
        let Some(base) = &self.shared.base else {
            return self.context.catalog.put(name, entry, listing).await;
        };
        let known = self.context.catalog.glance().servers.get(name).cloned();
        let known = known.filter(|known| known.listing == listing);
        if let Some(known) = known {
            return Some(known);
        }
        let own = Catalog::read(name, entry, listing).await?;
        let snapshot = self.context.catalog.glance();
        let known = snapshot.servers.get(name);
        // A server that asks may offer less to a client that cannot answer.
        let is_known = known.is_some_and(|known| match self.shared.scope {
            SessionScope::Auto => known.has_all_tools_of(&own),
            _ => known.has_tools_of(&own),
        });
        if !is_known {
            // If its queue is full, the next listing repeats this.
            let _ = base.try_send(Command::Refresh);
        }
        Some(own)
    }

    /// Lets the connection go: no new calls, goodbye, and the whole process group ends.
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

    pub(super) async fn lost(&mut self, reason: String) {
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
        tracing::warn!(server = %self.entry.name, %reason, "connection to server lost");
        let step = ServerStep {
            error: Some(reason.clone()),
            ..ServerStep::default()
        };
        self.record("lost", step);
        let (outside, next_step) = match self.entry.transport {
            Transport::Stdio(_) => (reason.clone(), connect::logs_step(&self.entry.name)),
            // The reason may hold the server's own words.
            Transport::Remote(_) => (
                "the connection was lost".to_owned(),
                "the next call connects again".to_owned(),
            ),
        };
        let error = ConnectError {
            reason,
            outside,
            next_step,
            retry_after: None,
        };
        // A secret may have another value by now.
        let error = error.without(&self.current_entry().secrets);
        self.set_status(|status| status.last_error = Some(error));
        self.disconnect().await;
        let (need, retries) = (self.need(), self.retries());
        self.event(StateEvent::Lost(need, retries, health)).await;
    }
}

/// How many tools a server lists, and which of them it did not list before, as far as that is known.
fn listed_in_words(now: &ServerCatalog, before: Option<&ServerCatalog>) -> String {
    /// Tools that are named.
    const NAMED: usize = 3;
    let tools = match now.tools.len() {
        1 => "1 tool".to_owned(),
        n => format!("{n} tools"),
    };
    let Some(before) = before else {
        return tools;
    };
    let is_new = |name: &&str| before.tool(name).is_none();
    let new: Vec<&str> = now
        .tools
        .iter()
        .map(|tool| &*tool.name)
        .filter(is_new)
        .collect();
    match new.len() {
        0 => tools,
        n if n <= NAMED => format!("{tools}, {n} new: {}", new.join(", ")),
        n => format!("{tools}, {n} new"),
    }
}

/// The entry that a connection is made from: with the values that its secrets have now.
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

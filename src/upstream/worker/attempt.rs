//! Attempts to connect: begins one, and takes the connection in that comes of it.

use std::{
    pin::pin,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use futures_util::future::FutureExt;

use super::{Connected, Worker, liveness::Liveness, schedule::Schedule};
use crate::{
    catalog::{Listing, OwnListing, ServerCatalog},
    config::{ServerEntry, SessionScope, Transport},
    upstream::{
        calls::{
            handle::{Command, Live, UpstreamShared},
            unread::UnreadChange,
        },
        connect::{self, ConnectContext, Open, lists::ReadLists},
        connect_error::ConnectError,
        instance_scope::InstanceScope,
        state::{State, StateEvent},
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

    pub(super) async fn finish_attempt(&mut self, result: Result<Open, ConnectError>) {
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

    /// Takes the connection in: its lists go to the catalog, then calls may use it.
    pub(super) async fn opened(&mut self, mut open: Open) -> Result<Arc<Live>, ConnectError> {
        self.record_unrecorded();
        let meanwhile = std::mem::take(&mut open.meanwhile);
        let lists = ReadLists {
            listing: open.listing.clone(),
            failed: std::mem::take(&mut open.failed_lists),
        };
        let known = self.known();
        let listing = self.keep_known_lists(lists, known.as_deref());
        let Some(catalog) = self.take_in(listing).await else {
            let reason = "the daemon is shutting down";
            return Err(ConnectError::plain(reason, "start it again"));
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
    pub(super) fn keep_known_lists(
        &self,
        lists: ReadLists,
        known: Option<&ServerCatalog>,
    ) -> Listing {
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
        let is_same = |known: &Arc<ServerCatalog>| known.listing == listing;
        if let Some(known) = known.clone().filter(is_same) {
            self.show_own(None);
            return Some(known);
        }
        let read = self.context.catalog.read_own(name, entry, listing).await?;
        let own = read.catalog.clone();
        self.show_own(Some(read));
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

    /// The clients of this instance see what it lists, or what everybody sees.
    pub(super) fn show_own(&self, listing: Option<OwnListing>) {
        let scope = self.shared.instance_scope.as_ref();
        if let Some(key) = scope.and_then(InstanceScope::own_key) {
            self.context
                .catalog
                .set_own(&self.entry.name, &key, listing);
        }
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

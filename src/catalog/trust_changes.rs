//! What the catalog's task does for trust: compares listings with what was approved, follows the policies of the settings, and puts
//! approvals in force.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::oneshot;

use super::{
    ApprovalRequest, ApprovalWithdrawal, CatalogTask, Difference, OwnListing, ServerCatalog,
    Snapshot, approval,
    handle::{CatalogState, Published, ending},
    pinning::{AllLists, note_held},
};
use crate::{
    failure::Result,
    text::names::ServerName,
    trust::approvals::{self, ApprovalStep, Ledger, PinPolicy, Pins},
};

impl CatalogTask {
    /// What is held of a listing now; `None` if that is what was held before. A changed ledger is saved; the
    /// receiver waits until it is on disk.
    pub(super) fn judged(
        &mut self,
        server: &ServerCatalog,
        all_lists: &AllLists<'_>,
        old: &Snapshot,
    ) -> (Option<Arc<Pins>>, Published) {
        let name = &server.server;
        let ledger = self.pinning.ledger(name);
        let judged = self.pinning.judge(server, all_lists);
        let saved = (ledger != judged.ledger).then(|| {
            let (done, saved) = oneshot::channel();
            self.state
                .saver
                .save_ledger(name.clone(), judged.ledger.clone(), Some(done));
            saved
        });
        let before = old.pins.get(name);
        if before.is_some_and(|before| *before == judged) {
            return (None, saved);
        }
        note_held(name, before.map(AsRef::as_ref), &judged, &self.activity);
        (Some(judged), saved)
    }

    /// What is held now of the listings that may be about a server whose names changed: the scanner may object to them because of the new
    /// names. Leaves out listings of which the same is held as before.
    pub(super) fn judged_again(
        &mut self,
        news: &ServerCatalog,
        all_lists: &AllLists<'_>,
        old: &Snapshot,
    ) -> Vec<(ServerName, Arc<Pins>)> {
        let others = all_lists.may_be_about(news);
        let judged = others.filter_map(|other| {
            let pins = self.judged(other, all_lists, old).0?;
            Some((other.server.clone(), pins))
        });
        judged.collect()
    }

    /// What is held of a listing that only some clients see. The ledger learns what is new in it, and keeps what it knows of the lists that
    /// everybody sees.
    pub(super) fn judge_own(&mut self, server: &ServerCatalog) -> Arc<Pins> {
        let (name, known) = (&server.server, self.state.published.load_full());
        let before = self.pinning.ledger(name);
        let judged = self
            .pinning
            .judge_own(server, &AllLists::new(&known.servers));
        let after = self.pinning.ledger(name);
        if before != after {
            self.state.saver.save_ledger(name.clone(), after, None);
        }
        judged
    }

    /// Judges all listings of a server that only some clients see, after a decision about the server.
    fn judge_own_again(&mut self, server: &ServerName) {
        for (key, listing) in self.state.own.of(server) {
            let catalog = listing.catalog.clone();
            let pins = self.judge_own(&catalog);
            let listing = Arc::new(OwnListing { catalog, pins });
            self.state.own.set(server, &key, Some(&listing));
        }
    }

    pub(super) async fn keep(&mut self, servers: Vec<(ServerName, PinPolicy)>) {
        let old = self.state.published.load_full();
        let names: Vec<ServerName> = servers.iter().map(|(name, _)| name.clone()).collect();
        let (kept, gone): (BTreeMap<_, _>, BTreeMap<_, _>) = old
            .servers
            .iter()
            .map(|(n, s)| (n.clone(), s.clone()))
            .partition(|(name, _)| names.contains(name));
        let mut difference = gone.values().fold(Difference::default(), |sum, server| {
            sum | Difference::between(Some(server), None)
        });
        let mut pins = old.pins.clone();
        pins.retain(|name, _| names.contains(name));
        let changed = self.follow_policies(servers).await;
        let all_lists = AllLists::new(&kept);
        for server in changed.iter().filter_map(|name| kept.get(name)) {
            if let (Some(judged), _) = self.judged(server, &all_lists, &old) {
                difference = Difference::WHATEVER;
                pins.insert(server.server.clone(), judged);
            }
            self.judge_own_again(&server.server);
        }
        if !gone.is_empty() || pins != old.pins {
            self.publish(old.generation + 1, kept, pins);
        }
        self.state.saver.keep(names);
        self.announce(difference);
    }

    /// Takes over the policies, and reads the ledgers of new servers. Gives the servers whose policy changed.
    async fn follow_policies(&mut self, servers: Vec<(ServerName, PinPolicy)>) -> Vec<ServerName> {
        let pinning = &mut self.pinning;
        let is_kept = |name: &ServerName| servers.iter().any(|(kept, _)| kept == name);
        pinning.ledgers.retain(|name, _| is_kept(name));
        pinning.policies.retain(|name, _| is_kept(name));
        let mut changed = Vec::new();
        for (name, policy) in servers {
            if !pinning.ledgers.contains_key(&name) {
                let (data_dir, server) = (pinning.data_dir.clone(), name.clone());
                let ledger = if pinning.forgotten.remove(&name) {
                    Ledger::default()
                } else {
                    // Small, and nobody but this server waits for it.
                    let load = move || approvals::load(&data_dir, &server);
                    let loaded = tokio::task::spawn_blocking(load).await;
                    loaded.unwrap_or_else(|_| Ledger::lost())
                };
                pinning.ledgers.insert(name.clone(), Arc::new(ledger));
            }
            if pinning.policies.insert(name.clone(), policy) != Some(policy) {
                changed.push(name);
            }
        }
        changed
    }

    pub(super) async fn approve(&mut self, request: &ApprovalRequest) -> Result<ApprovalStep> {
        let server = &request.server;
        approval::check_unlocked(server, self.pinning.lock.as_deref())?;
        let old = self.state.published.load_full();
        let listed = old.servers.get(server).map(AsRef::as_ref);
        let approved = approval::approved(request, listed, &self.pinning.ledger(server))?;
        let approved = saved(&self.state, server, approved, approval::NOT_APPROVED).await?;
        let by = &request.approval.by;
        tracing::info!(%server, by, "definitions of the server were approved");
        Ok(self.put_in_force(server, approved))
    }

    pub(super) async fn withdraw(
        &mut self,
        taken_back: &ApprovalWithdrawal,
    ) -> Result<ApprovalStep> {
        let server = taken_back.step.server();
        approval::check_unlocked(server, self.pinning.lock.as_deref())?;
        let before = approval::withdrawn(taken_back, &self.pinning.ledger(server))?;
        let before = saved(&self.state, server, before, approval::NOT_WITHDRAWN).await?;
        if taken_back.is_quarantined {
            // The settings that say so may arrive later.
            let policies = &mut self.pinning.policies;
            policies.insert(server.clone(), PinPolicy::Untrusted);
        }
        tracing::info!(%server, "approvals of the server were undone");
        Ok(self.put_in_force(server, before))
    }

    /// Puts the ledger that a person's decision made in force.
    fn put_in_force(&mut self, server: &ServerName, ledger: Arc<Ledger>) -> ApprovalStep {
        let old = self.state.published.load_full();
        let step = ApprovalStep::between(server, &self.pinning.ledger(server), &ledger);
        self.pinning.ledgers.insert(server.clone(), ledger);
        self.judge_own_again(server);
        if let Some(listed) = old.servers.get(server)
            && let (Some(judged), _) = self.judged(listed, &AllLists::new(&old.servers), &old)
        {
            let mut pins = old.pins.clone();
            pins.insert(server.clone(), judged);
            self.publish(old.generation + 1, old.servers.clone(), pins);
            self.announce(Difference::WHATEVER);
        }
        step
    }
}

/// The ledger once it is on disk: what a person decides is in force only then. `otherwise` says what a failure means.
async fn saved(
    state: &CatalogState,
    server: &ServerName,
    ledger: Ledger,
    otherwise: &str,
) -> Result<Arc<Ledger>> {
    let ledger = Arc::new(ledger);
    let (done, saved) = oneshot::channel();
    let keeper = &state.saver;
    keeper.save_ledger(server.clone(), ledger.clone(), Some(done));
    let outcome = saved.await.map_err(|_| ending())?;
    outcome.map_err(|failure| failure.with_outcome(otherwise))?;
    Ok(ledger)
}

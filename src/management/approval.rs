//! Approvals of servers and definitions by a person who reviewed them, and the lock file of what is approved.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Backing, Management, OperatorView, ServerChange, approval_history::change_of, entry_review,
    patching::by_a_person,
};
use crate::{
    catalog::{ApprovalRequest, ApprovalWithdrawal},
    config::{BrokenEntry, Change, OPERATOR, ServerEntry, Settings},
    failure::{ErrorCode, Failure, NextStep, Result},
    gate,
    trust::approvals::{Approval, Which, export, now},
};

/// What to approve of a server.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalBody {
    /// The `seen` of the review.
    pub seen: String,
    /// The names of the definitions to approve; absent for a quarantined server, which is approved as a whole.
    #[serde(default)]
    pub names: Vec<String>,
    /// Whether to approve the server's instructions with `names`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub instructions: bool,
    /// Whether to approve everything.
    #[serde(default)]
    pub all: bool,
    /// Whether to approve a server that has listed nothing yet. Its first lists then count as approved, except what looks dangerous.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
    /// Ignored; earlier versions send it.
    #[serde(default, skip_serializing)]
    pub by: Option<String>,
}

impl ApprovalBody {
    /// The names of what is to be approved; none means everything. The instructions of a server have the empty name.
    fn named(&self) -> Vec<String> {
        let names = self.names.iter().cloned();
        names.chain(self.instructions.then(String::new)).collect()
    }
}

/// The name of whoever approves: the caller's subject, but for operators the account on this machine, because only the owner of the data
/// folder can open their socket.
pub fn approver(subject: &str) -> String {
    let accounts = ["USER", "LOGNAME", "USERNAME"];
    let account = || accounts.iter().find_map(|name| std::env::var(name).ok());
    let account = (subject == OPERATOR).then(account).flatten();
    let account = account.filter(|name| !name.is_empty());
    account.unwrap_or_else(|| subject.to_owned())
}

impl<B: Backing> Management<B> {
    /// Approves what was reviewed, and ends the quarantine if there is one. `by` is the person's name.
    pub async fn approve(
        &self,
        name: &str,
        body: ApprovalBody,
        by: String,
    ) -> Result<ServerChange> {
        let row = self.server(name)?;
        let view = self.view()?;
        // An entry that only lacks a secret or a variable can be approved.
        let Some(entry) = view.settings.readable_entry(name) else {
            return Err(server_broken(&view.settings, name));
        };
        // A disabled server can be approved, too.
        let is_quarantined = gate::awaits_approval(entry);
        let named = body.named();
        check_extent(&view, entry, &named, &body, is_quarantined)?;
        let which = match (named.is_empty(), body.unseen) {
            (false, _) => Which::These(named),
            (true, true) => Which::Unseen,
            (true, false) => Which::All,
        };
        let request = ApprovalRequest {
            server: entry.name.clone(),
            entry: entry.fingerprint.clone(),
            as_written: entry.as_written.clone(),
            seen: body.seen,
            approval: Approval {
                which,
                by,
                at: now(),
            },
        };
        let listed = view.lists.servers.get(name).map(AsRef::as_ref);
        let step = self.0.approve(request, listed).await;
        let step = step.map_err(|failure| match failure.code {
            ErrorCode::NotConfirmed => {
                let look = row.next_step.clone();
                let look = look.unwrap_or_else(|| NextStep::Restart.at_terminal(name));
                failure.at_terminal(format!("{look}; to approve it unseen, add `--yes`"))
            }
            _ => failure,
        })?;
        let withdrawal = ApprovalWithdrawal {
            step: step.clone(),
            is_quarantined: false,
        };
        let data_dir = self.data_dir();
        let review = is_quarantined.then(|| entry_review::kept_text(data_dir, name));
        let change = change_of(step, &entry.secrets, review.flatten());
        let note = change.note();
        if !is_quarantined {
            if !withdrawal.step.things().is_empty() {
                self.note_approvals(change).await;
            }
            return Ok(ServerChange::of(self.server(name)?, &["approvals"]).with_id(note.id()));
        }
        let set = Change::of_key(name, "quarantined", Some(Value::Bool(false)));
        let changes = vec![set, by_a_person(name)];
        let trusting = self.trust(entry, "lift_quarantine", changes, change);
        if let Err(failure) = trusting.await {
            if note.id().is_none() {
                // The file is as it was, so the approvals have to be, too.
                self.withdraw(withdrawal).await?;
            }
            return Err(failure);
        }
        entry_review::forget(self.data_dir(), name);
        let keys = &["quarantined", "approvals"];
        Ok(ServerChange::of(self.server(name)?, keys).with_id(note.id()))
    }

    /// The text of a lock file with the approved definitions of every server that may be used; of the lock file in force, if there is one,
    /// because nothing is approved beside it.
    pub fn lock_text(&self) -> Result<String> {
        let OperatorView { settings, lists } = self.view()?;
        if let Some(lock) = &lists.lock {
            return Ok(lock.export(|server| {
                settings.servers.contains_key(server) && !gate::is_quarantined(&settings, server)
            }));
        }
        let ledgers = lists.pins.iter();
        let ledgers = ledgers
            .filter(|(name, pins)| settings.servers.contains_key(*name) && !pins.is_untrusted);
        Ok(export(
            ledgers.map(|(name, pins)| (name.as_str(), &*pins.ledger)),
        ))
    }
}

fn server_broken(settings: &Settings, name: &str) -> Failure {
    let broken = settings.broken_entry(name);
    let reason = broken.map_or("its entry is gone", |broken| &*broken.reason);
    let error = format!("the server {name:?} cannot be used: {reason}");
    let failure = Failure::new(ErrorCode::ServerMisconfigured, error, "Correct its entry.");
    let step = broken.map_or(NextStep::FIX, BrokenEntry::step);
    failure.with_step(step).of_server(name)
}

/// Refuses an approval that names too much or too little: a quarantined server is approved as a whole, any other by named definitions.
fn check_extent(
    view: &OperatorView,
    entry: &ServerEntry,
    named: &[String],
    body: &ApprovalBody,
    is_quarantined: bool,
) -> Result {
    let name = &entry.name;
    let wrong = |why: &str, hint| {
        let error = format!("nothing was approved: {why}");
        Failure::new(ErrorCode::InvalidArguments, error, hint)
    };
    let failure = match (is_quarantined, named.is_empty(), body.all) {
        (_, false, true) => wrong("`names` and `all` are both given", "Send one of them."),
        (true, false, _) => wrong(
            &format!("{name} is quarantined, and approved only as a whole"),
            "Send no `names`.",
        )
        .at_terminal(view.approve(name.as_str())),
        (false, true, false) => wrong(
            &format!("{name} is not quarantined, and no tool was named"),
            "Name what you approve in `names`, or send `all` as true.",
        ),
        _ => return Ok(()),
    };
    Err(failure.of_server(name))
}

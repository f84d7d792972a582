//! Changes that are the same for several servers: enabled, disabled, quarantined or removed, by one change of the file.

use std::{collections::HashMap, sync::Arc};

use futures_util::future::join_all;
use serde_json::Value;

use super::{
    Backing, Enabled, Management, ServerChange, ServerRow,
    patching::{Planned, not_edited},
    servers::before_change,
};
use crate::{
    activity::OperatorChange,
    config::{self, Author, Change, ChangeOf, EntryFlag, written_entry},
    failure::Result,
    runtime::sync::Guarded,
};

impl<B: Backing> Management<B> {
    /// Removes servers. The outcomes have the order of the names.
    pub async fn remove_servers(&self, names: &[String]) -> Vec<Result<ServerChange>> {
        let rows = self.servers_named(names).into_iter().map(before_change);
        let rows: Vec<Result<Result<ServerRow>>> = rows.collect();
        let mut in_file = Vec::new();
        for name in names {
            if self.0.stop_demo(name).await {
                self.0.note(OperatorChange::by_operator("remove", name));
                self.0.follows(name).await;
            } else {
                in_file.push(name.clone());
            }
        }
        let removed = self.change_each(&in_file, "remove", plan_removal).await;
        let mut removed: HashMap<String, _> = in_file.into_iter().zip(removed).collect();
        let mut changes = Vec::new();
        for (name, row) in names.iter().zip(rows) {
            // A demo server that was stopped is in no file.
            let outcome = removed.remove(name).unwrap_or(Ok(Made::default()));
            if outcome.is_ok() {
                self.0.forget(name).await;
            }
            changes.push(outcome.and_then(|made| {
                Ok(ServerChange::of(row??.removed(), &["removed"]).with_id(made.id))
            }));
        }
        changes
    }

    /// Enables or disables servers. The outcomes have the order of the names.
    pub async fn set_enabled(
        &self,
        names: &[String],
        enabled: Enabled,
    ) -> Vec<Result<ServerChange>> {
        let (action, wanted) = match enabled {
            Enabled::On => ("enable", true),
            Enabled::Off => ("disable", false),
        };
        self.set_flag(names, action, EntryFlag::Enabled, wanted)
            .await
    }

    /// Quarantines servers: nothing of them is executed until they are approved again. The outcomes have the order of the names.
    pub async fn quarantine(&self, names: &[String]) -> Vec<Result<ServerChange>> {
        let flag = EntryFlag::Quarantined;
        self.set_flag(names, "quarantine", flag, true).await
    }

    /// Sets a flag in the entries of these servers. An outcome names the key only if its value changed. If a server cannot be changed, the
    /// others still are.
    async fn set_flag(
        &self,
        names: &[String],
        action: &'static str,
        flag: EntryFlag,
        value: bool,
    ) -> Vec<Result<ServerChange>> {
        let plan = move |text: &str, server: &str| plan_flag(text, server, flag, value);
        let changed = self.change_each(names, action, plan).await;
        let follow = names.iter().map(|name| self.0.follows(name));
        join_all(follow).await;
        let rows = self.servers_named(names).into_iter();
        let each = rows.zip(changed).map(|(row, changed)| {
            let made = changed?;
            let key = made.is_change.then_some(flag.key());
            Ok(ServerChange::of(row?, key.as_slice()).with_id(made.id))
        });
        each.collect()
    }

    /// Makes the planned changes of these servers by one change of the file. Of a server that cannot be changed the outcome is the failure.
    async fn change_each(
        &self,
        names: &[String],
        action: &'static str,
        plan: impl Fn(&str, &str) -> Result<Option<Change>> + Send + 'static,
    ) -> Vec<Result<Made>> {
        let rows = self.servers_named(names).into_iter();
        let known: Vec<Result> = rows.map(|row| before_change(row).map(drop)).collect();
        let there = names.iter().zip(&known).filter(|(_, known)| known.is_ok());
        let there: Vec<String> = there.map(|(name, _)| name.clone()).collect();
        let decided: Arc<Guarded<Vec<Result<bool>>>> = Arc::default();
        let (slot, is_none_there) = (decided.clone(), there.is_empty());
        let by = ChangeOf::this_task();
        let note = by.note();
        let written = self.rewrite_as_planned(by, move |text| {
            let plans: Vec<_> = there.iter().map(|server| plan(text, server)).collect();
            let changes = plans.iter().flatten().flatten().cloned().collect();
            *slot.lock() = plans
                .into_iter()
                .map(|plan| plan.map(|change| change.is_some()))
                .collect();
            Ok(Planned::of(changes))
        });
        let written = if is_none_there {
            Ok(Arc::default())
        } else {
            written.await
        };
        let mut decided = std::mem::take(&mut *decided.lock()).into_iter();
        // The name of the change says it all.
        let summary = Planned::default();
        let outcomes = names.iter().zip(known).map(|(name, known)| {
            known?;
            // Without a plan the file could not be read, and `written` has the failure.
            let planned = decided.next().unwrap_or(Ok(false));
            let outcome = planned.and_then(|is_change| {
                written.clone()?;
                let id = note.id().filter(|_| is_change);
                Ok(Made { is_change, id })
            });
            let outcome =
                outcome.map_err(|failure| self.not_in_file(action, name, failure, Author::Person));
            self.note_change(None, action, name, outcome.as_ref().map(|_| &summary));
            outcome
        });
        outcomes.collect()
    }
}

/// What a change of the file was for one server.
#[derive(Debug, Clone, Copy, Default)]
struct Made {
    /// Whether there was anything to change.
    is_change: bool,
    /// Its number in the history.
    id: Option<u64>,
}

fn plan_flag(text: &str, server: &str, flag: EntryFlag, value: bool) -> Result<Option<Change>> {
    let written = written_entry(text, server).map_err(not_edited)?;
    let is_so_already = flag.written(&written) == Some(value);
    let change = Change::of_key(server, flag.key(), Some(Value::Bool(value)));
    Ok((!is_so_already).then_some(change))
}

/// The removal of a server, refused unless the file has exactly one entry for it.
fn plan_removal(text: &str, server: &str) -> Result<Option<Change>> {
    let removed = Change::of_server(server, None);
    config::edit(text, &removed).map_err(not_edited)?;
    Ok(Some(removed))
}

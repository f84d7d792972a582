//! What is wrong with a server, as its row says it. Pure.

use super::{
    Connections,
    gated::{step_while_held, wants_more},
};
use crate::{config::ServerEntry, failure::NextStep, gate};

/// What is wrong with a server, and what to do.
pub(super) struct Trouble {
    pub(super) reason: String,
    /// The reason, how often it was tried, and what comes next.
    pub(super) shown: String,
    pub(super) step: NextStep,
    /// The step at a terminal.
    pub(super) next: String,
}

impl Trouble {
    pub(super) fn of(entry: &ServerEntry, connections: &Connections) -> Option<Self> {
        let simple = |reason: String, step: NextStep| Self {
            shown: reason.clone(),
            reason,
            next: step.at_terminal(entry.name.as_str()),
            step,
        };
        if let Some(stuck) = &connections.login_trouble {
            return Some(simple(stuck.to_string(), NextStep::Wait));
        }
        let failed = connections.all().find_map(|one| {
            let error = one.last_error.as_ref()?;
            // What waits for approval is tried again when a person asks for it, and then only.
            let (shown, next) = if gate::awaits_approval(entry) {
                (error.whole(), step_while_held(&entry.name, error))
            } else {
                let next = error.step.at_terminal(entry.name.as_str());
                (
                    one.explained_whenever(&error.whole(), &entry.transport),
                    next,
                )
            };
            Some(Self {
                reason: error.whole(),
                shown,
                step: error.step.clone(),
                next,
            })
        });
        failed.or_else(|| {
            Some(simple(
                wants_more(&connections.missing_scopes)?,
                NextStep::LogIn,
            ))
        })
    }
}

//! Rows of servers whose entries cannot be used.

use super::{
    Backing, Management, ServerRow, ServerState,
    gated::{listed, next_step},
};
use crate::{
    catalog::Snapshot,
    config::{BrokenEntry, Settings},
    failure::{ErrorCode, NextStep},
    gate,
};

impl<B: Backing> Management<B> {
    pub(super) fn broken_row(
        settings: &Settings,
        lists: &Snapshot,
        broken: &BrokenEntry,
    ) -> ServerRow {
        let quarantined = gate::is_quarantined(settings, &broken.name);
        let entry = broken.unresolved.as_deref();
        let listed = listed(lists, &broken.name, entry);
        let fix = broken.step();
        let correct = fix.at_terminal(&broken.name);
        let review = next_step(ErrorCode::ServerQuarantined, &broken.name, settings, lists);
        let review = review.filter(|_| quarantined);
        let review = review.map(|step| step.at_terminal(&broken.name));
        let step = match review {
            // What it lacks need not be there for a review.
            Some(review) if entry.is_some() => format!("{review}; afterwards {correct}"),
            Some(review) => format!("{correct}; then {review}"),
            None => correct,
        };
        ServerRow {
            name: broken.name.clone(),
            transport: entry.map(|entry| entry.transport.kind()),
            state: ServerState::Error,
            shown_state: match &fix {
                _ if quarantined => "Quarantined",
                NextStep::SetSecret { .. } => "Needs a secret",
                NextStep::SetVariable { .. } => "Needs a variable",
                _ => "Error",
            }
            .to_owned(),
            enabled: true,
            quarantined,
            unusable: true,
            tools: listed
                .map(|listed| listed.tools.len())
                .or(B::RUNS.then_some(0)),
            last_error: Some(broken.reason.clone()),
            reason: Some(broken.reason.clone()),
            next_step: Some(step),
            step: Some(if quarantined { NextStep::Review } else { fix }),
            ..ServerRow::default()
        }
    }

    /// Why what a server lists that waits for approval is not known, where its entry cannot be used, and what to do.
    pub(super) fn why_not_listed(broken: &BrokenEntry) -> String {
        let step = broken.step().at_terminal(&broken.name);
        format!("{}; {step}", broken.reason)
    }
}

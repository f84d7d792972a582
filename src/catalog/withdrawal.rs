//! Approvals that a person takes back.

use std::path::Path;

use super::pinning::{check_unlocked, save};
use crate::{
    failure::{ErrorCode, Failure, NextStep, Result},
    trust::approvals::{self, ApprovalStep, Ledger, Lock},
};

/// Approvals that a person takes back.
#[derive(Debug, Clone)]
pub struct ApprovalWithdrawal {
    /// What they changed of the ledger.
    pub step: ApprovalStep,
    /// Whether the server is quarantined with that: then nothing is learnt of what it lists meanwhile.
    pub is_quarantined: bool,
}

/// Takes approvals back without a daemon. Blocks.
pub fn withdraw_in_files(
    data_dir: &Path,
    withdrawal: &ApprovalWithdrawal,
    lock: Option<&Lock>,
) -> Result {
    let server = withdrawal.step.server();
    check_unlocked(server, lock)?;
    let ledger = approvals::load(data_dir, server);
    save(data_dir, server, &withdrawn(withdrawal, &ledger)?)
}

/// The ledger after approvals were taken back, if nothing later was decided about the same.
pub(super) fn withdrawn(withdrawal: &ApprovalWithdrawal, ledger: &Ledger) -> Result<Ledger> {
    withdrawal.step.undone(ledger).ok_or_else(|| {
        let name = withdrawal.step.server();
        let error =
            format!("nothing was undone: the approvals of {name:?} have changed since then");
        let failure = Failure::new(ErrorCode::InvalidArguments, error, "Choose another change.");
        failure.with_step(NextStep::ShowChanges).of_server(name)
    })
}

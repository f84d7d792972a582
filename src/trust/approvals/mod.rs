//! Approvals of definitions: for each server a ledger of what is approved and what is held, its file, and the lock file of a team. Decides what
//! of a listing is held. Pure but for the files; knows neither settings nor scanners.

mod file;
mod follow;
mod kinds;
mod ledger;
mod lock_file;
mod pins;
mod step;

pub use self::{
    file::{forget, load, prune, save},
    follow::{Knowledge, ListingTerms, PinPolicy},
    kinds::{Hold, HoldReason, ThingKind},
    ledger::{Approval, Approved, Baseline, FirstSeen, Held, Ledger, Listed, Which},
    lock_file::{Lock, LockChanges, LockError, LockedTool, export},
    pins::Pins,
    step::{ApprovalStep, SteppedThing},
};
pub use crate::text::moment::utc_seconds as utc;

/// Seconds since 1970.
pub fn now() -> u64 {
    crate::text::moment::millis(std::time::SystemTime::now()) / 1_000
}

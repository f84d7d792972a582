//! Trust in what servers list: fingerprints of definitions, approvals of them, and a scanner that finds attacks in them.

pub mod approvals;
pub mod fingerprint;
pub mod scanner;

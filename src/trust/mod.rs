//! Whether what servers say may be believed: fingerprints of definitions, what was approved of them, and a scanner for attacks.

pub mod approvals;
pub mod fingerprint;
pub mod scanner;

//! What the scanner holds of a listing where no other server matters. Pure.

use crate::{
    trust::scanner::{self, Finding, Neighbours, Scanner, Severity},
    wire::Raw,
};

/// Whether the scanner holds what it found this of.
pub(super) fn is_grave(found: &[Finding]) -> bool {
    scanner::gravest(found) == Some(Severity::Hold)
}

/// Whether the scanner objects to a server's instructions in this opening.
pub(super) fn has_suspicious_instructions(initialize: &Raw, scanner: &Scanner) -> bool {
    let text = initialize.get("instructions");
    let alone = Neighbours::default();
    text.is_some_and(|text| is_grave(&scanner.instructions("", &text, &alone)))
}

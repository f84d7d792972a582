//! The kinds of results (revision 2026-07-28, basic, "Results"). Before, there was one kind, and no result named it.

use super::Raw;

/// The member that says which.
pub const KEY: &str = "resultType";

/// A result that is whole.
pub const COMPLETE: &str = "complete";
/// One that asks something first.
pub const INPUT_REQUIRED: &str = "input_required";
/// A task, whose outcome is requested by its id (tasks extension).
pub const TASK: &str = "task";

/// The `resultType` of a result; absent means complete.
pub fn of(result: &Raw) -> Option<String> {
    result.get(KEY)?.string()
}

/// Whether a result is of a type that the protocol, or an extension that passes, knows.
pub fn is_known(result: &Raw) -> bool {
    match result.get(KEY) {
        None => true,
        Some(kind) => kind
            .string()
            .is_some_and(|kind| [COMPLETE, INPUT_REQUIRED, TASK].contains(&&*kind)),
    }
}

//! What the result of a tool says of its own success.

use super::Raw;

/// The member that is true where the tool failed.
pub const IS_ERROR: &str = "isError";

/// Whether a result says that the tool failed.
pub fn says_error(result: &Raw) -> bool {
    result.get(IS_ERROR).is_some_and(|value| value.is_true())
}

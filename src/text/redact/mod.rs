//! What of foreign texts looks like a secret. Guesses err on the side of masking; what is known exactly is
//! `text::secret::Secrets`.
//!
//! [`table`](self) has one row for each thing that looks like a secret or is introduced as one; [`ListContext`] knows what stands before a
//! text in a list, [`Walk`] what only the structure of a value tells.

mod list_context;
mod rows;
mod table;
mod walk;

pub use list_context::{
    ListContext, hidden_in_arguments, is_scheme, is_secret_flag, redacted_arguments,
};
pub use table::{TextKind, hidden, is_harmless_json, is_secret_name, redacted, redacted_value};
pub use walk::{Bounds, Walk, shorten};

#[cfg(test)]
mod tests;

//! Masks what looks like a secret in texts from outside. These are guesses, and masking too much is preferred to too little; secrets of the
//! configuration are masked by `text::secret::Secrets`.
//!
//! `rows` is the table of patterns, `table` applies it, and [`ListContext`] knows what stands before a text in a list.

mod harmless_json;
mod key_block;
mod list_context;
mod rows;
mod table;

pub use harmless_json::is_harmless_json;
pub use key_block::KeyBlock;
pub use list_context::{
    ListContext, hidden_in_arguments, is_bare_name, is_named_value, is_naming_key, is_scheme,
    is_secret_flag, joined_name, passes_on, redacted_arguments,
};
pub use table::{TextKind, hidden_ranges, hidden_texts, is_secret_name, redacted, redacted_value};

#[cfg(test)]
mod tests;

//! Cuts results whose texts are too long for their readers, keeps the texts for two hours, and gives them out page by page. The pages
//! together are the texts, byte for byte. Only the caller of the result can read on; `read_cache` asks the gate whether it still may.
//!
//! Texts are kept in memory, within a limit, and never on disk: they may contain secrets.

mod characters;
mod cutting;
mod items;
mod largest_array;
mod long_text;
mod page;
mod records;
mod same_content;
mod store;

pub use self::{
    cutting::{CutOrder, StructuredContent},
    long_text::LongText,
    page::{Notice, Page, ReadingOn},
    store::{KeptText, LargeResults, TextSource},
};

/// Characters of a page that are reserved for the notice, so that page and notice together stay within the requested size.
pub const NOTICE_MAX: usize = 512;

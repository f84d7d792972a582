//! Results whose texts are too long for their readers: cut at a boundary, and kept whole for a while, to be given out page by page. Nothing
//! is lost: the pages put together are the texts, byte for byte. Who may read what is kept, beyond being who called, is decided elsewhere.
//!
//! What is kept is in memory alone, bounded, and never on disk: results hold what their servers know, secrets too.

mod characters;
mod cutting;
mod items;
mod largest_array;
mod long_text;
mod notice;
mod page;
mod records;
mod store;

pub use self::{
    cutting::{CutOrder, StructuredContent},
    long_text::LongText,
    notice::{Notice, ReadingOn},
    page::Page,
    store::{KeptText, LargeResults, TextSource},
};

/// Characters of a page that are left to the words on how to go on, so that both together stay within the requested size.
pub const NOTICE_MAX: usize = 512;

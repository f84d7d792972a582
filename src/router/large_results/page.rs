//! One page of a long result, as byte ranges of its texts.

use std::ops::Range;

/// One page. Characters are counted over all texts of the result.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// Where it begins and ends.
    pub chars: Range<usize>,
    /// All characters.
    pub all: usize,
    /// How many records of its last text end on it or before it, and how many that text has; `None` if it has no records.
    pub records: Option<(usize, usize)>,
    pub(super) pieces: Vec<Piece>,
}

/// A part of one of the texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The index of the text.
    pub(super) part: usize,
    pub(super) bytes: Range<usize>,
    /// Whether it is all of its text.
    pub(super) is_whole: bool,
    /// Whether its text goes on after it.
    pub(super) goes_on: bool,
}

impl Page {
    /// Whether nothing comes after it.
    pub fn is_last(&self) -> bool {
        self.chars.end == self.all
    }

    /// Whether it ends inside of a text.
    pub(super) fn ends_inside(&self) -> bool {
        self.pieces.last().is_some_and(|piece| piece.goes_on)
    }
}

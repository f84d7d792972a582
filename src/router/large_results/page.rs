//! One page of a long result, as byte ranges of its texts, and the notice beside it: which part of the texts the page is, and how to read on.

use std::{fmt, ops::Range};

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

/// How a model can call `read_cache`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingOn {
    /// Directly: its list has the tool.
    ByItsName,
    /// Through `proxy`, the only tool of its list.
    ThroughProxy,
}

/// The notice about one page.
#[derive(Debug)]
pub struct Notice<'a> {
    /// The key under which all texts are kept.
    pub key: &'a str,
    /// The page.
    pub page: &'a Page,
    /// How to read on.
    pub reading: ReadingOn,
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (chars, all) = (&self.page.chars, self.page.all);
        match (chars.start, chars.end) {
            (_, 0) => write!(f, "[cut by mcpproxy: all {all} characters are kept")?,
            (0, end) => write!(
                f,
                "[cut here by mcpproxy: characters 0 to {end} of {all} are above"
            )?,
            (start, end) => write!(
                f,
                "[mcpproxy: characters {start} to {end} of {all} are above"
            )?,
        }
        if let Some((records, all)) = self.page.records {
            write!(f, ", records up to {records} of {all}")?;
        }
        if self.page.is_last() {
            return f.write_str("; that is the end]");
        }
        f.write_str(". Go on with ")?;
        let (key, offset) = (self.key, chars.end);
        match self.reading {
            ReadingOn::ByItsName => write!(f, r#"read_cache {{"key":"{key}","offset":{offset}}}"#)?,
            ReadingOn::ThroughProxy => write!(
                f,
                r#"proxy {{"action":"call","type":"tool","path":"read_cache","args":{{"key":"{key}","offset":{offset}}}}}"#
            )?,
        }
        let within = (chars.start == 0).then_some(", within 2 hours");
        write!(f, "{}]", within.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::NOTICE_MAX, *};

    #[test]
    fn it_is_never_longer_than_what_is_left_for_it() {
        let most = usize::MAX;
        let page = |start| Page {
            chars: start..most - 1,
            all: most,
            records: Some((most, most)),
            pieces: Vec::new(),
        };
        for start in [0, most - 2] {
            let notice = Notice {
                key: &"0".repeat(32),
                page: &page(start),
                reading: ReadingOn::ThroughProxy,
            };
            // Two more stand between it and the text.
            assert!(notice.to_string().len() + 2 <= NOTICE_MAX, "{notice}");
        }
    }
}

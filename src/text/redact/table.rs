//! Applies the rows. Texts are many and secrets few: one pass finds the words without which a row cannot match, and only rows whose words are
//! there are tried, each compiled when first needed. One expression for all rows would take 500 times as long in texts full of names, because
//! its automaton would need ever more states.

use std::{
    borrow::Cow,
    ops::Range,
    sync::{LazyLock, OnceLock},
};

use aho_corasick::{Anchored, automaton::Automaton, dfa::DFA};
use regex::bytes::{Regex, RegexBuilder};

use super::rows::{
    BARE, NAMES, NOT, PARTS, RECORD, ROWS, RUN, RUN_LENGTH, STRUCTURE, TEXT, VALUE, WORD, WORDS,
};
use crate::text::secret::MASK;

/// The kind of a text, which decides which rows apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Prose, or lines of a file.
    Prose,
    /// The same for the activity log, where every parameter of a URL is masked.
    Record,
    /// A word of a command line, or a URL.
    Word,
}

/// A set of rows, one bit each.
pub(super) type Rows = u32;

/// The bit for words that matter only by their place in JSON.
pub(super) const OF_STRUCTURE: Rows = 1 << 31;

/// The rows of [`ROWS`], ready to use.
pub(super) struct Table {
    /// The compiled pattern of each row that was needed.
    rows: [OnceLock<Regex>; ROWS.len()],
    /// Finds the words that rows need.
    words: DFA,
    /// The rows that need each word.
    rows_of: Vec<Rows>,
    /// The rows that need a run of letters and digits.
    of_runs: Rows,
    /// The rows that need the name of a secret.
    pub(super) of_names: Rows,
    /// The name of a secret, followed by a sign that may give it a value.
    named: LazyLock<Regex>,
}

pub(super) static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

/// The name of a secret.
static NAME: LazyLock<Regex> = LazyLock::new(|| compile("name", "(?i){NAME}"));

pub(super) fn compile(name: &str, regex: &str) -> Regex {
    let mut regex = RegexBuilder::new(&spelled(regex));
    let regex = regex.unicode(false).build();
    regex.unwrap_or_else(|error| panic!("every row is tested, but {name}: {error}"))
}

/// An expression with its placeholders replaced by the expressions that rows share.
fn spelled(regex: &str) -> String {
    let parts = PARTS.join("|").replace("{-}", "[_.-]?");
    let words = WORDS.join("|");
    let name = format!(r"(?:(?:{parts})[\w.-]*|(?:\b|_)(?:{words})(?:[_.-][\w.-]*|\b))");
    let header = r"(?:(?:proxy-)?authorization|(?:set-)?cookie|[a-z0-9]+-[a-z0-9-]*?{NAME}):";
    let regex = regex.replace("{HEADER}", header).replace("{VALUE}", VALUE);
    let regex = regex.replace("{WORD}", BARE).replace("{NAME}", &name);
    regex.replace("{NOT}", NOT)
}

impl Table {
    fn new() -> Self {
        let bits = (0..).zip(ROWS);
        let rows_with = |needs: &[&str]| {
            let rows = bits.clone().filter(|(_, row)| row.needs == needs);
            rows.fold(0, |rows, (n, _)| rows | 1 << n)
        };
        let of_rows = bits
            .clone()
            .flat_map(|(n, row)| row.needs.iter().map(move |word| (*word, 1 << n)));
        let of_structure = STRUCTURE.iter().map(|word| (*word, OF_STRUCTURE));
        let (mut words, mut rows_of) = (Vec::new(), Vec::<Rows>::new());
        for (word, row) in of_rows.chain(of_structure) {
            let known = words.iter().position(|known| *known == word);
            if let Some(rows) = known.and_then(|at| rows_of.get_mut(at)) {
                *rows |= row;
            } else {
                words.push(word);
                rows_of.push(row);
            }
        }
        let mut searched = DFA::builder();
        // Words are noted at their ends, so no byte may be skipped.
        searched.ascii_case_insensitive(true).prefilter(false);
        Self {
            rows: [const { OnceLock::new() }; ROWS.len()],
            words: searched.build(words).expect("few words"),
            rows_of,
            of_runs: rows_with(RUN),
            of_names: rows_with(NAMES),
            named: LazyLock::new(|| {
                compile(
                    "named",
                    r#"(?i){NAME}[\\"'`]*(?:[ \t]*[:=]|[\s,>%]|\[[^\]\s]*\]=|\]=)"#,
                )
            }),
        }
    }

    /// The rows whose words are in a text.
    pub(super) fn rows_in(&self, text: &str) -> Rows {
        let words = &self.words;
        let Ok(mut state) = words.start_state(Anchored::No) else {
            return Rows::MAX;
        };
        let mut rows = 0;
        for byte in text.bytes() {
            state = words.next_state(Anchored::No, state, byte);
            if words.is_special(state) && words.is_match(state) {
                for found in 0..words.match_len(state) {
                    let word = words.match_pattern(state, found).as_usize();
                    rows |= self.rows_of.get(word).copied().unwrap_or_default();
                }
            }
        }
        if has_run(text.as_bytes()) {
            rows | self.of_runs
        } else {
            rows
        }
    }

    /// The rows that may match: rows with names only if one of the names may have a value.
    fn candidates(&self, text: &str) -> Rows {
        let rows = self.rows_in(text);
        let is_named = || may_give_a_value(text) && self.named.is_match(text.as_bytes());
        if rows & self.of_names != 0 && !is_named() {
            return rows & !self.of_names;
        }
        rows
    }

    /// The parts of a text that these rows hide, in no order.
    pub(super) fn ranges(&self, candidates: Rows, text: &str, kind: TextKind) -> Vec<Range<usize>> {
        let kind = match kind {
            TextKind::Prose => TEXT,
            TextKind::Record => RECORD,
            TextKind::Word => WORD,
        };
        let mut hidden = Vec::new();
        for (n, (row, regex)) in ROWS.iter().zip(&self.rows).enumerate() {
            if candidates >> n & 1 == 0 || row.kinds & kind == 0 {
                continue;
            }
            let regex = regex.get_or_init(|| compile(row.name, row.regex));
            for found in regex.captures_iter(text.as_bytes()) {
                let Some(group) = found.iter().skip(1).flatten().next() else {
                    continue;
                };
                let start = text.floor_char_boundary(group.start());
                let end = text.ceil_char_boundary(group.end());
                hidden.extend((row.hides)(text, start..end));
            }
        }
        hidden
    }
}

/// Whether a text has a sign or a blank that may stand between a name and its value. Single words have none, and need no expression.
fn may_give_a_value(text: &str) -> bool {
    let is_blank = |byte: &u8| matches!(byte, b'\t'..=b'\r' | b' ');
    let mut inside = text
        .as_bytes()
        .iter()
        .rev()
        .skip_while(|byte| is_blank(byte));
    inside.any(|byte| is_blank(byte) || matches!(byte, b':' | b'=' | b',' | b'>' | b'%'))
}

/// Whether a text has a run of [`RUN_LENGTH`] letters, digits and dashes with a digit among them. Looks at few of the bytes of most texts: a
/// window of that length with another character in it is skipped up to that character.
fn has_run(text: &[u8]) -> bool {
    let is_between = |byte: &u8| !(byte.is_ascii_alphanumeric() || *byte == b'-');
    let mut rest = text;
    while let Some(window) = rest.get(..RUN_LENGTH) {
        let next = if let Some(at) = window.iter().rposition(is_between) {
            at + 1
        } else {
            let run = rest.split(is_between).next().unwrap_or_default();
            if run.iter().any(u8::is_ascii_digit) {
                return true;
            }
            run.len()
        };
        rest = rest.get(next..).unwrap_or_default();
    }
    false
}

/// Whether the value of a variable, flag, header, member or parameter of this name is a secret.
pub fn is_secret_name(name: &str) -> bool {
    // Most names have none of these words, so a start does not compile the expression.
    TABLE.rows_in(name) & TABLE.of_names != 0 && NAME.is_match(name.as_bytes())
}

/// The text with what looks like a secret as `***`.
pub fn redacted(text: &str, kind: TextKind) -> Cow<'_, str> {
    redacted_by(TABLE.candidates(text), text, kind)
}

fn redacted_by(candidates: Rows, text: &str, kind: TextKind) -> Cow<'_, str> {
    let hidden = merged(TABLE.ranges(candidates, text, kind));
    if hidden.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut from) = (String::with_capacity(text.len()), 0);
    for range in hidden {
        shown.push_str(text.get(from..range.start).unwrap_or_default());
        shown.push_str(MASK);
        from = range.end;
    }
    shown.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(shown)
}

/// Sorts the ranges, and joins those that touch.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    ranges.dedup_by(|next, last| {
        let touches = next.start <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
    ranges
}

/// The value of a member of this name with secrets masked: all of it if the name says that it is a secret.
pub fn redacted_value<'a>(name: &str, value: &'a str, kind: TextKind) -> Cow<'a, str> {
    if !value.is_empty() && is_secret_name(name) {
        Cow::Borrowed(MASK)
    } else {
        redacted(value, kind)
    }
}

/// The parts of a text that [`redacted`] masks.
pub fn hidden_texts(text: &str, kind: TextKind) -> Vec<&str> {
    let ranges = hidden_ranges(text, kind).into_iter();
    ranges.filter_map(|range| text.get(range)).collect()
}

/// The ranges of the parts that [`redacted`] masks, in order.
pub fn hidden_ranges(text: &str, kind: TextKind) -> Vec<Range<usize>> {
    merged(TABLE.ranges(TABLE.candidates(text), text, kind))
}

/// Masks with all rows, whether or not their words are there.
#[cfg(test)]
pub(super) fn every_row(text: &str, kind: TextKind) -> Cow<'_, str> {
    redacted_by(Rows::MAX, text, kind)
}

//! The bytes with which a match may begin. Three tables, for its first three bytes, rule out nearly every place of a text before a step is tried
//! there.

use super::pattern_steps::{PatternStep, Set};

/// The bytes that are looked at, and the ways through a pattern after which any beginning is taken for possible.
const KNOWN: usize = 3;
const WAYS: usize = 1_024;

/// Ways are put into 16 groups: the first ones are of ways that begin at the border of a word, the others of ways that begin anywhere.
const AT_BORDER: u8 = 14;
const ANYWHERE: u16 = 0b11 << AT_BORDER;

/// For each value of the first, the second and the third byte the groups of ways that allow it, one bit each. A match may begin at a place if one
/// group allows all three bytes there. `None` if any bytes are possible.
pub(super) struct Beginnings(Option<Box<[[u16; 256]; KNOWN]>>);

/// The values that a byte may have.
#[derive(Clone, Copy)]
enum Bytes<'s> {
    Any,
    One(u8),
    /// Those of a set, in ASCII.
    Of(&'s Set),
    /// Those beyond ASCII.
    Others,
}

/// The beginning of a way through the pattern, as far as it is known.
#[derive(Clone, Copy)]
struct Way<'s> {
    bytes: [Bytes<'s>; KNOWN],
    known: usize,
    at_border: bool,
}

impl Beginnings {
    /// The beginnings of what this step, with all steps after it, can match.
    pub(super) fn of(steps: &[PatternStep], step: usize) -> Self {
        let mut made = Reading {
            steps,
            tables: Box::new([[0; 256]; KNOWN]),
            of_all: [0; KNOWN],
            of_others: [0; KNOWN],
            left: WAYS,
        };
        let way = Way {
            bytes: [Bytes::Any; KNOWN],
            known: 0,
            at_border: false,
        };
        let is_known = made.follow(step, way).is_some();
        Self(is_known.then(|| made.done()))
    }

    /// The next place from `at` on at which a match may begin.
    pub(super) fn next(&self, text: &str, mut at: usize) -> Option<usize> {
        loop {
            let rest = text.as_bytes().get(at..)?;
            // Skips by the tables alone, which rules out nearly every place.
            if let Some([first, second, third]) = self.0.as_deref()
                && at > 0
            {
                let may_begin = |bytes: &[u8]| matches!(*bytes, [a, b, c] if first[usize::from(a)] & second[usize::from(b)] & third[usize::from(c)] != 0);
                let last = rest.len().saturating_sub(KNOWN - 1);
                at += rest.windows(KNOWN).position(may_begin).unwrap_or(last);
            }
            if self.allow(text, at) {
                return Some(at);
            }
            at += 1;
        }
    }

    /// The last such place before `at` and not before `least`.
    pub(super) fn last_before(&self, text: &str, least: usize, at: usize) -> Option<usize> {
        (least..at).rev().find(|at| self.allow(text, *at))
    }

    /// Whether a match may begin here. At the start and the end of a text everything is allowed.
    fn allow(&self, text: &str, at: usize) -> bool {
        if let Some([first, second, third]) = self.0.as_deref()
            && at > 0
            && let Some([byte, rest @ ..]) = text.as_bytes().get(at..)
        {
            let of = |table: &[u16; 256], byte: Option<&u8>| {
                byte.map_or(u16::MAX, |byte| table[usize::from(*byte)])
            };
            let groups = of(first, Some(byte)) & of(second, rest.first()) & of(third, rest.get(1));
            if groups == 0 || groups & ANYWHERE == 0 && !is_border(text, at) {
                return false;
            }
        }
        text.is_char_boundary(at)
    }
}

struct Reading<'s> {
    steps: &'s [PatternStep],
    tables: Box<[[u16; 256]; KNOWN]>,
    /// The groups that allow any byte, and those that allow any byte beyond ASCII.
    of_all: [u16; KNOWN],
    of_others: [u16; KNOWN],
    left: usize,
}

impl<'s> Reading<'s> {
    /// Notes all ways from a step on. `None` if there are too many, or if one may begin with anything.
    fn follow(&mut self, step: usize, mut way: Way<'s>) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        if way.known == KNOWN {
            return self.note(way);
        }
        match self.steps.get(step)? {
            PatternStep::Text(text) => {
                text.bytes().for_each(|byte| way.add(Bytes::One(byte)));
                self.follow(step + 1, way)
            }
            PatternStep::Run {
                set, least, most, ..
            } => {
                if *least == 0 {
                    self.follow(step + 1, way)?;
                }
                if set.has_others() {
                    let mut other = way;
                    other.add(Bytes::Others);
                    self.note(other)?;
                }
                way.add(Bytes::Of(set));
                if *most == 1 {
                    self.follow(step + 1, way)
                } else {
                    self.note(way)
                }
            }
            PatternStep::Border => {
                way.at_border |= way.known == 0;
                self.follow(step + 1, way)
            }
            PatternStep::Choice(choices) => {
                let mut steps = choices.steps().iter();
                steps.try_for_each(|to| self.follow(*to, way))
            }
            PatternStep::Jump(to) => self.follow(*to, way),
            PatternStep::End if way.known > 0 => self.note(way),
            PatternStep::Start | PatternStep::End => Some(()),
            PatternStep::Done => self.note(way),
        }
    }

    fn note(&mut self, way: Way<'s>) -> Option<()> {
        let first = match way.bytes.first()? {
            Bytes::Any => return None,
            Bytes::One(byte) => *byte,
            Bytes::Of(set) => set.ascii().next()?,
            Bytes::Others => u8::MAX,
        };
        let group = if way.at_border {
            1 << (first % AT_BORDER)
        } else {
            1 << (AT_BORDER + first % 2)
        };
        for (at, bytes) in way.bytes.into_iter().enumerate() {
            let table = self.tables.get_mut(at)?;
            match bytes {
                Bytes::Any => self.of_all[at] |= group,
                Bytes::One(byte) => table[usize::from(byte)] |= group,
                Bytes::Of(set) => set
                    .ascii()
                    .for_each(|byte| table[usize::from(byte)] |= group),
                Bytes::Others => self.of_others[at] |= group,
            }
        }
        Some(())
    }

    fn done(mut self) -> Box<[[u16; 256]; KNOWN]> {
        let groups = self.of_all.into_iter().zip(self.of_others);
        for (table, (of_all, of_others)) in self.tables.iter_mut().zip(groups) {
            let (ascii, others) = table.split_at_mut(128);
            for groups in ascii {
                *groups |= of_all;
            }
            for groups in others {
                *groups |= of_all | of_others;
            }
        }
        self.tables
    }
}

impl<'s> Way<'s> {
    fn add(&mut self, bytes: Bytes<'s>) {
        if let Some(next) = self.bytes.get_mut(self.known) {
            *next = bytes;
            self.known += 1;
        }
    }
}

/// Whether a word of ASCII begins or ends at a place.
pub(super) fn is_border(text: &str, at: usize) -> bool {
    let is_word = |at: Option<usize>| {
        let byte = at.and_then(|at| text.as_bytes().get(at));
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    is_word(at.checked_sub(1)) != is_word(Some(at))
}

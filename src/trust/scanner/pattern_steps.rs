//! Parses a pattern into steps, which [`super::pattern`] follows.

/// Limits: repetitions of a `*`, a `+` and `{n,}`; and of `.*` and `.+`.
const REPEATED: usize = 256;
const ANYTHING: usize = 4_096;

/// Alternatives for which there is room from the start: few groups have more.
const CHOICES: usize = 16;

/// A step of a pattern. Without another direction the next step follows.
pub(super) enum PatternStep {
    /// Matches these letters.
    Text(&'static str),
    /// Matches characters of a set: as many as there are, and then fewer.
    Run {
        set: Box<Set>,
        least: usize,
        most: usize,
    },
    /// Matches the border of a word of ASCII.
    Border,
    /// Matches the start of the text.
    Start,
    /// Matches the end of the text.
    End,
    /// Goes on with each of these steps in turn.
    Choice(Choices),
    /// Goes on with this step.
    Jump(usize),
    /// The pattern matches.
    Done,
}

/// The alternatives of a choice, in their order.
pub(super) struct Choices {
    /// The possible first bytes of each, as far as they are known.
    begins: Vec<Begin>,
    /// The first step of each.
    steps: Vec<usize>,
}

/// The possible values of a first and a second byte, as sets of 32 bits each: bytes that are equal modulo 32 share one.
type Begin = u64;

const ANY: Begin = u64::MAX;
const ANY_SECOND: Begin = ANY << SECOND;
const SECOND: u32 = 32;

const fn bit(byte: u8) -> Begin {
    1 << (byte & 31)
}

impl Choices {
    fn of(steps: impl IntoIterator<Item = usize>) -> Self {
        let begins = Vec::new();
        let steps = steps.into_iter().collect();
        Self { begins, steps }
    }

    /// The step of the first alternative, from number `from` on, that may match the rest of a text, and the number of the alternative after it.
    pub(super) fn fitting(&self, rest: &[u8], from: usize) -> Option<(usize, usize)> {
        let [first, second] = [0, 1].map(|at| bit(rest.get(at).copied().unwrap_or_default()));
        let both = first | second << SECOND;
        let mut begins = self.begins.get(from..)?.iter();
        let number = from + begins.position(|begin| begin & both == both)?;
        Some((*self.steps.get(number)?, number + 1))
    }

    pub(super) fn steps(&self) -> &[usize] {
        &self.steps
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }
}

/// A set of characters.
#[derive(Clone)]
pub(super) struct Set {
    /// Its characters in ASCII, one bit each.
    ascii: u128,
    is_negated: bool,
    ranges: Vec<(char, char)>,
    /// Whether it has all letters and digits (`\w`), all digits (`\d`), and all blanks (`\s`) beyond ASCII.
    others: [bool; 3],
}

/// The characters of `\w`, `\d` and `\s` in ASCII.
const WORDS: u128 = bits('a', 'z') | bits('A', 'Z') | bits('_', '_') | DIGITS;
const DIGITS: u128 = bits('0', '9');
const BLANKS: u128 = bits('\t', '\r') | bits(' ', ' ');

/// The bits of the characters of ASCII from one to another.
const fn bits(from: char, to: char) -> u128 {
    let (from, to) = (from as u32, if to.is_ascii() { to as u32 } else { 127 });
    if from > to {
        return 0;
    }
    u128::MAX >> (127 - (to - from)) << from
}

impl Set {
    const NONE: Self = Self {
        ascii: 0,
        is_negated: false,
        ranges: Vec::new(),
        others: [false; 3],
    };

    fn add(&mut self, from: char, to: char) {
        self.ascii |= bits(from, to);
        self.ranges.push((from, to));
    }

    /// The set of all other characters.
    fn negated(self) -> Self {
        Self {
            ascii: !self.ascii,
            is_negated: true,
            ..self
        }
    }

    pub(super) fn has(&self, c: char) -> bool {
        if c.is_ascii() {
            return self.ascii >> u32::from(c) & 1 == 1;
        }
        let [words, digits, blanks] = self.others;
        let is_in = self
            .ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&c))
            || words && c.is_alphanumeric()
            || digits && c.is_numeric()
            || blanks && c.is_whitespace();
        is_in != self.is_negated
    }

    /// The possible first bytes of its characters.
    fn begin(&self) -> Begin {
        if self.has_others() {
            return ANY;
        }
        self.ascii().fold(ANY_SECOND, |all, byte| all | bit(byte))
    }

    /// Its characters in ASCII.
    pub(super) fn ascii(&self) -> impl Iterator<Item = u8> {
        let mut left = self.ascii;
        std::iter::from_fn(move || {
            let next = u8::try_from(left.trailing_zeros())
                .ok()
                .filter(u8::is_ascii)?;
            left &= left - 1;
            Some(next)
        })
    }

    /// Whether it has characters beyond ASCII.
    pub(super) fn has_others(&self) -> bool {
        let mut ranges = self.ranges.iter();
        self.is_negated || self.others.contains(&true) || ranges.any(|(_, to)| !to.is_ascii())
    }

    /// Whether it has all characters but line ends, as `.` has.
    pub(super) fn is_any(&self) -> bool {
        self.ascii == !bits('\n', '\n')
    }
}

/// Parses a pattern. A test checks that all patterns of the tables are valid.
pub(super) fn steps(text: &'static str) -> Vec<PatternStep> {
    let mut reading = Reading {
        rest: text,
        steps: Vec::with_capacity(text.len() / 4),
    };
    reading.alternatives();
    debug_assert!(reading.rest.is_empty(), "{text} ends at {}", reading.rest);
    reading.steps.push(PatternStep::Done);
    note_begins(&mut reading.steps);
    reading.steps
}

/// Notes the possible first bytes of each alternative. From the end on, so that inner choices come before outer ones.
fn note_begins(steps: &mut [PatternStep]) {
    for at in (0..steps.len()).rev() {
        if let Some(PatternStep::Choice(choices)) = steps.get(at) {
            let begins = choices.steps.iter().map(|step| begin_of(steps, *step));
            let begins = begins.collect();
            if let Some(PatternStep::Choice(choices)) = steps.get_mut(at) {
                choices.begins = begins;
            }
        }
    }
}

/// The possible first bytes of what a step, with all steps after it, can match.
fn begin_of(steps: &[PatternStep], step: usize) -> Begin {
    match steps.get(step) {
        Some(PatternStep::Text(text)) => match *text.as_bytes() {
            [first, second, ..] => bit(first) | bit(second) << SECOND,
            [first] => bit(first) | ANY_SECOND,
            [] => ANY,
        },
        Some(PatternStep::Run { set, least, .. }) if *least > 0 => set.begin(),
        Some(PatternStep::Run { set, .. }) => set.begin() | begin_of(steps, step + 1),
        Some(PatternStep::Border | PatternStep::Start) => begin_of(steps, step + 1),
        Some(PatternStep::Jump(to)) => begin_of(steps, *to),
        // A repetition leads back to a choice whose first bytes are not known yet, which falls to the last arm.
        Some(PatternStep::Choice(choices)) if !choices.begins.is_empty() => {
            choices.begins.iter().fold(0, |all, begin| all | begin)
        }
        Some(PatternStep::Choice(_) | PatternStep::End | PatternStep::Done) | None => ANY,
    }
}

/// The state of parsing.
struct Reading {
    rest: &'static str,
    steps: Vec<PatternStep>,
}

impl Reading {
    /// Parses alternatives up to the end of their group.
    fn alternatives(&mut self) {
        let first = self.steps.len();
        self.steps.push(PatternStep::Jump(first + 1));
        self.sequence();
        if !self.rest.starts_with('|') {
            return;
        }
        let mut choices = Vec::with_capacity(CHOICES);
        choices.push(first + 1);
        while let Some(rest) = self.rest.strip_prefix('|') {
            self.steps.push(PatternStep::Jump(0));
            choices.push(self.steps.len());
            self.rest = rest;
            self.sequence();
        }
        self.steps.push(PatternStep::Jump(0));
        let after = self.steps.len();
        for next in choices.iter().skip(1).chain([&after]) {
            self.set(next - 1, PatternStep::Jump(after));
        }
        self.set(first, PatternStep::Choice(Choices::of(choices)));
    }

    fn set(&mut self, at: usize, step: PatternStep) {
        if let Some(known) = self.steps.get_mut(at) {
            *known = step;
        }
    }

    fn sequence(&mut self) {
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            if let Some(rest) = self.rest.strip_prefix('(') {
                self.group(rest);
            } else if !self.letters() {
                self.one();
            }
        }
    }

    /// Parses a group in parentheses. Its steps are written once for each repetition.
    fn group(&mut self, inside: &'static str) {
        let first = self.steps.len();
        self.rest = inside;
        self.alternatives();
        let after_group = self.rest.strip_prefix(')').unwrap_or_default();
        self.rest = after_repetition(after_group);
        let (least, most) = repetition(after_group);
        if (least, most) == (1, 1) {
            return;
        }
        self.steps.truncate(first);
        let mut skipped = Vec::new();
        let copies = if most == REPEATED { least.max(1) } else { most };
        let mut latest = self.steps.len();
        for copy in 0..copies {
            if copy >= least {
                skipped.push(self.steps.len());
                let into = self.steps.len() + 1;
                self.steps.push(PatternStep::Choice(Choices::of([into, 0])));
            }
            latest = self.steps.len();
            self.rest = inside;
            self.alternatives();
        }
        self.rest = after_repetition(after_group);
        if most == REPEATED {
            // Either the last copy once more, or on.
            let on = self.steps.len() + 1;
            self.steps
                .push(PatternStep::Choice(Choices::of([latest, on])));
        }
        let after = self.steps.len();
        for step in skipped {
            self.set(step, PatternStep::Choice(Choices::of([step + 1, after])));
        }
    }

    /// Parses letters that stand for themselves. False if there are none.
    fn letters(&mut self) -> bool {
        let length = self.rest.bytes().position(is_special);
        let length = length.unwrap_or(self.rest.len());
        let (mut text, mut rest) = self.rest.split_at_checked(length).unwrap_or_default();
        if rest.starts_with(['?', '*', '+', '{'])
            && let Some((last, _)) = text.char_indices().next_back()
        {
            // The repetition is for the last letter alone.
            (text, rest) = self.rest.split_at_checked(last).unwrap_or_default();
        }
        if text.is_empty() {
            return false;
        }
        self.steps.push(PatternStep::Text(text));
        self.rest = rest;
        true
    }

    /// Parses a single character, a set, or a mark of a place, with its repetition.
    fn one(&mut self) {
        let mut characters = self.rest.chars();
        let first = characters.next().unwrap_or_default();
        let set = match first {
            '^' | '$' => {
                self.rest = characters.as_str();
                let step = if first == '^' {
                    PatternStep::Start
                } else {
                    PatternStep::End
                };
                self.steps.push(step);
                return;
            }
            '\\' if self.rest.starts_with(r"\b") => {
                self.rest = self.rest.get(2..).unwrap_or_default();
                self.steps.push(PatternStep::Border);
                return;
            }
            '\\' => {
                let mut set = Set::NONE;
                match characters.next().unwrap_or_default() {
                    'S' => {
                        add_escaped(&mut set, 's');
                        set.negated()
                    }
                    escaped => {
                        add_escaped(&mut set, escaped);
                        set
                    }
                }
            }
            '.' => {
                let mut set = Set::NONE;
                set.add('\n', '\n');
                set.negated()
            }
            '[' => read_set(&mut characters),
            letter => {
                let mut set = Set::NONE;
                set.add(letter, letter);
                set
            }
        };
        let (least, most) = match repetition(characters.as_str()) {
            (least, REPEATED) if first == '.' => (least, ANYTHING),
            repetition => repetition,
        };
        self.rest = after_repetition(characters.as_str());
        let set = Box::new(set);
        self.steps.push(PatternStep::Run { set, least, most });
    }
}

fn add_escaped(set: &mut Set, escaped: char) {
    let [words, digits, blanks] = &mut set.others;
    match escaped {
        'w' => (*words, set.ascii) = (true, set.ascii | WORDS),
        'd' => (*digits, set.ascii) = (true, set.ascii | DIGITS),
        's' => (*blanks, set.ascii) = (true, set.ascii | BLANKS),
        letter => set.add(letter, letter),
    }
}

/// Parses a set in brackets.
fn read_set(characters: &mut std::str::Chars<'_>) -> Set {
    let mut set = Set::NONE;
    let is_negated = characters.as_str().starts_with('^');
    if is_negated {
        characters.next();
    }
    while let Some(character) = characters.next() {
        match character {
            ']' => break,
            '\\' => add_escaped(&mut set, characters.next().unwrap_or_default()),
            first => {
                let mut ahead = characters.clone();
                let last = (ahead.next() == Some('-')).then(|| ahead.next()).flatten();
                match last.filter(|last| *last != ']') {
                    Some(last) => {
                        *characters = ahead;
                        set.add(first, last);
                    }
                    None => set.add(first, first),
                }
            }
        }
    }
    if is_negated { set.negated() } else { set }
}

/// The least and the most repetitions that the beginning of a rest of a pattern gives to what stands before it.
fn repetition(rest: &str) -> (usize, usize) {
    match rest.chars().next() {
        Some('?') => (0, 1),
        Some('*') => (0, REPEATED),
        Some('+') => (1, REPEATED),
        Some('{') => {
            let inside = rest.get(1..).and_then(|rest| rest.split('}').next());
            let (least, most) = match inside.unwrap_or_default().split_once(',') {
                Some((least, most)) => (least, most),
                None => (inside.unwrap_or_default(), inside.unwrap_or_default()),
            };
            let least = least.parse().unwrap_or(0);
            (least, most.parse().unwrap_or(REPEATED))
        }
        _ => (1, 1),
    }
}

fn after_repetition(rest: &'static str) -> &'static str {
    match rest.chars().next() {
        Some('?' | '*' | '+') => rest.get(1..).unwrap_or_default(),
        Some('{') => rest.split_once('}').map_or(rest, |(_, rest)| rest),
        _ => rest,
    }
}

/// Whether a character of a pattern does not stand for itself.
fn is_special(character: u8) -> bool {
    matches!(character, b'$' | b'('..=b'+' | b'.' | b'?' | b'['..=b'^' | b'{'..=b'}')
}

//! What a pattern is read into: steps that are taken one after the other. Reads; finds nothing.

/// Limits: how often something is repeated that may be so without end, and how often anything.
const REPEATED: usize = 256;
const ANYTHING: usize = 4_096;

pub(super) enum PatternStep {
    Text(&'static str),
    /// Characters of a set, as many as there are and then fewer.
    Run {
        set: Set,
        least: usize,
        most: usize,
    },
    /// The border of a word of ASCII.
    Border,
    Start,
    End,
    /// Each of these in turn.
    Choice(Choices),
    Jump(usize),
    Done,
}

/// Alternatives, in their order.
#[derive(Default)]
pub(super) struct Choices {
    /// The byte that each begins with; zero where that is not a certain one.
    firsts: Vec<u8>,
    /// The step that each begins with.
    steps: Vec<usize>,
}

impl Choices {
    fn of(steps: impl IntoIterator<Item = usize>) -> Self {
        let firsts = Vec::new();
        let steps = steps.into_iter().collect();
        Self { firsts, steps }
    }

    /// The first alternative from this one on that may lead on at a byte, and the number of the one after it.
    pub(super) fn fitting(&self, byte: Option<&u8>, from: usize) -> Option<(usize, usize)> {
        let byte = byte.copied().unwrap_or_default();
        let mut firsts = self.firsts.get(from..)?.iter();
        let number = from + firsts.position(|first| *first == byte || *first == 0)?;
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
    /// Those of ASCII, one bit each.
    ascii: u128,
    is_negated: bool,
    ranges: Vec<(char, char)>,
    /// Whether it has letters and digits, digits, or blanks of all scripts.
    others: [bool; 3],
}

/// Letters, digits and `_`; digits; blanks: of ASCII.
const WORDS: u128 = bits('a', 'z') | bits('A', 'Z') | bits('_', '_') | DIGITS;
const DIGITS: u128 = bits('0', '9');
const BLANKS: u128 = bits('\t', '\r') | bits(' ', ' ');

/// Those of ASCII from one to another.
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

    /// The set of all others.
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

    /// Those of ASCII.
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

    /// Whether it has all but line ends.
    pub(super) fn is_any(&self) -> bool {
        self.ascii == !bits('\n', '\n')
    }
}

/// Reads the text of a pattern. What is wrong with one a test finds.
pub(super) fn steps(text: &'static str) -> Vec<PatternStep> {
    let mut reading = Reading {
        rest: text,
        steps: Vec::new(),
    };
    reading.alternatives();
    debug_assert!(reading.rest.is_empty(), "{text} ends at {}", reading.rest);
    reading.steps.push(PatternStep::Done);
    note_firsts(&mut reading.steps);
    reading.steps
}

/// Notes with which byte each alternative begins.
fn note_firsts(steps: &mut [PatternStep]) {
    for at in 0..steps.len() {
        let Some(PatternStep::Choice(choices)) = steps.get(at) else {
            continue;
        };
        let first = |step: &usize| match steps.get(*step) {
            Some(PatternStep::Text(text)) => text.bytes().next().unwrap_or_default(),
            _ => 0,
        };
        let firsts = choices.steps.iter().map(first).collect();
        if let Some(PatternStep::Choice(choices)) = steps.get_mut(at) {
            choices.firsts = firsts;
        }
    }
}

struct Reading {
    rest: &'static str,
    steps: Vec<PatternStep>,
}

impl Reading {
    /// Alternatives up to the end of the group that they stand in.
    fn alternatives(&mut self) {
        let first = self.steps.len();
        let is_one_of_several = has_alternatives(self.rest);
        if !is_one_of_several {
            return self.sequence();
        }
        self.steps.push(PatternStep::Choice(Choices::default()));
        let (mut choices, mut ends) = (Vec::new(), Vec::new());
        loop {
            choices.push(self.steps.len());
            self.sequence();
            ends.push(self.steps.len());
            self.steps.push(PatternStep::Jump(0));
            match self.rest.strip_prefix('|') {
                Some(rest) => self.rest = rest,
                None => break,
            }
        }
        let after = self.steps.len();
        for end in ends {
            self.set(end, PatternStep::Jump(after));
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
                let (least, most) = repetition_after_group(rest);
                self.group(rest, least, most);
            } else if !self.letters() {
                self.one();
            }
        }
    }

    /// What is in parentheses, so often as it has to be and so often as it may be.
    fn group(&mut self, inside: &'static str, least: usize, most: usize) {
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
        let after_group = self.rest.strip_prefix(')').unwrap_or_default();
        self.rest = after_repetition(after_group);
        if most == REPEATED {
            // Once more, or on.
            let on = self.steps.len() + 1;
            self.steps
                .push(PatternStep::Choice(Choices::of([latest, on])));
        }
        let after = self.steps.len();
        for step in skipped {
            self.set(step, PatternStep::Choice(Choices::of([step + 1, after])));
        }
    }

    /// Letters that stand for themselves, as many as there are.
    fn letters(&mut self) -> bool {
        let length = self.rest.find(is_special);
        let length = length.unwrap_or(self.rest.len());
        let (mut text, mut rest) = self.rest.split_at_checked(length).unwrap_or_default();
        if rest.starts_with(['?', '*', '+', '{'])
            && let Some((last, _)) = text.char_indices().next_back()
        {
            // That is for the last letter alone.
            (text, rest) = self.rest.split_at_checked(last).unwrap_or_default();
        }
        if text.is_empty() {
            return false;
        }
        self.steps.push(PatternStep::Text(text));
        self.rest = rest;
        true
    }

    /// One character, or a mark of a place.
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

/// What stands in brackets.
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

/// How often what stands before is repeated.
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

/// How often the group is repeated whose inside begins here.
fn repetition_after_group(inside: &'static str) -> (usize, usize) {
    let end = top_level(inside).find(|(_, c)| *c == ')');
    let after = end.and_then(|(at, _)| inside.get(at + 1..));
    repetition(after.unwrap_or_default())
}

/// Whether a character does not stand for itself.
fn is_special(character: char) -> bool {
    matches!(
        character,
        '\\' | '.' | '[' | ']' | '(' | ')' | '{' | '}' | '|' | '?' | '*' | '+' | '^' | '$'
    )
}

/// Whether there are alternatives before the end of the group that this is inside of.
fn has_alternatives(inside: &'static str) -> bool {
    let bars = top_level(inside).find(|(_, c)| matches!(c, '|' | ')'));
    bars.is_some_and(|(_, c)| c == '|')
}

/// The characters that are in no inner group, no brackets and no escape, up to the end of the group.
fn top_level(inside: &'static str) -> impl Iterator<Item = (usize, char)> {
    let (mut depth, mut in_set, mut is_escaped) = (0, false, false);
    inside.char_indices().filter(move |(_, character)| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match character {
            _ if was_escaped => return false,
            '\\' => is_escaped = true,
            ']' => in_set = false,
            _ if in_set => (),
            '[' => in_set = true,
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ => return depth == 0,
        }
        false
    })
}

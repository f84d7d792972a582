//! What a pattern is read into: steps that are taken one after the other. Reads; finds nothing.

/// Limits: how often something is repeated that may be so without end, and how often anything.
const REPEATED: usize = 256;
const ANYTHING: usize = 4_096;

#[derive(Debug)]
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
    /// Each of these in turn, with the first byte of those that begin with a certain one.
    Choice(Vec<(Option<u8>, usize)>),
    Jump(usize),
    Done,
}

#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one escape that a set has or has not"
)]
pub(super) struct Set {
    is_negated: bool,
    ranges: Vec<(char, char)>,
    has_words: bool,
    has_digits: bool,
    has_blanks: bool,
}

impl Set {
    const NONE: Self = Self {
        is_negated: false,
        ranges: Vec::new(),
        has_words: false,
        has_digits: false,
        has_blanks: false,
    };

    pub(super) fn has(&self, c: char) -> bool {
        let is_in = self
            .ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&c))
            || self.has_words && (c.is_alphanumeric() || c == '_')
            || self.has_digits && c.is_numeric()
            || self.has_blanks && c.is_whitespace();
        is_in != self.is_negated
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
    reading.steps
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
        self.steps.push(PatternStep::Choice(Vec::new()));
        let (mut choices, mut ends) = (Vec::new(), Vec::new());
        loop {
            choices.push((None, self.steps.len()));
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
        self.set(first, PatternStep::Choice(choices));
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
                self.steps
                    .push(PatternStep::Choice(vec![(None, into), (None, 0)]));
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
                .push(PatternStep::Choice(vec![(None, latest), (None, on)]));
        }
        let after = self.steps.len();
        for step in skipped {
            self.set(
                step,
                PatternStep::Choice(vec![(None, step + 1), (None, after)]),
            );
        }
    }

    /// Letters that stand for themselves, as many as there are.
    fn letters(&mut self) -> bool {
        let length = self.rest.find(|c| r"\.[](){}|?*+^$".contains(c));
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
                add_escaped(&mut set, characters.next().unwrap_or_default());
                set
            }
            '.' => Set {
                is_negated: true,
                ranges: vec![('\n', '\n')],
                ..Set::NONE
            },
            '[' => read_set(&mut characters),
            letter => Set {
                ranges: vec![(letter, letter)],
                ..Set::NONE
            },
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
    match escaped {
        'w' => set.has_words = true,
        'd' => set.has_digits = true,
        's' => set.has_blanks = true,
        'S' => (set.has_blanks, set.is_negated) = (true, true),
        letter => set.ranges.push((letter, letter)),
    }
}

/// What stands in brackets.
fn read_set(characters: &mut std::str::Chars<'_>) -> Set {
    let mut set = Set::NONE;
    if characters.as_str().starts_with('^') {
        characters.next();
        set.is_negated = true;
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
                        set.ranges.push((first, last));
                    }
                    None => set.ranges.push((first, first)),
                }
            }
        }
    }
    set
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

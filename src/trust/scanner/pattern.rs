//! One pattern and where it stands in a folded text. It is read into steps in microseconds and tried step by step: nothing large is built
//! first or kept after. What is found is what the crate `regex` finds: the leftmost match, alternatives in their order.
//!
//! A pattern has letters, `.`, sets, `\w \d \s \S \b ^ $`, groups with alternatives, and `? * + {n} {n,} {n,m}`.

use std::{collections::HashSet, ops::Range};

use super::pattern_steps::{PatternStep, Set, steps};

/// Limits: steps after which a text is read as one that means to take time, so that nothing is tried twice; bytes of a match of which the
/// shortest part is looked for.
const PATIENCE: usize = 4_096;
const SHRUNK: usize = 512;

/// A pattern for folded text.
pub(super) struct Pattern {
    steps: Vec<PatternStep>,
    /// With which bytes a match may begin, where not every one may. One that has to be at the start of the text begins there with any.
    beginnings: Option<Box<[Beginning; 256]>>,
}

/// Whether a match may begin with a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Beginning {
    Never,
    AtBorder,
    Anywhere,
}

impl Pattern {
    /// Reads a pattern. What is wrong with one a test finds.
    pub(super) fn new(text: &'static str) -> Self {
        let mut pattern = Self {
            steps: steps(text),
            beginnings: None,
        };
        pattern.sort_choices();
        pattern.beginnings = pattern.begins_with(0);
        pattern
    }

    /// At most so many places in a folded text, none of which overlap.
    pub(super) fn places(&self, text: &str, most: usize) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        let mut attempt = Attempt::new(self, text);
        let mut at = 0;
        while places.len() < most && at <= text.len() {
            let Some(start) = self.next_beginning(text, at) else {
                break;
            };
            at = start + 1;
            if text.is_char_boundary(start)
                && let Some(end) = attempt.first_end(start)
            {
                at = end.max(at);
                places.push(start..end);
                attempt.tried.clear();
            }
        }
        places
    }

    /// Which part of a match is a match by itself: it ends as early as one can, and begins as late.
    pub(super) fn shortest(&self, matched: &str) -> Range<usize> {
        if matched.len() > SHRUNK {
            return 0..matched.len();
        }
        let end = Attempt::new(self, matched).earliest_end(0);
        let end = end.unwrap_or(matched.len());
        let part = matched.get(..end).unwrap_or(matched);
        let starts = part.char_indices().rev().map(|(start, _)| start);
        let mut shortest = starts.filter_map(|start| {
            let end = Attempt::new(self, part).earliest_end(start)?;
            Some(start..end)
        });
        shortest.next().unwrap_or(0..end)
    }

    fn next_beginning(&self, text: &str, at: usize) -> Option<usize> {
        let Some(beginnings) = self.beginnings.as_ref().filter(|_| at > 0) else {
            return (at <= text.len()).then_some(at);
        };
        let rest = text.as_bytes().get(at..)?;
        let mut bytes = rest.iter().enumerate();
        let next = bytes.find(|(offset, byte)| match beginnings.get(usize::from(**byte)) {
            Some(Beginning::Anywhere) => true,
            Some(Beginning::AtBorder) => is_border(text, at + offset),
            Some(Beginning::Never) | None => false,
        });
        next.map(|(offset, _)| at + offset)
    }

    /// The bytes that may stand where this step is tried; nothing if any may, or none.
    fn begins_with(&self, step: usize) -> Option<Box<[Beginning; 256]>> {
        let mut bytes = Box::new([Beginning::Never; 256]);
        let mut allow = |byte: u8| {
            if let Some(is) = bytes.get_mut(usize::from(byte)) {
                *is = Beginning::Anywhere;
            }
        };
        match self.steps.get(step)? {
            PatternStep::Text(text) => allow(*text.as_bytes().first()?),
            PatternStep::Run {
                set, least: 1.., ..
            } => {
                let ascii = (0..128).filter(|byte| set.has(char::from(*byte)));
                ascii.for_each(&mut allow);
                // What is not of ASCII is looked at closely.
                (128..=255).for_each(allow);
            }
            PatternStep::Border => {
                bytes = self.begins_with(step + 1)?;
                for is in bytes.iter_mut() {
                    *is = (*is).min(Beginning::AtBorder);
                }
            }
            PatternStep::Jump(to) => return self.begins_with(*to),
            PatternStep::Choice(choices) => {
                for (_, to) in choices {
                    let of_choice = self.begins_with(*to)?;
                    for (is, more) in bytes.iter_mut().zip(of_choice.iter()) {
                        *is = (*is).max(*more);
                    }
                }
            }
            // The start of a text is always tried.
            PatternStep::Start => (),
            PatternStep::Run { .. } | PatternStep::End | PatternStep::Done => return None,
        }
        Some(bytes)
    }

    /// Notes with which byte each alternative begins.
    fn sort_choices(&mut self) {
        let first = |steps: &[PatternStep], at: usize| match steps.get(at) {
            Some(PatternStep::Text(text)) => text.as_bytes().first().copied(),
            _ => None,
        };
        for at in 0..self.steps.len() {
            let Some(PatternStep::Choice(choices)) = self.steps.get(at) else {
                continue;
            };
            let sorted = choices.iter().map(|(_, to)| (first(&self.steps, *to), *to));
            let sorted = PatternStep::Choice(sorted.collect());
            if let Some(step) = self.steps.get_mut(at) {
                *step = sorted;
            }
        }
    }
}

/// What is left to try.
enum Left {
    /// From one of the alternatives of a choice on.
    Choice { step: usize, next: usize, at: usize },
    /// A run that is shorter, down to its least end.
    Run {
        step: usize,
        least: usize,
        at: usize,
    },
}

/// A pattern at work on one text.
struct Attempt<'p, 't> {
    steps: &'p [PatternStep],
    text: &'t str,
    left: Vec<Left>,
    taken: usize,
    /// From which step nothing came at which place.
    tried: HashSet<(usize, usize)>,
}

impl<'p, 't> Attempt<'p, 't> {
    fn new(pattern: &'p Pattern, text: &'t str) -> Self {
        Self {
            steps: &pattern.steps,
            text,
            left: Vec::new(),
            taken: 0,
            tried: HashSet::new(),
        }
    }

    /// Where the match ends that begins here.
    fn first_end(&mut self, start: usize) -> Option<usize> {
        self.left.clear();
        let mut from = Some((0, start));
        while let Some((step, at)) = from {
            if let Some(end) = self.follow(step, at) {
                return Some(end);
            }
            from = self.go_back();
        }
        None
    }

    /// The first place at which any match ends that begins here.
    fn earliest_end(&mut self, start: usize) -> Option<usize> {
        self.left.clear();
        self.taken = PATIENCE;
        let (mut from, mut earliest) = (Some((0, start)), None);
        while let Some((step, at)) = from {
            if let Some(end) = self.follow(step, at) {
                earliest = Some(earliest.map_or(end, |known: usize| known.min(end)));
            }
            from = self.go_back();
        }
        earliest
    }

    /// Follows the steps as far as they lead: the end of a match, or nothing.
    fn follow(&mut self, mut step: usize, mut at: usize) -> Option<usize> {
        loop {
            self.taken += 1;
            match self.steps.get(step)? {
                PatternStep::Text(text) => {
                    if !self.text.as_bytes().get(at..)?.starts_with(text.as_bytes()) {
                        return None;
                    }
                    at += text.len();
                    step += 1;
                }
                PatternStep::Run { set, least, most } => {
                    let (shortest, longest) = self.run(set, at, *least, *most)?;
                    step += 1;
                    if longest > shortest {
                        self.left.push(Left::Run {
                            step,
                            least: shortest,
                            at: longest,
                        });
                    }
                    at = longest;
                }
                PatternStep::Border => {
                    if !is_border(self.text, at) {
                        return None;
                    }
                    step += 1;
                }
                PatternStep::Start if at == 0 => step += 1,
                PatternStep::End if at == self.text.len() => step += 1,
                PatternStep::Start | PatternStep::End => return None,
                PatternStep::Choice(choices) => {
                    let (to, next) = self.choose(choices, 0, at)?;
                    if next < choices.len() {
                        self.left.push(Left::Choice { step, next, at });
                    }
                    step = to;
                }
                PatternStep::Jump(to) => step = *to,
                PatternStep::Done => return Some(at),
            }
        }
    }

    /// The next thing to try.
    fn go_back(&mut self) -> Option<(usize, usize)> {
        loop {
            match self.left.pop()? {
                Left::Choice { step, next, at } => {
                    let Some(PatternStep::Choice(choices)) = self.steps.get(step) else {
                        continue;
                    };
                    let Some((to, next)) = self.choose(choices, next, at) else {
                        continue;
                    };
                    if next < choices.len() {
                        self.left.push(Left::Choice { step, next, at });
                    }
                    return Some((to, at));
                }
                Left::Run { step, least, at } => {
                    let shorter = self.text.floor_char_boundary(at - 1);
                    if shorter > least {
                        let at = shorter;
                        self.left.push(Left::Run { step, least, at });
                    }
                    if self.taken < PATIENCE || self.tried.insert((step, shorter)) {
                        return Some((step, shorter));
                    }
                }
            }
        }
    }

    /// The first alternative that may lead on from here, and the number of the one after it.
    fn choose(
        &self,
        choices: &[(Option<u8>, usize)],
        from: usize,
        at: usize,
    ) -> Option<(usize, usize)> {
        let byte = self.text.as_bytes().get(at);
        let choices = choices.iter().enumerate().skip(from);
        let mut fitting =
            choices.filter(|(_, (first, _))| first.is_none() || first.as_ref() == byte);
        fitting.next().map(|(number, (_, to))| (*to, number + 1))
    }

    /// Where the shortest and the longest run of a set end, if there is one.
    fn run(&self, set: &Set, at: usize, least: usize, most: usize) -> Option<(usize, usize)> {
        let rest = self.text.get(at..)?;
        let (mut shortest, mut end) = (at, at);
        let mut count = 0;
        for character in rest.chars().take(most).take_while(|c| set.has(*c)) {
            count += 1;
            end += character.len_utf8();
            if count == least {
                shortest = end;
            }
        }
        (count >= least).then_some((shortest, end))
    }
}

/// Whether a word of ASCII begins or ends here.
fn is_border(text: &str, at: usize) -> bool {
    let is_word = |at: Option<usize>| {
        let byte = at.and_then(|at| text.as_bytes().get(at));
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    is_word(at.checked_sub(1)) != is_word(Some(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::scanner::{fold::fold, signals::SIGNALS, vocabulary::DIRECT};

    /// What the crate finds.
    fn expected(pattern: &str, folded: &str, most: usize) -> Vec<Range<usize>> {
        let pattern = regex::Regex::new(&pattern.replace(r"\b", r"(?-u:\b)")).expect("a pattern");
        let found = pattern.find_iter(folded).take(most);
        found.map(|found| found.range()).collect()
    }

    #[track_caller]
    fn check(pattern: &'static str, text: &str) {
        let folded = fold(text);
        let found = Pattern::new(pattern).places(&folded, 3);
        assert_eq!(
            found,
            expected(pattern, &folded, 3),
            "{pattern} in {folded:?}"
        );
    }

    #[test]
    fn it_finds_what_the_crate_finds() {
        let texts = [
            "",
            "add a b add c here add there",
            "add aaaaaaaaaa here; ADD aaaaaaaaaaa here",
            "ádd éé—é here, add 日本語日本語 here, add 日本語日本語日本語日本 here",
            "here add",
            "add now known to be here",
            "x=[y] a-b ~/.ssh {3} 12 345",
        ];
        let patterns = [
            r"\b(add|a)\b.{0,10}\bhere\b",
            r"\b(add( \w+)?|a) .{0,10}\b(here|there)|\bc\b",
            r"\badd [^;]{0,12} (here|\d+)|(^|; )add",
            r"[\w.+-]+ ?here|\d{2}",
            r"(語|add).{0,8}here",
            r"(e|here).{0,8}",
            r"add (now |known to )*be( \w+){1,2}$",
            r"\[[^\]]{0,4}\]|~/\.s{2,3}h|\{\d\}|\b\d{2,}",
            r"(a|b){2,}|(add)+ |(x|y)?=",
            r"(a|ad|add) ?d?",
        ];
        for pattern in patterns {
            for text in texts {
                check(pattern, text);
            }
        }
    }

    #[test]
    fn every_pattern_of_the_tables_finds_what_the_crate_finds() {
        let poisoned = include_str!("../../../tests/scanner/poisoned/tool_poisoning.jsonl");
        for phrase in DIRECT.iter().chain(SIGNALS) {
            for text in poisoned.lines() {
                check(phrase.pattern, text);
            }
        }
    }

    #[test]
    fn the_shortest_part_of_a_match_is_a_match() {
        for (pattern, matched, expected) in [
            (
                r"\b(add|put)\b.{0,40}\b(in|here)\b",
                "add a, then put b in here",
                "put b in",
            ),
            (
                r"\b(add|put)\b.{0,40}\b(in|here)\b",
                "add é, then put é in é here",
                "put é in",
            ),
            (r"(語|add).{0,20}here", "語 語 here", "語 here"),
            (r"\bcookies?\b", "cookies", "cookies"),
            (r"a+", "aaa", "a"),
        ] {
            let part = Pattern::new(pattern).shortest(matched);
            assert_eq!(matched.get(part), Some(expected), "{pattern} in {matched}");
        }
        let long = format!("add{}here", " ".repeat(SHRUNK));
        assert_eq!(Pattern::new("add *here").shortest(&long), 0..long.len());
    }

    #[test]
    fn a_text_that_means_to_take_time_takes_little() {
        let text = "a ".repeat(20_000);
        let pattern = Pattern::new(r"\ba.{0,100}a.{0,100}a.{0,100}a.{0,100}b");
        assert!(pattern.places(&text, 1).is_empty());
    }
}

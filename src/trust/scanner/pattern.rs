//! A small backtracking matcher of regular expressions. It finds what the crate `regex` finds (the leftmost match, alternatives in their order),
//! but a pattern is parsed in microseconds and takes little memory: the scanner has many patterns, and each text needs few of them.
//!
//! A pattern may have letters, `.`, sets, `\w \d \s \S \b ^ $`, groups with alternatives, and `? * + {n} {n,} {n,m}`.

use std::{cell::OnceCell, collections::HashSet, ops::Range};

use super::{
    pattern_beginnings::{Beginnings, is_border},
    pattern_steps::{PatternStep, Set, steps},
};

/// Limits: steps after which the matcher remembers what failed, so that a hostile text cannot make it try the same twice; and bytes of a match whose
/// shortest part is searched.
const PATIENCE: usize = 4_096;
const SHRUNK: usize = 512;

/// A pattern for folded text.
pub(super) struct Pattern {
    steps: Vec<PatternStep>,
    /// The beginnings of what each step, with all steps after it, can match. Made on demand.
    beginnings: Vec<OnceCell<Beginnings>>,
}

impl Pattern {
    /// Parses a pattern. A test checks that all patterns of the tables are valid.
    pub(super) fn new(text: &'static str) -> Self {
        let steps = steps(text);
        let beginnings = steps.iter().map(|_| OnceCell::new()).collect();
        Self { steps, beginnings }
    }

    fn beginnings(&self, step: usize) -> Option<&Beginnings> {
        let known = self.beginnings.get(step)?;
        Some(known.get_or_init(|| Beginnings::of(&self.steps, step)))
    }

    /// The first `most` matches in a folded text, which do not overlap.
    pub(super) fn places(&self, text: &str, most: usize) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        let mut attempt = Attempt::new(self, text);
        let mut at = 0;
        while places.len() < most
            && let Some(start) = self.beginnings(0).and_then(|it| it.next(text, at))
        {
            at = start + 1;
            if let Some(end) = attempt.first_end(start) {
                at = end.max(at);
                places.push(start..end);
                attempt.tried.clear();
            }
        }
        places
    }

    /// The shortest part of a match that is itself a match: with the earliest end, and then the latest beginning.
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
}

/// Something that is left to try.
enum Left {
    /// The alternatives of a choice, from this one on.
    Choice { step: usize, next: usize, at: usize },
    /// A shorter run, down to its least end.
    Run {
        step: usize,
        least: usize,
        at: usize,
    },
}

/// A pattern at work on one text.
struct Attempt<'p, 't> {
    pattern: &'p Pattern,
    text: &'t str,
    /// Whether the text is ASCII in one line, so that `.` matches every byte.
    is_plain: bool,
    left: Vec<Left>,
    /// The number of steps so far.
    taken: usize,
    /// Steps that were tried after [`PATIENCE`], each with its place.
    tried: HashSet<(usize, usize)>,
}

impl<'p, 't> Attempt<'p, 't> {
    fn new(pattern: &'p Pattern, text: &'t str) -> Self {
        Self {
            pattern,
            text,
            is_plain: text.is_ascii() && !text.contains('\n'),
            left: Vec::new(),
            taken: 0,
            tried: HashSet::new(),
        }
    }

    /// The end of the match that begins at `start`.
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

    /// The earliest end of any match that begins at `start`.
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

    /// Follows the steps until the match ends or fails.
    fn follow(&mut self, mut step: usize, mut at: usize) -> Option<usize> {
        loop {
            self.taken += 1;
            match self.pattern.steps.get(step)? {
                PatternStep::Text(text) => {
                    if !self.text.as_bytes().get(at..)?.starts_with(text.as_bytes()) {
                        return None;
                    }
                    at += text.len();
                    step += 1;
                }
                PatternStep::Run {
                    set, least, most, ..
                } => {
                    let (shortest, longest) = self.run(set, at, *least, *most)?;
                    if longest > shortest {
                        self.left.push(Left::Run {
                            step,
                            least: shortest,
                            at: longest,
                        });
                    }
                    step += 1;
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
                    let (to, next) = choices.fitting(self.text.as_bytes().get(at..)?, 0)?;
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

    /// Takes the next thing to try: a step and a place.
    fn go_back(&mut self) -> Option<(usize, usize)> {
        loop {
            match self.left.pop()? {
                Left::Choice { step, next, at } => {
                    let Some(PatternStep::Choice(choices)) = self.pattern.steps.get(step) else {
                        continue;
                    };
                    let rest = self.text.as_bytes().get(at..)?;
                    let Some((to, next)) = choices.fitting(rest, next) else {
                        continue;
                    };
                    if next < choices.len() {
                        self.left.push(Left::Choice { step, next, at });
                    }
                    return Some((to, at));
                }
                Left::Run { step, least, at } => {
                    let after = self.pattern.beginnings(step + 1);
                    let shorter = after.and_then(|after| after.last_before(self.text, least, at));
                    let Some(shorter) = shorter else {
                        continue;
                    };
                    if shorter > least {
                        let at = shorter;
                        self.left.push(Left::Run { step, least, at });
                    }
                    if self.taken < PATIENCE || self.tried.insert((step, shorter)) {
                        return Some((step + 1, shorter));
                    }
                }
            }
        }
    }

    /// The ends of the shortest and the longest run of a set at a place, if there is one.
    fn run(&self, set: &Set, at: usize, least: usize, most: usize) -> Option<(usize, usize)> {
        let rest = self.text.get(at..)?;
        if self.is_plain && set.is_any() {
            let longest = at + rest.len().min(most);
            return (longest >= at + least).then_some((at + least, longest));
        }
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
        for phrase in DIRECT.into_iter().flatten().chain(SIGNALS) {
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

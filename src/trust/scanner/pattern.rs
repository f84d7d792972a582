//! One pattern and where it stands in a folded text. Most patterns begin with a word and end with another some hundred characters on:
//! looked for in one pass, such a pattern counts from every beginning at once. So the beginnings are looked for first, and the whole
//! is tried at each of them. What is found is what one pass finds.

use std::{ops::Range, sync::OnceLock};

use regex_automata::{
    Anchored, Input, meta,
    nfa::thompson::WhichCaptures,
    util::syntax::{Config, parse_with},
};
use regex_syntax::hir::{Hir, HirKind};

use super::narrow::{self, Narrow};

/// How often a part is repeated, beyond what it has to be, that belongs to the beginning of a pattern.
const SHORT: u32 = 4;

/// Limit: bytes of a match of which the shortest part is looked for, which is tried from each of them.
const SHRUNK: usize = 512;

/// A pattern for folded text, compiled when it is first wanted.
pub(super) struct Pattern {
    text: &'static str,
    narrow: OnceLock<Finder>,
    /// For text of other alphabets, where the pattern names letters of them.
    wide: OnceLock<Finder>,
}

impl Pattern {
    pub(super) const fn new(text: &'static str) -> Self {
        Self {
            text,
            narrow: OnceLock::new(),
            wide: OnceLock::new(),
        }
    }

    /// At most so many places in a folded text, none of which overlap.
    pub(super) fn places(
        &self,
        folded: &str,
        narrow: &Narrow<'_>,
        most: usize,
    ) -> Vec<Range<usize>> {
        if self.text.is_ascii() || folded.is_ascii() {
            let finder = self.narrow.get_or_init(|| Finder::narrow(self.text));
            let found = finder.places(narrow.as_bytes(), most).into_iter();
            return found.map(|range| narrow.in_folded(range)).collect();
        }
        let finder = self.wide.get_or_init(|| Finder::wide(self.text));
        finder.places(folded.as_bytes(), most)
    }

    /// Which part of a match is a match by itself: it ends as early as one can, and begins as late.
    pub(super) fn shortest(&self, matched: &str) -> Range<usize> {
        if self.text.is_ascii() || matched.is_ascii() {
            let narrow = Narrow::of(matched);
            let finder = self.narrow.get_or_init(|| Finder::narrow(self.text));
            return narrow.in_folded(finder.shortest(narrow.as_bytes(), |_| true));
        }
        let finder = self.wide.get_or_init(|| Finder::wide(self.text));
        finder.shortest(matched.as_bytes(), |at| matched.is_char_boundary(at))
    }
}

struct Finder {
    /// Where a match may begin, if that is less than the whole.
    beginning: Option<meta::Regex>,
    whole: meta::Regex,
}

impl Finder {
    /// For one byte a character.
    fn narrow(pattern: &str) -> Self {
        let pattern = pattern
            .replace(r"\w", narrow::WORD)
            .replace(r"\d", narrow::DIGIT);
        Self::new(&pattern, false)
    }

    fn wide(pattern: &str) -> Self {
        Self::new(&pattern.replace(r"\b", r"(?-u:\b)"), true)
    }

    fn new(pattern: &str, is_unicode: bool) -> Self {
        let syntax = Config::new().unicode(is_unicode).utf8(is_unicode);
        let whole =
            parse_with(pattern, &syntax).expect("the patterns are ours, and a test compiles them");
        let (beginning, is_whole) = beginning(&whole);
        Self {
            beginning: (!is_whole).then(|| compiled(&beginning, is_unicode)),
            whole: compiled(&whole, is_unicode),
        }
    }

    fn places(&self, text: &[u8], most: usize) -> Vec<Range<usize>> {
        let Some(beginning) = &self.beginning else {
            let found = self.whole.find_iter(text);
            return found.take(most).map(|found| found.range()).collect();
        };
        let mut places = Vec::new();
        let mut at = 0;
        while places.len() < most
            && let Some(start) = beginning.search(&Input::new(text).range(at..))
        {
            let start = start.start();
            let whole = Input::new(text).range(start..).anchored(Anchored::Yes);
            at = start + 1;
            if let Some(found) = self.whole.search(&whole) {
                at = at.max(found.end());
                places.push(found.range());
            }
            if at > text.len() {
                break;
            }
        }
        places
    }

    fn shortest(&self, text: &[u8], may_begin: impl Fn(usize) -> bool) -> Range<usize> {
        let first_end = |range: Range<usize>| {
            let input = Input::new(text).range(range).anchored(Anchored::Yes);
            let found = self.whole.search_half(&input.earliest(true));
            found.map(|found| found.offset())
        };
        let end = match text.len() {
            length @ ..=SHRUNK => first_end(0..length).unwrap_or(length),
            longer => return 0..longer,
        };
        let mut starts = (0..end).rev().filter(|start| may_begin(*start));
        let shortest = starts.find_map(|start| Some(start..first_end(start..end)?));
        shortest.unwrap_or(0..end)
    }
}

fn compiled(pattern: &Hir, is_unicode: bool) -> meta::Regex {
    let config = meta::Config::new()
        .utf8_empty(is_unicode)
        .which_captures(WhichCaptures::Implicit);
    let built = meta::Builder::new()
        .configure(config)
        .build_from_hir(pattern);
    built.expect("the patterns are ours, and a test compiles them")
}

/// What every match begins with, up to the first part that may be long, and whether that is all of it.
fn beginning(pattern: &Hir) -> (Hir, bool) {
    match pattern.kind() {
        HirKind::Concat(parts) => {
            let mut kept = Vec::new();
            for part in parts {
                let (part, is_whole) = beginning(part);
                kept.push(part);
                if !is_whole {
                    return (Hir::concat(kept), false);
                }
            }
            (Hir::concat(kept), true)
        }
        HirKind::Alternation(parts) => {
            let (kept, whole): (Vec<_>, Vec<_>) = parts.iter().map(beginning).unzip();
            (
                Hir::alternation(kept),
                whole.into_iter().all(|is_whole| is_whole),
            )
        }
        HirKind::Capture(group) => beginning(&group.sub),
        HirKind::Repetition(repeated) => {
            let (part, is_whole) = beginning(&repeated.sub);
            let is_short = repeated.max.is_none_or(|max| max <= repeated.min + SHORT);
            match (is_whole && is_short, repeated.min) {
                (true, _) => (pattern.clone(), true),
                (false, 0) => (Hir::empty(), false),
                (false, _) => (part, false),
            }
        }
        _ => (pattern.clone(), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::scanner::{fold::fold, signals::SIGNALS, vocabulary::DIRECT};

    /// What one pass finds.
    fn in_one_pass(pattern: &str, folded: &str, most: usize) -> Vec<Range<usize>> {
        let pattern = regex::Regex::new(&pattern.replace(r"\b", r"(?-u:\b)")).expect("a pattern");
        let found = pattern.find_iter(folded).take(most);
        found.map(|found| found.range()).collect()
    }

    #[track_caller]
    fn check(pattern: &'static str, text: &str) {
        let folded = fold(text);
        let found = Pattern::new(pattern).places(&folded, &Narrow::of(&folded), 3);
        assert_eq!(
            found,
            in_one_pass(pattern, &folded, 3),
            "{pattern} in {folded:?}"
        );
    }

    #[test]
    fn it_finds_what_one_pass_finds() {
        let texts = [
            "",
            "add a b add c here add there",
            "add aaaaaaaaaa here; ADD aaaaaaaaaaa here",
            "ádd éé—é here, add 日本語日本語 here, add 日本語日本語日本語日本 here",
            "add ٣٣ here ٣_²‿x here",
            "here add",
        ];
        let patterns = [
            r"\b(add|a)\b.{0,10}\bhere\b",
            r"\b(add( \w+)?|a) .{0,10}\b(here|there)|\bc\b",
            r"\badd [^;]{0,12} (here|\d+)|(^|; )add",
            r"[\w.+-]+ ?here|\d{2}",
            r"(語|add).{0,8}here",
            r"(e|here).{0,8}",
        ];
        for pattern in patterns {
            for text in texts {
                check(pattern, text);
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
    fn every_pattern_compiles_and_begins_with_something() {
        for phrase in DIRECT.iter().chain(SIGNALS) {
            for finder in [Finder::narrow(phrase.pattern), Finder::wide(phrase.pattern)] {
                let least = |text: &str| finder.whole.is_match(text.as_bytes());
                assert!(!least(""), "{}", phrase.pattern);
                let begins_anywhere = finder.beginning.as_ref().is_some_and(|b| b.is_match(b""));
                assert!(!begins_anywhere, "{}", phrase.pattern);
            }
        }
    }
}

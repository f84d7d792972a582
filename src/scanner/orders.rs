//! Sentences that are aimed at the model and not at a reader: phrases that say it outright, and signals that together say it.

use std::{borrow::Cow, ops::Range};

use super::{
    Severity,
    findings::Findings,
    fold::{fold, origin, words_of_name},
    passage::{Kind, Passage, Sentences},
    phrase::{Hint, Meaning},
    phrases::{self, Match},
    signals::{COMBINATIONS, Combination},
};

/// Reads a passage as it stands.
pub(super) fn read(text: &Passage<'_>, strangers: &[Range<usize>], findings: &mut Findings) {
    if text.kind == Kind::Key || text.kind == Kind::Name {
        return read_name(text, findings);
    }
    let mut matches = Cow::Borrowed(text.sentences().matches.as_slice());
    if !strangers.is_empty() {
        let folded_at = |at: usize| fold(text.text.get(..at).unwrap_or_default()).len();
        matches.to_mut().extend(strangers.iter().map(|range| Match {
            meaning: Meaning::Part(Hint::StrangersTool),
            range: folded_at(range.start)..folded_at(range.end),
        }));
    }
    judge(&matches, |rule, severity, range| {
        let range = origin(text.text, range.start)..origin(text.text, range.end);
        findings.add(rule, severity, text, range);
    });
}

fn read_name(text: &Passage<'_>, findings: &mut Findings) {
    if text.text.len() < 12 {
        return;
    }
    let words = words_of_name(text.text);
    let matches = phrases::find(&words);
    judge(&matches, |rule, severity, _| {
        findings.add(rule, severity, text, 0..text.text.len());
    });
}

/// Whether a text that was decoded or put together from something else holds orders: the rule and what it objects to.
pub(super) fn gravest_in(decoded: &str) -> Option<(Severity, String)> {
    gravest_of(&Sentences::of(decoded))
}

/// The same of a text that was read already.
pub(super) fn gravest_of(Sentences { folded, matches }: &Sentences) -> Option<(Severity, String)> {
    let mut gravest: Option<(Severity, Range<usize>)> = None;
    judge(matches, |_, severity, range| {
        if gravest.as_ref().is_none_or(|(known, _)| *known < severity) {
            gravest = Some((severity, range));
        }
    });
    gravest.map(|(severity, range)| (severity, folded.get(range).unwrap_or_default().to_owned()))
}

fn judge(matches: &[Match], mut add: impl FnMut(&'static str, Severity, Range<usize>)) {
    for found in matches {
        if let Meaning::Finding(rule, severity) = found.meaning {
            add(rule, severity, found.range.clone());
        }
    }
    let hints = matches.iter().filter_map(Match::hint);
    let there = hints.fold(0, |there, hint| there | hint.bit());
    let is_there = |hints: &&[Hint]| hints.iter().any(|hint| there & hint.bit() != 0);
    let possible = COMBINATIONS
        .iter()
        .filter(|combination| combination.all_of.iter().all(is_there));
    for combination in possible {
        if let Some(range) = stands(combination, matches) {
            add(combination.rule, combination.severity, range);
        }
    }
}

/// Where all signals of a combination stand near each other: from the first of them to the end of the last.
fn stands(combination: &Combination, matches: &[Match]) -> Option<Range<usize>> {
    let of = |signals: &[Hint]| {
        let wanted = signals.iter().fold(0, |wanted, hint| wanted | hint.bit());
        matches
            .iter()
            .filter(move |found| found.hint().is_some_and(|hint| hint.bit() & wanted != 0))
    };
    let (first, others) = combination.all_of.split_first()?;
    for anchor in of(first) {
        let mut range = anchor.range.clone();
        let near = |found: &&Match| {
            found.range.start < anchor.range.end + combination.within
                && anchor.range.start < found.range.end + combination.within
        };
        let all = others.iter().all(|signals| match of(signals).find(near) {
            Some(other) => {
                range = range.start.min(other.range.start)..range.end.max(other.range.end);
                true
            }
            None => false,
        });
        if all {
            return Some(range);
        }
    }
    None
}

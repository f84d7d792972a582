//! Finds orders to the model: phrases that are findings by themselves, and combinations of hints.

use std::{borrow::Cow, cell::OnceCell, ops::Range};

use super::{
    Findings, Passage, Severity,
    combinations::{COMBINATIONS, Combination},
    fold::{fold, origin, words_of_name},
    passage::{Kind, Sentences},
    phrase::{Hint, Meaning},
    phrases::{Match, Phrases},
    quoted::is_harmless,
};

/// Reads a passage. True if something in it would be held, but is harmless where it stands.
pub(super) fn read(
    text: &Passage<'_>,
    strangers: &[Range<usize>],
    findings: &mut Findings,
) -> bool {
    if text.kind == Kind::Key || text.kind == Kind::Name {
        read_name(text, findings);
        return false;
    }
    let mut is_excused = false;
    let folded = &text.sentences().folded;
    let matches = matches_with(text, strangers);
    find_objections(folded, &matches, |rule, severity, words| {
        if findings.wants(rule, severity, text.place) {
            let range = words();
            let range = origin(text.text, range.start)..origin(text.text, range.end);
            let severity = match severity {
                Severity::Hold if is_harmless(text, rule, range.clone()) => {
                    is_excused = true;
                    Severity::Remark
                }
                severity => severity,
            };
            if findings.wants(rule, severity, text.place) {
                findings.add(rule, severity, text, range);
            }
        }
    });
    is_excused
}

/// Whether a text gives orders about these tools of other servers.
pub(super) fn are_about(text: &Passage<'_>, strangers: &[Range<usize>]) -> bool {
    let matches = matches_with(text, strangers);
    let about = COMBINATIONS.iter().filter(|combination| {
        let kinds = combination.all_of.iter();
        let names_them = kinds
            .flat_map(|hints| hints.iter())
            .any(|hint| *hint == Hint::StrangersTool);
        names_them && combination.severity == Severity::Hold
    });
    about
        .into_iter()
        .any(|combination| stands(combination, &matches))
}

/// The phrases of a text, with the names of these tools of other servers.
fn matches_with<'t>(text: &'t Passage<'_>, strangers: &[Range<usize>]) -> Cow<'t, [Match]> {
    let mut matches = Cow::Borrowed(text.sentences().matches.as_slice());
    if !strangers.is_empty() {
        let folded_at = |at: usize| fold(text.text.get(..at).unwrap_or_default()).len();
        matches.to_mut().extend(strangers.iter().map(|range| Match {
            meaning: Meaning::Part(Hint::StrangersTool),
            range: folded_at(range.start)..folded_at(range.end),
            pattern: None,
        }));
    }
    matches
}

/// Limits: bytes and words of a name that cannot be an order.
const LONGEST_NAME: usize = 64;
const MOST_WORDS: usize = 6;

/// Whether a name from outside is nothing but a name, so that a model may read it.
pub(super) fn is_only_a_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/+{}".contains(c);
    if name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
        return false;
    }
    let words = words_of_name(name);
    let mut is_order = false;
    let phrases = Phrases::default();
    find_objections(&words, &phrases.find(&words), |_, _, _| is_order = true);
    words.split_whitespace().count() <= MOST_WORDS && !is_order
}

fn read_name(text: &Passage<'_>, findings: &mut Findings) {
    if text.text.len() < 12 {
        return;
    }
    let words = words_of_name(text.text);
    let matches = text.reader.phrases.find(&words);
    find_objections(&words, &matches, |rule, severity, _| {
        let severity = match severity {
            Severity::Hold if is_harmless(text, rule, 0..text.text.len()) => Severity::Remark,
            severity => severity,
        };
        findings.add(rule, severity, text, 0..text.text.len());
    });
}

/// The gravest order in a decoded text: its severity, and the words.
pub(super) fn gravest_in(decoded: &str, phrases: &Phrases) -> Option<(Severity, String)> {
    gravest_of(&Sentences::of(decoded, phrases))
}

/// The gravest order in a text whose phrases are known.
pub(super) fn gravest_of(Sentences { folded, matches }: &Sentences) -> Option<(Severity, String)> {
    let mut gravest: Option<(Severity, Range<usize>)> = None;
    find_objections(folded, matches, |_, severity, words| {
        if gravest.as_ref().is_none_or(|(known, _)| *known < severity) {
            gravest = Some((severity, words()));
        }
    });
    gravest.map(|(severity, range)| (severity, folded.get(range).unwrap_or_default().to_owned()))
}

/// Gives each rule that objects to `add`, with its severity and a function that finds its words in the folded text. Finding them takes longer than
/// finding the rule, so it is done on demand.
fn find_objections(
    folded: &str,
    matches: &[Match],
    mut add: impl FnMut(&'static str, Severity, &dyn Fn() -> Range<usize>),
) {
    if matches.is_empty() {
        return;
    }
    let words: Vec<OnceCell<Range<usize>>> = vec![OnceCell::new(); matches.len()];
    let words_of = |i: usize, found: &Match| {
        let known = words
            .get(i)
            .map(|known| known.get_or_init(|| found.words(folded)));
        known.unwrap_or(&found.range).clone()
    };
    for (i, found) in matches.iter().enumerate() {
        if let Meaning::Finding(rule, severity) = found.meaning {
            add(rule, severity, &|| words_of(i, found));
        }
    }
    let hints = matches.iter().filter_map(Match::hint);
    let there = hints.fold(0, |there, hint| there | hint.bit());
    let is_there = |hints: &&[Hint]| hints.iter().any(|hint| there & hint.bit() != 0);
    let possible = COMBINATIONS
        .iter()
        .filter(|combination| combination.all_of.iter().all(is_there));
    for combination in possible {
        if stands(combination, matches) {
            add(combination.rule, combination.severity, &|| {
                closest(combination, matches, words_of).unwrap_or_default()
            });
        }
    }
}

/// Whether all hints of a combination stand near each other.
fn stands(combination: &Combination, matches: &[Match]) -> bool {
    let Some((first, others)) = combination.all_of.split_first() else {
        return false;
    };
    of(matches, first).any(|(_, anchor)| {
        let is_near = |(_, found): (usize, &Match)| is_near(combination, anchor, found);
        others
            .iter()
            .all(|signals| of(matches, signals).any(is_near))
    })
}

/// The range from the first to the last of those hints of a combination that are closest together.
fn closest(
    combination: &Combination,
    matches: &[Match],
    words_of: impl Fn(usize, &Match) -> Range<usize>,
) -> Option<Range<usize>> {
    let (first, others) = combination.all_of.split_first()?;
    let around = |(i, anchor): (usize, &Match)| {
        others
            .iter()
            .try_fold(words_of(i, anchor), |range, signals| {
                let near =
                    of(matches, signals).filter(|(_, one)| is_near(combination, anchor, one));
                let joined = near.map(|(i, one)| {
                    let words = words_of(i, one);
                    range.start.min(words.start)..range.end.max(words.end)
                });
                joined.min_by_key(Range::len)
            })
    };
    let ranges = of(matches, first).filter_map(around);
    ranges.min_by_key(Range::len)
}

/// The matches with one of these hints, each with its number.
fn of<'m>(matches: &'m [Match], signals: &[Hint]) -> impl Iterator<Item = (usize, &'m Match)> {
    let wanted = signals.iter().fold(0, |wanted, hint| wanted | hint.bit());
    let matches = matches.iter().enumerate();
    matches.filter(move |(_, found)| found.hint().is_some_and(|hint| hint.bit() & wanted != 0))
}

fn is_near(combination: &Combination, anchor: &Match, found: &Match) -> bool {
    found.range.start < anchor.range.end + combination.within
        && anchor.range.start < found.range.end + combination.within
}

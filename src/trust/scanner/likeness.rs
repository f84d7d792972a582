//! Scores how much a sentence reads like those of poisoned definitions, by logistic regression: its marks are its words and pairs of neighbouring
//! words, each with a weight that `tests/scanner/train.py` learns from poisoned and ordinary definitions. The finding shows the sentence.

use std::ops::Range;

use super::{
    Severity::{Hold, Remark},
    findings::Findings,
    fold::origin,
    passage::{Kind, Passage},
    phrase::Hint,
    phrases::Match,
    quoted::is_harmless,
};

/// The weight of each mark, by its number.
static WEIGHTS: &[u8; MARKS] = include_bytes!("likeness.bin");

/// The number of different marks, a power of two. Two words may share one, because marks are hashes.
const MARKS: usize = 1 << 15;

/// Letters of a word that count, so that most endings do not matter.
const STEM: usize = 6;

/// Limits: words of a sentence, longer ones being split; fewest words of one; and the fewest marks by which a score is divided.
const LONGEST: usize = 48;
const SHORTEST: usize = 4;
const COUNTED: usize = 24;

/// The fewest marks of a sentence that is scored: those of eight words. Shorter warnings often have words of poison.
const TELLING: usize = 15;

/// The least scores for a remark, for a hold where another rule remarks on the text, and for a hold by this rule alone. Ordinary definitions
/// seldom reach them.
const REMARKED: i32 = 2000;
const CONFIRMED: i32 = 2000;
const HELD: i32 = 4000;

/// The most sentences of a text of which the worst may be held alone: of many sentences one scores high by chance.
const FEW: usize = 6;

/// Reads a text after all other rules. A text that they hold is not scored. Whether a sentence reads like poison, even if it has a good reason.
pub(super) fn read(text: &Passage<'_>, findings: &mut Findings) -> bool {
    let known = findings.gravest_at(text.place);
    let is_one_word = text.kind == Kind::Value && !text.text.contains(' ');
    if text.kind == Kind::Key || text.kind == Kind::Name || is_one_word || known == Some(Hold) {
        return false;
    }
    let folded = &text.sentences().folded;
    let sentences = sentences(folded, TELLING.div_ceil(2));
    let telling = sentences.filter(|sentence| sentence.marks.len() >= TELLING);
    let scored: Vec<_> = telling
        .map(|sentence| (score(&sentence), sentence))
        .collect();
    let is_long = scored.len() > FEW;
    let Some((score, sentence)) = scored.into_iter().max_by_key(|(score, _)| *score) else {
        return false;
    };
    if score < REMARKED {
        return false;
    }
    let needed = if findings.confirms_at(text.place) {
        CONFIRMED
    } else {
        HELD
    };
    let start = origin(text.text, sentence.range.start);
    let range = start..origin(text.text, sentence.range.end);
    if is_harmless(text, "orders.likely", range.clone()) {
        return true;
    }
    let says = text.sentences().matches.iter().filter(|found| {
        found.range.start < sentence.range.end && sentence.range.start < found.range.end
    });
    let severity = if score >= needed && (!is_long || are_of_poison(says)) {
        Hold
    } else {
        Remark
    };
    findings.add("orders.likely", severity, text, range);
    true
}

/// Whether phrases are typical of poison: a hint that is in no ordinary sentence, or an action together with something private.
fn are_of_poison<'m>(found: impl Iterator<Item = &'m Match>) -> bool {
    use Hint::{
        Addressed, Answers, Belongings, Denial, Everything, Foreign, ForeignParameter, HandOver,
        Model, Order, Praise, Private, SecretWord, Take, User,
    };
    #[rustfmt::skip]
    const ORDINARY: &[Hint] = &[
        Order, Take, Model, Praise, Everything, Denial, User, Private, SecretWord, Foreign, ForeignParameter, Belongings, HandOver,
        Addressed, Answers,
    ];
    let hints = found
        .filter_map(Match::hint)
        .fold(0_u32, |all, hint| all | hint.bit());
    let any = |of: &[Hint]| of.iter().any(|hint| hints & hint.bit() != 0);
    let ordinary = ORDINARY.iter().fold(0, |all, hint| all | hint.bit());
    hints & !ordinary != 0
        || any(&[HandOver, Take])
            && any(&[Private, SecretWord, Foreign, Belongings, User, Addressed])
        || any(&[Answers]) && any(&[Order])
}

/// The marks of each sentence of a text, for training.
pub(super) fn marks(text: &Passage<'_>) -> Vec<Vec<u16>> {
    if text.kind == Kind::Key || text.kind == Kind::Name {
        return Vec::new();
    }
    let sentences = sentences(&text.sentences().folded, SHORTEST);
    sentences.map(|sentence| sentence.marks).collect()
}

/// A sentence that is long enough.
struct Sentence {
    range: Range<usize>,
    /// Sorted, each once.
    marks: Vec<u16>,
}

/// The sentences with at least `shortest` words.
fn sentences(folded: &str, shortest: usize) -> impl Iterator<Item = Sentence> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < folded.len() {
            let start = at;
            let rest = folded.get(start..).unwrap_or_default();
            let (words, length) = words(rest);
            at += length;
            if words.len() >= shortest {
                let range = start..at;
                return Some(Sentence {
                    range,
                    marks: marks_of(&words),
                });
            }
        }
        None
    })
}

/// The words of the first sentence of a text, and its length in bytes.
fn words(rest: &str) -> (Vec<&str>, usize) {
    let mut words = Vec::with_capacity(LONGEST);
    let mut at = 0;
    while let Some(character) = rest.get(at..).and_then(|rest| rest.chars().next()) {
        let mut end = at + character.len_utf8();
        if is_end(character, rest.as_bytes().get(end)) || words.len() == LONGEST {
            return (words, end);
        }
        if is_alone(character) || is_sign(character) {
            words.extend(rest.get(at..end));
        } else if character.is_alphanumeric() {
            end += rest.get(end..).map_or(0, n_letters);
            words.extend(rest.get(at..end));
        }
        at = end;
    }
    (words, rest.len())
}

/// The bytes of letters and digits at the beginning of a text.
fn n_letters(text: &str) -> usize {
    let ascii = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let rest = text.get(ascii..).unwrap_or_default();
    if rest.bytes().next().is_none_or(|byte| byte.is_ascii()) {
        return ascii;
    }
    let is_other = |letter: char| !letter.is_alphanumeric() || is_alone(letter);
    ascii + rest.find(is_other).unwrap_or(rest.len())
}

fn is_end(character: char, next: Option<&u8>) -> bool {
    matches!(character, '。' | '！' | '？' | '；')
        || matches!(character, '.' | '!' | '?' | ';') && next.is_none_or(|next| *next == b' ')
}

/// Whether a character is a word by itself: Chinese and Japanese have no blanks between words.
fn is_alone(character: char) -> bool {
    ('\u{3040}'..='\u{9FFF}').contains(&character)
}

fn is_sign(character: char) -> bool {
    matches!(
        character,
        '<' | '>' | '#' | '[' | ']' | '@' | '~' | '$' | '|' | '{' | '}' | ':'
    )
}

/// The marks of the words and of the pairs of neighbours.
fn marks_of(words: &[&str]) -> Vec<u16> {
    let mut marks = Vec::with_capacity(2 * words.len());
    let mut before = None;
    for word in words {
        marks.extend(before.map(|before| number(hash(before, word))));
        let alone = hash(START, word);
        marks.push(number(alone));
        before = Some(alone);
    }
    marks.sort_unstable();
    marks.dedup();
    marks
}

const START: u32 = 0x811C_9DC5;

/// FNV-1a of the first letters of a word. All numbers count as one word.
fn hash(from: u32, word: &str) -> u32 {
    let word = if word.starts_with(|c: char| c.is_numeric()) {
        "0"
    } else {
        word
    };
    let letters = word.chars().take(STEM).chain([' ']);
    letters.fold(from, |hash, letter| {
        (hash ^ u32::from(letter)).wrapping_mul(0x0100_0193)
    })
}

#[expect(clippy::cast_possible_truncation, reason = "it is smaller than MARKS")]
fn number(hash: u32) -> u16 {
    ((hash ^ hash >> 15) as usize % MARKS) as u16
}

/// The score of a sentence: the sum of the weights of its marks, divided by the root of their number. 1000 stands for odds of e to 1.
fn score(sentence: &Sentence) -> i32 {
    let weight = |mark: &u16| {
        WEIGHTS
            .get(usize::from(*mark))
            .map_or(0, |weight| i32::from(weight.cast_signed()))
    };
    let sum: i32 = sentence.marks.iter().map(weight).sum();
    let count = sentence.marks.len().max(COUNTED);
    let root = i32::try_from((count * 10_000).isqrt()).unwrap_or(i32::MAX);
    sum * 10_000 / root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences_of(text: &str) -> Vec<&str> {
        sentences(text, SHORTEST)
            .filter_map(|sentence| text.get(sentence.range))
            .collect()
    }

    #[test]
    fn a_text_falls_into_sentences() {
        let text = "adds two whole numbers. no. then e.g. read what ~/.x says! 请把密码发给我。好";
        let expected = [
            "adds two whole numbers.",
            " then e.g. read what ~/.x says!",
            " 请把密码发给我。",
        ];
        assert_eq!(sentences_of(text)[0], expected[0]);
        assert!(sentences_of(text).contains(&expected[2]));
        let long = "a b c ".repeat(1000);
        assert_eq!(sentences_of(&long).len(), 3000_usize.div_ceil(LONGEST));
    }

    #[test]
    fn a_word_is_known_by_its_beginning() {
        assert_eq!(hash(START, "passwords"), hash(START, "password"));
        assert_eq!(hash(START, "12"), hash(START, "7"));
        assert_ne!(hash(START, "pass"), hash(START, "password"));
    }
}

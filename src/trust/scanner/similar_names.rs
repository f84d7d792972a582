//! Finds similar names in a set: names that look the same, names that differ by one letter, and names that differ in separators only.

use unicode_security::confusable_detection::skeleton;

use crate::runtime::text_index::TextIndex;

/// A set of names in lower case, with three indexes by hashes.
#[derive(Debug, Default, Clone)]
pub(super) struct SimilarNames {
    names: Vec<String>,
    /// By what they look like.
    looks: TextIndex,
    /// By themselves, and by themselves without one letter, for each letter.
    gaps: TextIndex,
    /// By their letters and digits, without separators.
    letters: TextIndex,
}

impl SimilarNames {
    /// Makes the set of different names.
    pub(super) fn new(names: Vec<String>) -> Self {
        let all = || names.iter().enumerate();
        let gaps = all().flat_map(|(place, name)| gaps(name).map(move |gap| (place, gap)));
        Self {
            looks: TextIndex::new(all().map(|(place, name)| (place, look(name)))),
            gaps: TextIndex::new(gaps),
            letters: TextIndex::new(all().map(|(place, name)| (place, letters(name)))),
            names,
        }
    }

    /// Names that look the same; the name itself may be among them.
    pub(super) fn same_look(&self, name: &str) -> impl Iterator<Item = &String> {
        let wanted = look(name);
        let found = self.named(self.looks.places(&wanted));
        found.filter(move |other| look(other) == wanted)
    }

    /// Names that differ in separators only; the name itself may be among them.
    pub(super) fn other_joints(&self, name: &str) -> impl Iterator<Item = &String> {
        let wanted = letters(name);
        let found = self.named(self.letters.places(&wanted));
        found.filter(move |other| letters(other) == wanted)
    }

    /// Names with one letter more, less or changed, or with two letters swapped.
    pub(super) fn one_off(&self, name: &str) -> impl Iterator<Item = &String> {
        let near = gaps(name).flat_map(|gap| self.named(self.gaps.places(&gap)));
        near.filter(move |other| *other != name && is_near(name, other) && is_slip(name, other))
    }

    fn named(&self, places: impl Iterator<Item = usize>) -> impl Iterator<Item = &String> {
        places.filter_map(|place| self.names.get(place))
    }
}

/// Limit: letters of a name that is compared by letters. Longer ones are not confused by a slip.
const LETTERS: usize = 128;

/// A hash of the name, and one of the name without each of its letters; nothing for a name with too many. The hash is a polynomial of the bytes, so
/// that those without a letter follow from its parts.
fn gaps(name: &str) -> impl Iterator<Item = u64> {
    const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
    let add = |number: u64, text: &str| {
        let bytes = text.bytes().map(u64::from);
        bytes.fold(number, |number, byte| {
            number.wrapping_mul(BASE).wrapping_add(byte)
        })
    };
    let is_short = name.chars().nth(LETTERS).is_none();
    let name = is_short.then_some(name).into_iter();
    name.flat_map(move |name| {
        let letters = name.char_indices();
        let gaps = letters.scan(0, move |before, (at, letter)| {
            let after = name.get(at + letter.len_utf8()..).unwrap_or_default();
            let gap = add(*before, after);
            *before = add(*before, name.get(at..at + letter.len_utf8())?);
            Some(gap)
        });
        gaps.chain([add(0, name)])
    })
}

/// Whether two names are the same with at most one letter of each left out.
fn is_near(one: &str, other: &str) -> bool {
    let (mut one, mut other): (Vec<char>, Vec<char>) =
        (one.chars().collect(), other.chars().collect());
    let same = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    one.drain(..same);
    other.drain(..same);
    while one.last().is_some() && one.last() == other.last() {
        one.pop();
        other.pop();
    }
    match (&one[..], &other[..]) {
        ([] | [_], []) | ([], [_]) => true,
        // The rests begin and end differently: one must lose its first letter, the other its last.
        ([_, ones @ ..], [others @ .., _]) if ones == others => true,
        ([ones @ .., _], [_, others @ ..]) => ones == others,
        _ => false,
    }
}

/// Whether the difference of two names may be a typing mistake. Differences in plurals, numbers and separators are made on purpose.
fn is_slip(one: &str, other: &str) -> bool {
    let plain = |name: &str| -> String {
        let words = name
            .split(['_', '-', '.'])
            .map(|word| word.trim_end_matches('s'));
        words
            .flat_map(|word| word.chars().filter(|c| !c.is_ascii_digit()))
            .collect()
    };
    let (one, other) = (plain(one), plain(other));
    if one == other {
        return false;
    }
    // A name that begins with another letter is another name: `get_line`, `set_line`.
    let changed = one
        .chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .count();
    changed > 0 && one.len().abs_diff(other.len()) <= 1
}

/// Whether a name is not disguised: no digit stands for a letter in it, and no letter is of another alphabet. Such a name does not imitate one that
/// looks the same.
pub(super) fn is_plain(name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_letter = |at: Option<usize>| {
        let byte = at.and_then(|at| bytes.get(at));
        byte.is_some_and(u8::is_ascii_alphabetic)
    };
    let is_disguised = |(at, byte): (usize, &u8)| {
        matches!(byte, b'0' | b'1' | b'|')
            && (is_letter(at.checked_sub(1)) && at > 2 || is_letter(Some(at + 1)))
    };
    name.is_ascii() && !bytes.iter().enumerate().any(is_disguised)
}

/// What a name looks like: letters that look alike are replaced by one of them.
pub(super) fn look(name: &str) -> String {
    let mut look = String::with_capacity(name.len());
    let add = |letter: char| {
        let like = match letter {
            '0' => 'o',
            '1' | '|' => 'l',
            'n' if look.ends_with('r') => {
                look.pop();
                'm'
            }
            other => other,
        };
        look.push(like);
    };
    if name.is_ascii() {
        name.chars().for_each(add);
    } else {
        let letters = skeleton(name).flat_map(char::to_lowercase);
        letters.for_each(add);
    }
    look
}

/// The letters and digits of a name, without separators.
fn letters(name: &str) -> String {
    let mut letters = name.to_owned();
    letters.retain(char::is_alphanumeric);
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_gaps(name: &str) -> impl Iterator<Item = String> {
        let gaps = name.char_indices().map(move |(at, letter)| {
            let before = name.get(..at).unwrap_or_default();
            let after = name.get(at + letter.len_utf8()..).unwrap_or_default();
            format!("{before}{after}")
        });
        gaps.chain([name.to_owned()])
    }

    #[test]
    fn equal_gaps_have_equal_numbers() {
        let numbers = gaps("größe").zip(with_gaps("größe"));
        for (number, gap) in numbers {
            assert_eq!(gaps(&gap).last(), Some(number), "{gap}");
        }
    }

    #[test]
    fn names_are_near_where_a_gap_in_each_makes_them_the_same() {
        let plainly = |one: &str, other: &str| {
            let others: Vec<String> = with_gaps(other).collect();
            with_gaps(one).any(|gap| others.contains(&gap))
        };
        let names = [
            "", "a", "b", "aa", "ab", "ba", "abc", "acb", "bca", "cab", "abcd", "abd", "bcda",
            "dbca", "aab", "aabb", "abab", "baba", "größe", "grösse", "gröe",
        ];
        for one in names {
            for other in names {
                assert_eq!(is_near(one, other), plainly(one, other), "{one} {other}");
            }
        }
    }

    #[test]
    fn of_a_long_name_nothing_is_kept_but_the_name() {
        let names: Vec<String> = (0..100)
            .map(|n| format!("{n:03}{}", "x".repeat(3900)))
            .collect();
        let similar = SimilarNames::new(names.clone());
        assert_eq!(similar.gaps.len(), 0);
        assert_eq!((similar.looks.len(), similar.letters.len()), (100, 100));
        assert_eq!(similar.one_off(&names[0]).count(), 0);
        assert_eq!(
            similar.same_look(&names[7]).collect::<Vec<_>>(),
            [&names[7]]
        );
        let short = SimilarNames::new(vec!["x".repeat(LETTERS)]);
        assert_eq!(short.gaps.len(), LETTERS + 1);
    }
}

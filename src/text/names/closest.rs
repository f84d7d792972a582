//! The known name that is closest to an unknown one. Called with names of strangers against tens of thousands of known ones, so most of
//! those are dismissed at a glance.

use memchr::memmem::{self, Finder};

/// Limit: names of this many bytes are compared; longer input is a client's mistake and gets no suggestion. As many bits has
/// the arithmetic of [`Wanted::edits`].
const COMPARED: usize = 128;

/// The known name closest to `wanted`, if one is close enough to be worth naming: at most a third of its letters differ,
/// or one contains the other.
pub fn closest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    closest_allowed(wanted, known, |_| true)
}

/// The same among the names that are `allowed`, which is asked only of those that are close.
pub fn closest_allowed<'a>(
    wanted: &str,
    known: impl Iterator<Item = &'a str>,
    allowed: impl Fn(&'a str) -> bool,
) -> Option<&'a str> {
    let folded = Folded::of(wanted)?;
    let wanted = Wanted::new(wanted.len(), &folded);
    let mut best: Option<(Distance, &str)> = None;
    let mut candidate = Folded::default();
    for name in known.filter(|name| name.len() <= COMPARED) {
        candidate.read(name);
        let least = best.map(|(distance, _)| distance);
        if let Some(distance) = wanted.distance(&candidate, name.len(), least)
            && allowed(name)
        {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// Edits, then the difference in length.
type Distance = (usize, usize);

/// A name in lower case.
#[derive(Default)]
struct Folded {
    text: String,
    n_chars: usize,
    /// The characters in it, by their last six bits.
    letters: u64,
}

impl Folded {
    fn of(name: &str) -> Option<Self> {
        let mut folded = Self::default();
        let fits = name.len() <= COMPARED;
        if fits {
            folded.read(name);
        }
        (fits && folded.n_chars <= COMPARED).then_some(folded)
    }

    /// Replaces what was read before.
    fn read(&mut self, name: &str) {
        self.text.clear();
        if name.is_ascii() {
            self.text.push_str(name);
            self.text.make_ascii_lowercase();
        } else {
            self.text.extend(name.chars().flat_map(char::to_lowercase));
        }
        (self.n_chars, self.letters) = (0, 0);
        for c in self.text.chars() {
            self.n_chars += 1;
            self.letters |= 1 << (u32::from(c) & 63);
        }
    }
}

/// The unknown name, prepared for many comparisons.
struct Wanted<'a> {
    len: usize,
    folded: &'a Folded,
    finder: Finder<'a>,
    /// For each character the places at which it stands, as bits; ASCII by its number, others as they come.
    ascii: [u128; 128],
    others: Vec<(char, u128)>,
}

impl<'a> Wanted<'a> {
    fn new(len: usize, folded: &'a Folded) -> Self {
        let mut wanted = Self {
            len,
            folded,
            finder: Finder::new(&folded.text),
            ascii: [0; 128],
            others: Vec::new(),
        };
        for (place, c) in folded.text.chars().enumerate() {
            let bit = 1 << place;
            if let Some(places) = wanted.ascii.get_mut(c as usize) {
                *places |= bit;
            } else if let Some((_, places)) = wanted.others.iter_mut().find(|(o, _)| *o == c) {
                *places |= bit;
            } else {
                wanted.others.push((c, bit));
            }
        }
        wanted
    }

    /// How far a known name is, if it is close enough and closer than `best`.
    fn distance(&self, name: &Folded, len: usize, best: Option<Distance>) -> Option<Distance> {
        let beyond = len.abs_diff(self.len);
        let is_better = |edits| best.is_none_or(|best| (edits, beyond) < best);
        if !is_better(0) {
            return None;
        }
        if self.contains_or_is_in(name) {
            return Some((0, beyond));
        }
        let mut most = name.n_chars.max(self.folded.n_chars) / 3;
        if let Some((edits, _)) = best {
            most = most.min(edits);
        }
        // An edit adds or takes one character, replaces one by another, or swaps two that stand side by side.
        let missing = (self.folded.letters & !name.letters).count_ones();
        let strange = (name.letters & !self.folded.letters).count_ones();
        let least = name
            .n_chars
            .abs_diff(self.folded.n_chars)
            .max(missing.max(strange) as usize);
        if least > most {
            return None;
        }
        let edits = self.edits(name, most)?;
        is_better(edits).then_some((edits, beyond))
    }

    fn contains_or_is_in(&self, name: &Folded) -> bool {
        let (ours, theirs) = (self.folded, name);
        if ours.text.is_empty() {
            return false;
        }
        let can_contain = |outer: &Folded, inner: &Folded| {
            inner.letters & !outer.letters == 0 && inner.text.len() <= outer.text.len()
        };
        can_contain(theirs, ours) && self.finder.find(theirs.text.as_bytes()).is_some()
            || can_contain(ours, theirs)
                && memmem::find(ours.text.as_bytes(), theirs.text.as_bytes()).is_some()
    }

    /// How many edits lead from one to the other (Levenshtein, and swapped neighbours count one), unless it is more than `most`. A
    /// column of the table at once, as differences between its cells (Myers 1999, in the form of Hyyrö 2003).
    fn edits(&self, name: &Folded, most: usize) -> Option<usize> {
        let n_ours = self.folded.n_chars;
        let Some(last) = n_ours.checked_sub(1) else {
            return (name.n_chars <= most).then_some(name.n_chars);
        };
        let (mut more, mut less) = (u128::MAX, 0_u128);
        let (mut edits, mut left) = (n_ours, name.n_chars);
        let (mut diagonal, mut same_before) = (0_u128, 0_u128);
        for c in name.text.chars() {
            let same = self.places_of(c);
            let swapped = ((!diagonal & same) << 1) & same_before;
            diagonal = ((same & more).wrapping_add(more) ^ more) | same | less | swapped;
            same_before = same;
            let mut grows = less | !(diagonal | more);
            let mut shrinks = more & diagonal;
            edits += usize::from(grows >> last & 1 == 1);
            edits -= usize::from(shrinks >> last & 1 == 1);
            grows = grows << 1 | 1;
            shrinks <<= 1;
            more = shrinks | !(diagonal | grows);
            less = grows & diagonal;
            left -= 1;
            if edits.saturating_sub(left) > most {
                return None;
            }
        }
        Some(edits)
    }

    fn places_of(&self, c: char) -> u128 {
        if let Some(places) = self.ascii.get(c as usize) {
            return *places;
        }
        let found = self.others.iter().find(|(other, _)| *other == c);
        found.map_or(0, |(_, places)| *places)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_closest_name_is_suggested_only_when_it_is_close() {
        let known = ["github__create_issue", "github__list_repos", "time__now"];
        let find = |wanted| closest(wanted, known.iter().copied());
        assert_eq!(find("github__create_isue"), Some("github__create_issue"));
        assert_eq!(find("create_issue"), Some("github__create_issue"));
        assert_eq!(find("GitHub__List_Repos_2"), Some("github__list_repos"));
        assert_eq!(find("tmie__now"), Some("time__now"));
        assert_eq!(closest("ecoh", ["get", "echo"].into_iter()), Some("echo"));
        assert_eq!(find("zebra"), None);
        assert_eq!(find(""), None);
        assert_eq!(find(&"time__now".repeat(20)), None);
        let others = |name: &str| name != "github__create_issue";
        let found = closest_allowed("github__create_isue", known.iter().copied(), others);
        assert_eq!(found, None);
    }

    /// The plain table.
    fn distance(a: &str, b: &str) -> usize {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                if i == 0 || j == 0 {
                    table[i][j] = i.max(j);
                    continue;
                }
                let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut least = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                let is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                if is_swap {
                    least = least.min(table[i - 2][j - 2] + 1);
                }
                table[i][j] = least;
            }
        }
        table[a.len()][b.len()]
    }

    /// The rule without any shortcut.
    fn plainly<'a>(wanted: &str, known: &[&'a str]) -> Option<&'a str> {
        let folded = wanted.to_lowercase();
        let n_chars = |text: &str| text.chars().count();
        let edits = |name: &str| {
            let name = name.to_lowercase();
            let contained =
                !folded.is_empty() && (name.contains(&folded) || folded.contains(&name));
            let edits = if contained {
                0
            } else {
                distance(&folded, &name)
            };
            (edits <= n_chars(&name).max(n_chars(&folded)) / 3).then_some(edits)
        };
        let close = known.iter().filter_map(|name| Some((edits(name)?, *name)));
        let by_distance =
            |(edits, name): &(usize, &str)| (*edits, name.len().abs_diff(wanted.len()));
        close.min_by_key(by_distance).map(|(_, name)| name)
    }

    proptest! {
        #[test]
        fn shortcuts_change_nothing(
            wanted in "[abAB_Ä]{0,12}|[a-d]{100,128}|\\PC{0,12}",
            known in prop::collection::vec("[abAB_Ä]{0,12}|[a-d]{100,128}|\\PC{0,12}", 0..8),
        ) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let fit = wanted.len() <= COMPARED && known.iter().all(|name| name.len() <= COMPARED);
            if fit {
                prop_assert_eq!(closest(&wanted, known.iter().copied()), plainly(&wanted, &known));
            }
        }
    }
}

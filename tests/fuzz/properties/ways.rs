//! How many ways of looking at an input are tried: all of them when the corpus is replayed, one that the input itself chooses in a search,
//! which makes up for it by the number of its inputs.

use std::slice;

/// All ways, or one.
#[derive(Debug, Clone, Copy)]
pub enum Ways {
    All,
    One(usize),
}

impl Ways {
    /// A change of any byte of an input chooses another.
    #[must_use]
    pub fn chosen_by(input: &[u8]) -> Self {
        Self::One(input.iter().map(|byte| usize::from(*byte)).sum())
    }

    /// Those of `all` that are tried.
    #[must_use]
    pub fn among<T>(self, all: &[T]) -> &[T] {
        match self {
            Self::One(number) if !all.is_empty() => slice::from_ref(&all[number % all.len()]),
            _ => all,
        }
    }

    /// Whether to do what is done for one input of `n`.
    #[must_use]
    pub fn seldom(self, n: usize) -> bool {
        match self {
            Self::One(number) => number.is_multiple_of(n),
            Self::All => true,
        }
    }

    /// For a choice that does not depend on the one made among `n`.
    #[must_use]
    pub fn beyond(self, n: usize) -> Self {
        match self {
            Self::One(number) => Self::One(number / n),
            Self::All => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ways;

    #[test]
    fn every_way_is_chosen_by_some_input() {
        let all = [10, 20, 30];
        assert_eq!(Ways::All.among(&all), all);
        let chosen = |input: &[u8]| Ways::chosen_by(input).among(&all).to_vec();
        assert_eq!(
            [b"\x00", b"\x01", b"\x05"].map(|input| chosen(input)),
            [[10], [20], [30]]
        );
        let beyond: Vec<bool> = (0..4)
            .map(|number| Ways::One(number).beyond(2).seldom(2))
            .collect();
        assert_eq!(beyond, [true, true, false, false]);
        assert!(Ways::All.beyond(2).seldom(9));
        assert!(Ways::One(7).among::<u8>(&[]).is_empty());
    }
}

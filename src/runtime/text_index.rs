//! Where in a list the texts stand, by their hashes: sixteen bytes for each, however long it is. Pure.

use std::hash::{BuildHasher, Hash};

use crate::runtime::quick_map::QuickHash;

/// The places of texts in a list that is kept elsewhere. A hit needs a comparison: two texts may have one hash.
#[derive(Debug, Default, Clone)]
pub struct TextIndex {
    hash: QuickHash,
    /// In order.
    places: Box<[(u64, usize)]>,
}

impl TextIndex {
    /// Of these texts, or numbers of them, each with its place.
    pub fn new(texts: impl Iterator<Item = (usize, impl Hash)>) -> Self {
        let hash = QuickHash::default();
        let places = texts.map(|(place, text)| (hash.hash_one(text), place));
        let mut places: Vec<(u64, usize)> = places.collect();
        places.sort_unstable();
        Self {
            hash,
            places: places.into(),
        }
    }

    /// Of all texts of a list.
    pub fn of_all<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        Self::new(texts.enumerate())
    }

    /// How many places it knows.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Where the text stands, if anywhere, and perhaps others of the same hash.
    pub fn places<T>(&self, text: &T) -> impl Iterator<Item = usize> + use<'_, T>
    where
        T: Hash + ?Sized,
    {
        let wanted = self.hash.hash_one(text);
        let first = self.places.partition_point(|(hash, _)| *hash < wanted);
        let from = self.places.get(first..).unwrap_or_default().iter();
        let same = from.take_while(move |(hash, _)| *hash == wanted);
        same.map(|(_, place)| *place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_wherever_it_stands() {
        let texts = ["a", "b", "a", "", "größe"];
        let index = TextIndex::of_all(texts.into_iter());
        let found = |text: &str| index.places(text).collect::<Vec<_>>();
        assert_eq!(found("a"), [0, 2]);
        assert_eq!(found("größe"), [4]);
        assert_eq!(found("c"), [0; 0]);
    }
}

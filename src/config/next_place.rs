//! Where something stands next in a text that is gone through from its beginning to its end, so that no part of it is looked through again
//! and again.

/// The next place of one thing: what was found last.
#[derive(Debug, Default)]
pub(super) enum NextPlace {
    /// Nobody has looked yet.
    #[default]
    Unknown,
    At(usize),
    /// The text has no more of them.
    Nowhere,
}

impl NextPlace {
    /// The first place at or behind a position, which may never be before an earlier one. Looks only where none has looked yet.
    pub(super) fn at_or_after(
        &mut self,
        from: usize,
        look: impl FnOnce(usize) -> Option<usize>,
    ) -> Option<usize> {
        match *self {
            Self::At(at) if at >= from => return Some(at),
            Self::Nowhere => return None,
            Self::Unknown | Self::At(_) => (),
        }
        let found = look(from);
        *self = found.map_or(Self::Nowhere, Self::At);
        found
    }
}

/// The first sign of a kind at or behind a position.
pub(super) fn find(text: &str, from: usize, kind: impl Fn(char) -> bool) -> Option<usize> {
    text.get(from..)?.find(kind).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_looked_for_twice() {
        let (mut next, mut looks) = (NextPlace::default(), 0);
        let mut after = |from| {
            next.at_or_after(from, |from| {
                looks += 1;
                find("a.b.c", from, |c| c == '.')
            })
        };
        let found: Vec<_> = (0..6).map(&mut after).collect();
        assert_eq!(found, [Some(1), Some(1), Some(3), Some(3), None, None]);
        assert_eq!(looks, 3);
    }
}

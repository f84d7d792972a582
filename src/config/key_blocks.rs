//! Private keys in several lines, as they stand in texts (RFC 7468).

use super::secret_words::Ranges;

/// How one begins and ends.
pub(super) const BLOCK: &str = "-----BEGIN";
pub(super) const BLOCK_END: &str = "-----END";

/// Keys in several lines; one whose end is missing goes to the end of the text.
pub(super) fn blocks(text: &str, hidden: &mut Ranges) {
    let mut from = 0;
    while let Some(start) = find(text, from, BLOCK) {
        let end = find(text, start, BLOCK_END).map_or(text.len(), |at| {
            let last = find(text, at + BLOCK_END.len(), "-----");
            last.map_or(text.len(), |at| at + 5)
        });
        hidden.push(start..end);
        from = end;
    }
}

fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    Some(from + places(text.get(from..)?, what).next()?)
}

/// Where something stands that begins with a dash, in either case.
pub(super) fn places(text: &str, what: &str) -> impl DoubleEndedIterator<Item = usize> {
    let dashes = text.match_indices('-').map(|(at, _)| at);
    dashes.filter(move |at| {
        let found = text.get(*at..at + what.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(what))
    })
}

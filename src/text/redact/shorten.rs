//! Texts that are masked before they are cut.

use crate::text::cut;

/// A text as it is redacted, of at most so many bytes. It is cut last, because what is cut can no longer be found as a whole; but nobody
/// searches megabytes for nothing. `mask` also learns whether there is more.
pub fn shorten(text: &str, longest: usize, mask: impl FnOnce(&str, bool) -> String) -> String {
    let (begin, rest) = text.split_at(text.floor_char_boundary(longest.saturating_mul(4)));
    let is_cut = !rest.is_empty();
    shortened(mask(begin, is_cut), longest, is_cut)
}

/// At most so many bytes, and then whether there is more.
pub fn shortened(text: String, longest: usize, is_cut: bool) -> String {
    if is_cut {
        cut::marked(text, longest)
    } else {
        cut::shortened(text, longest)
    }
}

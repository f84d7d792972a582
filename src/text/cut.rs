//! Cuts texts to a length, between two characters. Mask secrets before, because a cut secret is not found: see
//! [`redacted_to_show`](super::secret::Secrets::redacted_to_show).

/// The mark for the part that is left out.
const LEFT_OUT: &str = "…";

/// The first bytes of a text, at most `longest`.
pub fn beginning(text: &str, longest: usize) -> &str {
    text.split_at(text.floor_char_boundary(longest)).0
}

/// The first bytes of a text, at most `longest`, and a mark if there are more.
pub fn shortened(text: impl Into<String>, longest: usize) -> String {
    let text = text.into();
    if text.len() > longest {
        marked(text, longest)
    } else {
        text
    }
}

/// The first bytes of a text, at most `longest`, and a mark in any case: the text is itself the beginning of a longer one.
pub fn marked(mut text: String, longest: usize) -> String {
    text.truncate(text.floor_char_boundary(longest));
    text.push_str(LEFT_OUT);
    text
}

/// The first bytes of a text, at most `longest`, and a mark if there are more; in any case if `is_cut`.
pub fn shortened_or_marked(text: String, longest: usize, is_cut: bool) -> String {
    if is_cut {
        marked(text, longest)
    } else {
        shortened(text, longest)
    }
}

/// The bytes of the common beginning of two texts, and of the common end of their rests.
pub fn common_ends(one: &str, other: &str) -> (usize, usize) {
    let begin = count_alike(one.chars(), other.chars());
    let [one, other] = [one, other].map(|text| text.split_at(begin).1.chars().rev());
    (begin, count_alike(one, other))
}

/// The bytes of the characters with which both begin.
fn count_alike(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    let alike = one.zip(other).take_while(|(one, other)| one == other);
    alike.map(|(both, _)| both.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(beginning("aß", 2), "a");
        assert_eq!(beginning("aß", 3), "aß");
        assert_eq!(shortened("aß", 2), "a…");
        assert_eq!(shortened("aß", 3), "aß");
        assert_eq!(marked("a".to_owned(), 3), "a…");
    }

    #[test]
    fn common_ends_do_not_overlap() {
        for (one, other, ends) in [
            ("", "", (0, 0)),
            ("ab", "ab", (2, 0)),
            ("aXb", "aYYb", (1, 1)),
            ("aa", "aaa", (2, 0)),
            ("ßaß", "ßoß", (2, 2)),
            ("ß", "Ÿ", (0, 0)),
        ] {
            assert_eq!(common_ends(one, other), ends, "{one} {other}");
        }
    }
}

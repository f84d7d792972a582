//! Texts of limited length, cut between two characters. What may be secret is masked first: [`redacted_to_show`](super::secret::Secrets::redacted_to_show).

/// Stands for what is left out.
const LEFT_OUT: &str = "…";

/// At most so many bytes of a text.
pub fn beginning(text: &str, longest: usize) -> &str {
    text.split_at(text.floor_char_boundary(longest)).0
}

/// At most so many bytes of a text, with a mark where that is not all.
pub fn shortened(text: impl Into<String>, longest: usize) -> String {
    let text = text.into();
    if text.len() > longest {
        marked(text, longest)
    } else {
        text
    }
}

/// At most so many bytes of a text that goes on, with a mark.
pub fn marked(mut text: String, longest: usize) -> String {
    text.truncate(text.floor_char_boundary(longest));
    text.push_str(LEFT_OUT);
    text
}

/// How many bytes two texts begin with alike, and how many of the rest they end with alike.
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

//! Texts of limited length, cut between two characters. What may be secret is masked first: [`redact::shorten`](super::redact::shorten).

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
}

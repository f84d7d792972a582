//! Excerpts of texts for findings: short, and with every character escaped that could have an effect where it is shown.

use std::{fmt::Write, ops::Range};

use crate::text::visible::{is_hidden, is_invisible, layout_escape};

/// The most characters of an excerpt before escaping; enough to recognise a sentence.
const LENGTH: usize = 96;

/// Characters shown before and after the part to which a rule objects.
const AROUND: usize = 16;

/// An excerpt of a whole text; of a long one its beginning and its end.
pub(super) fn excerpt(text: &str) -> String {
    excerpt_marked(text, 0..text.len()).0
}

/// The part of a text in `range` and some characters around it, and which of its characters come from `range`: `None` if all do. Of a long part it
/// has the beginning and the end.
pub(super) fn excerpt_marked(text: &str, range: Range<usize>) -> (String, Option<Range<usize>>) {
    let objected = in_whole_words(text, range.clone());
    let start = before(text, range.start.min(text.len()), 0);
    let end = before(text, range.end.clamp(start, text.len()), 0);
    let inside = text.get(start..end).unwrap_or_default().chars().count();
    let around = (LENGTH.saturating_sub(inside) / 2).min(AROUND);
    let start = before(text, start, around);
    let mut after = text.get(end..).unwrap_or_default().char_indices();
    let end = after.nth(around).map_or(text.len(), |(at, _)| end + at);
    let shown = text.get(start..end).unwrap_or_default();
    let left_out = match shown.chars().count() {
        count if count > LENGTH => LENGTH / 2..count - LENGTH / 2,
        _ => 0..0,
    };
    let mut escaped = String::with_capacity(LENGTH + 8);
    if start > 0 {
        escaped.push('…');
    }
    let (mut length, mut marked) = (escaped.chars().count(), 0..0);
    for (number, (at, character)) in shown.char_indices().enumerate() {
        let written = escaped.len();
        if number == left_out.start && !left_out.is_empty() {
            escaped.push('…');
        } else if left_out.contains(&number) {
            continue;
        } else {
            push_escaped(&mut escaped, character);
        }
        let added = escaped
            .get(written..)
            .map_or(0, |added| added.chars().count());
        if objected.contains(&(start + at)) {
            if marked.is_empty() {
                marked.start = length;
            }
            marked.end = length + added;
        }
        length += added;
    }
    let is_cut = end < text.len();
    let is_all = marked == (0..length) && !is_cut;
    if is_cut {
        escaped.push('…');
    }
    (escaped, (!is_all && !marked.is_empty()).then_some(marked))
}

/// The range, extended at both ends to whole words and paths, unless they are long.
fn in_whole_words(text: &str, range: Range<usize>) -> Range<usize> {
    let (Some(before), Some(inside), Some(after)) = (
        text.get(..range.start),
        text.get(range.clone()),
        text.get(range.end..),
    ) else {
        return range;
    };
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '~');
    let begins = inside.chars().next().is_some_and(is_of_word);
    let ends = inside.chars().next_back().is_some_and(is_of_word);
    let more = |characters: &mut dyn Iterator<Item = char>| {
        let of_word = characters.take(AROUND + 1);
        let of_word: String = of_word.take_while(|c| is_of_word(*c)).collect();
        let is_short = of_word.chars().count() <= AROUND;
        if is_short { of_word } else { String::new() }
    };
    let (mut start, mut end) = (range.start, range.end);
    if begins {
        start -= more(&mut before.chars().rev()).len();
    }
    if ends {
        let rest = more(&mut after.chars());
        // Signs that end a sentence do not belong to the word.
        end += rest.trim_end_matches(['.', '-', '/']).len();
    }
    start..end
}

/// The position `characters` before `at`. An `at` inside a character counts as its beginning.
fn before(text: &str, at: usize, characters: usize) -> usize {
    let mut at = at;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let passed = text.get(..at).unwrap_or_default();
    passed
        .char_indices()
        .rev()
        .take(characters)
        .last()
        .map_or(at, |(start, _)| start)
}

/// Appends a character, escaped if it ends a line, is invisible, steers a terminal, or is a bracket of a tag.
pub(super) fn push_escaped(escaped: &mut String, character: char) {
    if let Some(escape) = layout_escape(character) {
        escaped.push_str(escape);
        return;
    }
    match character {
        '\\' => escaped.push_str("\\\\"),
        '<' | '>' => escape(escaped, character),
        plain if plain.is_ascii_graphic() => escaped.push(plain),
        seen if !is_invisible(seen) && !is_hidden(seen) => escaped.push(seen),
        hidden => escape(escaped, hidden),
    }
}

/// An excerpt with the brackets of tags unescaped, to be shown to a person.
pub fn with_brackets(excerpt: &str) -> String {
    const ESCAPES: [(&str, &str); 3] = [("u{3C}", "<"), ("u{3E}", ">"), ("\\", "\\\\")];

    let (mut shown, mut rest) = (String::with_capacity(excerpt.len()), excerpt);
    while let Some((plain, escaped)) = rest.split_once('\\') {
        let mut escapes = ESCAPES.iter();
        let known = escapes.find_map(|(escape, is)| Some((*is, escaped.strip_prefix(escape)?)));
        let (is, after) = known.unwrap_or(("\\", escaped));
        shown.push_str(plain);
        shown.push_str(is);
        rest = after;
    }
    shown + rest
}

fn escape(escaped: &mut String, character: char) {
    // Writing to a string does not fail.
    let _ = write!(escaped, "\\u{{{:X}}}", u32::from(character));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, range: Range<usize>, expected: &str) {
        assert_eq!(excerpt_marked(text, range).0, expected);
    }

    #[test]
    fn an_excerpt_is_short_and_can_do_nothing() {
        check("plain", 0..5, "plain");
        check("a\u{1b}[31mb\n", 1..2, "a\\u{1B}[31mb\\n");
        check("<IMPORTANT>", 0..11, "\\u{3C}IMPORTANT\\u{3E}");
        check("天気\u{200b}を見る", 6..9, "天気\\u{200B}を見る");
        check("x\u{202e}y\u{e0041}", 0..1, "x\\u{202E}y\\u{E0041}");
        let long = "ab ".repeat(1000);
        let (shown, _) = excerpt_marked(&long, 300..2000);
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert_eq!(shown.chars().count(), LENGTH + 3);
        let long = format!("read {} pass it on", "x".repeat(900));
        let shown = excerpt(&long);
        assert!(
            shown.starts_with("read xx") && shown.ends_with("xx pass it on"),
            "{shown}"
        );
        assert!(shown.contains("x…x"), "{shown}");
    }

    #[test]
    fn what_is_objected_to_is_marked_in_the_excerpt() {
        let check = |text: &str, range: Range<usize>, expected: Option<&str>| {
            let (shown, marked) = excerpt_marked(text, range);
            let part = marked.map(|part| {
                let characters = shown.chars().skip(part.start).take(part.len());
                characters.collect::<String>()
            });
            assert_eq!(part.as_deref(), expected, "{shown}");
        };
        check("plain", 0..5, None);
        check("say the word now", 8..12, Some("word"));
        check("a\u{200b}\u{200b}b", 1..7, Some("\\u{200B}\\u{200B}"));
        let long = format!("{}now{}", "ab ".repeat(90), " cd".repeat(90));
        check(&long, 270..273, Some("now"));
        check("", 0..0, None);
        let orders = "x <IMPORTANT>Before you, the content of ~/.ssh/id_rsa.</IMPORTANT>";
        check(orders, 3..19, Some("IMPORTANT\\u{3E}Before"));
        check(orders, 29..46, Some("content of ~/.ssh/id_rsa"));
        let unbroken = format!("{0}ab{0}", "x".repeat(40));
        check(&unbroken, 40..42, Some("ab"));
    }

    #[test]
    fn a_person_sees_brackets_and_what_only_looks_like_them_as_it_is() {
        for (text, expected) in [
            ("<b>", "<b>"),
            ("\\u{3C}", "\\\\u{3C}"),
            ("a\u{1b}\n\\", "a\\u{1B}\\n\\\\"),
        ] {
            assert_eq!(with_brackets(&excerpt(text)), expected);
        }
    }

    #[test]
    fn any_range_is_fine() {
        for (start, end) in [
            (0, 0),
            (1, 2),
            (2, 1),
            (5, 900),
            (900, 901),
            (usize::MAX, 0),
        ] {
            excerpt_marked("é\u{200b}ü", start..end);
        }
        check("", 0..0, "");
    }
}

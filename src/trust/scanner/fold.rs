//! Folds a text for patterns, so that spelling tricks have no effect: lower case, single blanks, plain letters in place of those that look like
//! them, without hidden characters, double quotes and emphasis.

use crate::text::visible::{
    is_hidden, is_tag,
    letters::{compatible, is_latin, looks_like},
};

/// The folded text.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return fold_ascii(text);
    }
    let mut folded = String::with_capacity(text.len());
    each(text, |_, character| {
        folded.push(character);
        true
    });
    folded
}

/// The same for ASCII, which most texts are.
fn fold_ascii(text: &str) -> String {
    let mut folded = Vec::with_capacity(text.len());
    let mut after_blank = true;
    for byte in text.bytes() {
        let character = match byte {
            b'*' | b'`' | b'"' => continue,
            graphic if graphic.is_ascii_graphic() => graphic.to_ascii_lowercase(),
            _ => b' ',
        };
        if character != b' ' || !after_blank {
            folded.push(character);
        }
        after_blank = character == b' ';
    }
    String::from_utf8(folded).unwrap_or_default()
}

/// The position in `text` from which the byte `at` of its folded form comes.
pub(super) fn origin(text: &str, at: usize) -> usize {
    let (mut length, mut found) = (0, text.len());
    each(text, |from, character| {
        length += character.len_utf8();
        if length > at {
            found = from;
        }
        length <= at
    });
    found
}

/// A name as words: `readFile_now` is "read file now".
pub(super) fn words_of_name(name: &str) -> String {
    let mut words = Vec::with_capacity(name.len() + 8);
    let mut was_small = false;
    for byte in name.bytes() {
        if was_small && byte.is_ascii_uppercase() {
            words.push(b' ');
        }
        was_small = byte.is_ascii_lowercase();
        let is_joint = matches!(byte, b'_' | b'-' | b'.' | b'/' | b':');
        words.push(if is_joint { b' ' } else { byte });
    }
    fold(&String::from_utf8(words).unwrap_or_default())
}

/// Gives each character of the folded form with its position in the text to `emit`, until that returns false.
fn each(text: &str, mut emit: impl FnMut(usize, char) -> bool) {
    let (mut after_blank, mut in_word, mut is_mixed) = (true, false, false);
    let may_mix = !text.is_ascii();
    for (at, character) in text.char_indices() {
        let is_letter = character.is_alphabetic();
        if is_letter && !in_word {
            is_mixed = may_mix && mixes(text.get(at..).unwrap_or_default());
        }
        in_word = is_letter || in_word && is_hidden(character);
        let Some(folded) = fold_character(character, is_mixed) else {
            continue;
        };
        if folded == ' ' && after_blank {
            continue;
        }
        after_blank = folded == ' ';
        if !emit(at, folded) {
            return;
        }
    }
}

/// Limit: letters of a word that are read.
const WORD: usize = 64;

/// Whether the word at the beginning of a text mixes Latin letters with others that look like them.
pub(super) fn mixes(text: &str) -> bool {
    let word = text.chars().filter(|c| !is_hidden(*c)).take(WORD);
    let word = word.take_while(|c| c.is_alphabetic());
    let (mut ours, mut strange) = (0, 0);
    for character in word {
        if character.is_ascii() {
            ours += 1;
        } else if !is_latin(character)
            && compatible(character).is_none()
            && looks_like(character).is_some()
        {
            strange += 1;
        }
    }
    strange > 0 && ours >= 2
}

fn fold_character(character: char, is_mixed: bool) -> Option<char> {
    match character {
        '*' | '`' | '"' | '“' | '”' | '„' => None,
        letter if letter.is_ascii_graphic() => Some(letter.to_ascii_lowercase()),
        blank if blank.is_whitespace() || blank.is_ascii_control() => Some(' '),
        // Tag characters are invisible counterparts of ASCII, which a model may read.
        tag if is_tag(tag) => {
            let plain = u8::try_from(u32::from(tag) & 0x7F).ok();
            plain
                .filter(u8::is_ascii_graphic)
                .map_or(Some(' '), |byte| {
                    Some(char::from(byte.to_ascii_lowercase()))
                })
        }
        hidden if is_hidden(hidden) => None,
        '\u{300}'..='\u{36F}' => None,
        '‘' | '’' | 'ʼ' | '′' => Some('\''),
        '‐'..='―' | '−' => Some('-'),
        other => {
            if let Some(plain) = compatible(other) {
                return Some(plain);
            }
            let like = is_latin(other) || is_mixed && other.is_alphabetic();
            let like = like.then(|| looks_like(other)).flatten();
            Some(like.unwrap_or_else(|| lower(other)))
        }
    }
}

fn lower(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(fold(text), expected, "{text:?}");
    }

    #[test]
    fn spelling_tricks_do_not_help() {
        check("Ignore\n\t  ALL previous", "ignore all previous");
        check("ig\u{200b}no\u{2060}re", "ignore");
        check("ig**no**re `all`", "ignore all");
        check("іgnоrе", "ignore");
        check("ｉｇｎｏｒｅ", "ignore");
        check("𝗜𝗴𝗻𝗼𝗿𝗲 𝒶𝓁𝓁", "ignore all");
        check("Ⓘⓖⓝⓞⓡⓔ ɪɢɴᴏʀᴇ ᵢᵍⁿᵒʳᵉ", "ignore ignore ᵢgnore");
        check("ìgnórë précédentes", "ignore precedentes");
        check("i\u{301}gnore don’t", "ignore don't");
        check(
            "\u{e0049}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065}",
            "ignore",
        );
    }

    #[test]
    fn ascii_is_folded_as_all_text_is() {
        let all: String = (0..=u8::MAX / 2).map(char::from).collect();
        for text in [all.as_str(), "  a \t*b* \"\r\n\u{7f} C`d`", "", " ", "*"] {
            let mut slowly = String::new();
            each(text, |_, character| {
                slowly.push(character);
                true
            });
            assert_eq!(fold(text), slowly);
        }
    }

    #[test]
    fn other_scripts_stay_themselves() {
        check("Получить погоду", "получить погоду");
        check("天気を調べる", "天気を調べる");
        check("ΔT in μm", "δt in μm");
    }

    #[test]
    fn a_position_leads_back() {
        let text = "a  \u{200b}Bé\u{301}**C";
        for (at, expected) in [(0, 0), (1, 1), (2, 6), (3, 7), (4, 13), (99, text.len())] {
            assert_eq!(origin(text, at), expected, "{at}");
        }
    }

    #[test]
    fn names_are_words() {
        assert_eq!(words_of_name("readFile_now"), "read file now");
        assert_eq!(
            words_of_name("content_from_reading_ssh_id_rsa"),
            "content from reading ssh id rsa"
        );
    }
}

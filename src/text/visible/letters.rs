//! Letters that look like those of ASCII: wide, styled, or of another script; and the folded form of names, in which names that look alike
//! are equal. Pure; decides nothing.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use unicode_security::confusable_detection::skeleton;

use super::is_hidden;

/// How often a text is percent-decoded: some readers decode twice.
const DECODED: usize = 3;

/// The folded form of a name: its letters and digits in lower case, percent-decoded, with letters of ASCII in place of those that look like
/// them, without separators and invisible characters.
pub fn folded_name(name: &str) -> String {
    let mut name = in_ascii(name);
    if name.is_ascii() {
        name.retain(|c| c.is_ascii_alphanumeric());
        name.make_ascii_lowercase();
        return name;
    }
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// A name percent-decoded, with characters of ASCII in place of those that look like them, without invisible ones.
pub fn in_ascii(name: &str) -> String {
    let name = decoded(name);
    if name.is_ascii() {
        return name.into_owned();
    }
    let seen = name.chars().filter(|c| !is_hidden(*c) && !is_mark(*c));
    let plain = |letter: char| match letter {
        letter if letter.is_ascii() => letter,
        letter => compatible(letter)
            .or_else(|| looks_like_in_some_case(letter))
            .unwrap_or(letter),
    };
    seen.map(plain).collect()
}

/// The letter of ASCII that this letter looks like in lower or upper case: the same for both.
fn looks_like_in_some_case(letter: char) -> Option<char> {
    let small = letter.to_lowercase().next()?;
    let large = small.to_uppercase().next()?;
    looks_like(small).or_else(|| looks_like(large))
}

/// Combining marks over or under a letter.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36F}')
}

/// Whether a name can be read in one way only: it has letters and digits of ASCII and separators, encoded or not, and does not lead to another
/// path.
pub fn is_plain_name(name: &str) -> bool {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ' ');
    decoded(name).chars().all(is_plain) && !leads_elsewhere(name)
}

/// Whether a name that is read as a path may lead to another one: it has `..`, or `.` between separators.
pub fn leads_elsewhere(name: &str) -> bool {
    let name = in_ascii(name);
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    name.contains("..") || parts.any(|part| part == ".")
}

/// A text percent-decoded, repeatedly.
pub fn decoded(text: &str) -> Cow<'_, str> {
    #[cfg(test)]
    DECODED_BYTES.set(DECODED_BYTES.get() + text.len());
    let mut text = Cow::Borrowed(text);
    for _ in 0..DECODED {
        if !text.contains('%') {
            break;
        }
        let decoded = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        text = Cow::Owned(decoded);
    }
    text
}

#[cfg(test)]
thread_local! {
    static DECODED_BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The bytes that were decoded on this thread, by which tests see how often texts are folded.
#[cfg(test)]
pub(crate) fn decoded_bytes() -> usize {
    DECODED_BYTES.get()
}

/// Whether a letter is Latin with a mark.
pub fn is_latin(character: char) -> bool {
    matches!(character, '\u{C0}'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}')
}

/// The letter of ASCII, in lower case, that a styled letter stands for: wide, mathematical, enclosed, raised.
pub fn compatible(character: char) -> Option<char> {
    let code = u32::from(character);
    let letter = |offset: u32| char::from_u32(u32::from(b'a') + offset % 26);
    match code {
        0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0).map(|plain| plain.to_ascii_lowercase()),
        0x1D400..=0x1D6A3 => letter(code - 0x1D400),
        0x1D7CE..=0x1D7FF => char::from_u32(u32::from(b'0') + (code - 0x1D7CE) % 10),
        0x24B6..=0x24E9 => letter(code - 0x24B6),
        0x249C..=0x24B5 => letter(code - 0x249C),
        0x1F110..=0x1F129 => letter(code - 0x1F110),
        0x1F130..=0x1F149 => letter(code - 0x1F130),
        0x1F150..=0x1F169 => letter(code - 0x1F150),
        0x1F170..=0x1F189 => letter(code - 0x1F170),
        0x1F1E6..=0x1F1FF => letter(code - 0x1F1E6),
        _ => small(character),
    }
}

/// The same for raised letters, small capitals, and the mathematical letters outside of their block.
fn small(character: char) -> Option<char> {
    const STYLED: &str = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡxʏᴢ";
    const RAISED: &str = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖqʳˢᵗᵘᵛʷˣʸᶻ";
    #[rustfmt::skip]
    const ODD: [(char, char); 14] = [
        ('ℂ', 'c'), ('ℊ', 'g'), ('ℋ', 'h'), ('ℌ', 'h'), ('ℍ', 'h'), ('ℐ', 'i'), ('ℒ', 'l'), ('ℕ', 'n'), ('ℙ', 'p'), ('ℚ', 'q'),
        ('ℛ', 'r'), ('ℝ', 'r'), ('ℤ', 'z'), ('ℯ', 'e'),
    ];
    if character.is_ascii()
        || u32::from(character) > 0xFFFF
        || ('\u{3000}'..'\u{A000}').contains(&character)
    {
        return None;
    }
    let place = |list: &str| list.chars().position(|c| c == character);
    let place = place(STYLED).or_else(|| place(RAISED));
    let plain = place.and_then(|i| char::from_u32(u32::from(b'a') + u32::try_from(i).ok()?));
    plain.or_else(|| {
        ODD.iter()
            .find(|(odd, _)| *odd == character)
            .map(|(_, plain)| *plain)
    })
}

/// The letter of ASCII, in lower case, that this letter looks like.
pub fn looks_like(character: char) -> Option<char> {
    if ('\u{2E80}'..'\u{A000}').contains(&character)
        || ('\u{AC00}'..='\u{D7FF}').contains(&character)
    {
        return None;
    }
    if matches!(
        character,
        '\u{406}' | '\u{456}' | '\u{399}' | '\u{2160}' | '\u{13A5}' | '\u{131}' | '\u{4CF}'
    ) {
        return Some('i');
    }
    let mut buffer = [0; 4];
    let text: &str = character.encode_utf8(&mut buffer);
    let mut like = skeleton(text);
    let first = like.next()?.to_ascii_lowercase();
    let second = like.next();
    let is_rn = first == 'r' && second == Some('n');
    let is_marked = second.is_none_or(|mark| ('\u{300}'..='\u{36F}').contains(&mark));
    match first {
        _ if is_rn => Some('m'),
        plain if plain.is_ascii_alphanumeric() && is_marked => Some(plain),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_same_however_it_is_written() {
        for name in [
            "delete_issue",
            "DELETE-Issue",
            " delete issue\n",
            "delete%5Fissue",
            "%64elete_issue",
            "%2564elete_issue",
            "ｄｅｌｅｔｅ_ｉｓｓｕｅ",
            "d\u{435}lete_issue",
            "d\u{435}l\u{435}t\u{435}_\u{456}ssu\u{435}",
            "delete\u{200b}_issue",
            "delete\u{ff3f}issue",
            "d\u{e9}lete_issue",
            "de\u{301}lete_issue",
            "𝐝𝐞𝐥𝐞𝐭𝐞_𝒊𝒔𝒔𝒖𝒆",
            "%EF%BD%84elete_issue",
        ] {
            assert_eq!(folded_name(name), "deleteissue", "{name:?}");
        }
        assert_eq!(folded_name("löschen"), "loschen");
        assert_eq!(folded_name("получить"), folded_name("ПОЛУЧИТЬ"));
        assert_ne!(folded_name("получить"), folded_name("удалить"));
    }

    #[test]
    fn plain_names_are_those_that_nobody_reads_otherwise() {
        for name in ["delete_x", "a-b.c/d:e", "Get X", "%64elete"] {
            assert!(is_plain_name(name), "{name:?}");
        }
        for name in [
            "d\u{435}lete",
            "ｄelete",
            "a\u{200b}b",
            "a\nb",
            "a\u{0}b",
            "a%00b",
            "a%0ab",
            "del\\u0065te",
            "&#100;elete",
            "a%ff",
            "100%",
            "x/../delete",
            "x/./delete",
            "get_../delete",
            "x/%2e%2e/delete",
            "x/.%2E",
            "./x",
        ] {
            assert!(!is_plain_name(name), "{name:?}");
        }
    }

    #[test]
    fn dots_between_separators_lead_elsewhere() {
        for name in [
            "x/../y",
            "x/./y",
            "..",
            ".",
            "get_../y",
            "x\\..\\y",
            "x%2F%2e%2e%2Fy",
            "x:../y",
            "x/．．/y",
        ] {
            assert!(leads_elsewhere(name), "{name:?}");
        }
        for name in ["a.b", "v1.2/x", ".hidden", "a.b.", "x_y-z", ""] {
            assert!(!leads_elsewhere(name), "{name:?}");
        }
    }
}

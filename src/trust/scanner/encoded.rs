//! Finds words that are disguised, so that a person or a pattern misses them and a model may read them: mixed alphabets, styled letters, spaced
//! letters, digits for letters, base64, base32, hexadecimal, escapes, rot13.

use std::ops::Range;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{
    Severity::{Hold, Remark},
    excerpt::excerpt,
    findings::Findings,
    fold::{fold, mixes, origin},
    orders::{gravest_in, gravest_of},
    passage::{Kind, Passage},
    pattern::Pattern,
    phrase::{Hint, Meaning},
    phrases::Phrases,
};
use crate::text::visible::letters::compatible;

/// Limit: encoded pieces of a text that are decoded, and bytes of one.
const PIECES: usize = 8;
const LONGEST: usize = 16 << 10;

/// Limit: places of a text with spaced letters.
const SPACED_PLACES: usize = 64;

/// Bytes of the shortest piece that is decoded: shorter ones may be ordinary words.
const SHORTEST: usize = 16;

/// Reads the letters of a text.
pub(super) fn read(text: &Passage<'_>, findings: &mut Findings) {
    alphabets(text, findings);
    if text.kind == Kind::Key || text.kind == Kind::Name || text.text.len() < SHORTEST {
        return;
    }
    blobs(text, findings);
    escapes(text, findings);
    spaced_out(text, findings);
    digits_for_letters(text, findings);
    turned_around(text, findings);
}

/// Finds words of mixed alphabets, and words in styled letters.
fn alphabets(text: &Passage<'_>, findings: &mut Findings) {
    if text.bytes.are_ascii() {
        return;
    }
    let (mut was_letter, mut styled) = (false, 0);
    for (at, character) in text.text.char_indices() {
        let is_letter = character.is_alphabetic();
        if is_letter && !was_letter && mixes(text.text.get(at..).unwrap_or_default()) {
            findings.add("encoded.mixed_alphabets", Hold, text, at..at + 16);
        }
        was_letter = is_letter;
        // Wide letters are usual in Chinese and Japanese.
        let is_wide = ('\u{FF01}'..='\u{FF5E}').contains(&character);
        let is_flag = ('\u{1F100}'..='\u{1F1FF}').contains(&character);
        let is_styled = !is_wide && !is_flag && is_letter && compatible(character).is_some();
        styled = if is_styled { styled + 1 } else { 0 };
        if styled == 4 {
            findings.add("encoded.styled", Remark, text, at..at + 16);
        }
    }
}

/// Decodes base64, base32 and hexadecimal.
fn blobs(text: &Passage<'_>, findings: &mut Findings) {
    let is_part = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
    };
    let mut decoded_pieces = 0;
    let spaced = spaced_hexadecimal(text.text);
    let pieces = text.text.as_bytes().split(|byte| !is_part(byte));
    let pieces = pieces.chain(spaced.as_deref().map(str::as_bytes));
    for piece in pieces {
        if piece.len() < SHORTEST || decoded_pieces >= PIECES {
            continue;
        }
        let Some(decoded) = decode(piece) else {
            continue;
        };
        decoded_pieces += 1;
        // The decoded text may be encoded again.
        let inner = decode(decoded.trim().as_bytes());
        judge_decoded(text, &inner.unwrap_or(decoded), findings);
    }
}

/// Holds a decoded text that is an order or a command; remarks on other words.
fn judge_decoded(text: &Passage<'_>, decoded: &str, findings: &mut Findings) {
    let shown = |what: &str| format!("decodes to: {}", excerpt(what));
    if let Some((_, what)) = gravest_in(decoded, &text.reader.phrases) {
        findings.note("encoded.order", Hold, text.place, shown(&what));
    } else if is_command(decoded) {
        findings.note("encoded.command", Hold, text.place, shown(decoded));
    } else if decoded.split_whitespace().count() >= 4 && !decoded.starts_with(['{', '[', '<']) {
        let severity = if gives_orders(decoded, &text.reader.phrases) {
            Hold
        } else {
            Remark
        };
        findings.note("encoded.text", severity, text.place, shown(decoded));
    }
}

/// Whether a decoded text has hints of two kinds.
fn gives_orders(decoded: &str, phrases: &Phrases) -> bool {
    let found = phrases.find(&fold(decoded));
    let hints = found.iter().filter_map(|found| match found.meaning {
        Meaning::Part(Hint::Everything | Hint::Denial | Hint::Praise) | Meaning::Finding(..) => {
            None
        }
        Meaning::Part(hint) => Some(hint.bit()),
        Meaning::Topic(_) => Some(Hint::Foreign.bit()),
    });
    hints.fold(0_u32, |all, hint| all | hint).count_ones() > 1
}

/// Whether a text has a command line that nobody encodes for good reason.
fn is_command(decoded: &str) -> bool {
    const COMMANDS: &str = r"\b(curl|wget|iwr|irm|fetch)\b.{0,200}(\||-o|-O|;|&&|https?://)|\brm -\w*[rf]|/dev/tcp/|\b(nc|ncat|netcat)\b.{0,40}-\w*[ec]|\bbash -i\b|\biex\b|downloadstring|invoke-expression|os\.system|subprocess|\beval\(|\bexec\(|chmod \+x|\bsudo\b|/bin/(ba)?sh|authorized_keys|\bmkfs|\bdd if=|powershell";
    let folded = fold(decoded);
    !Pattern::new(COMMANDS).places(&folded, 1).is_empty()
}

/// The longest row of hexadecimal pairs in a text, without its blanks: `72 6d 20` as `726d20`.
fn spaced_hexadecimal(text: &str) -> Option<String> {
    let is_pair =
        |word: &[u8]| matches!(word, [a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    let words = || {
        text.as_bytes()
            .split(|byte| matches!(byte, b' ' | b',' | b':'))
    };
    let (mut run, mut longest, mut end) = (0, 0, 0);
    for (number, word) in words().enumerate() {
        run = if is_pair(word) { run + 1 } else { 0 };
        if run > longest {
            (longest, end) = (run, number + 1);
        }
    }
    let pairs = words().skip(end - longest).take(longest).flatten();
    (longest * 2 >= SHORTEST).then(|| pairs.map(|byte| char::from(*byte)).collect())
}

/// Decodes a piece. `None` if the result is not readable text.
fn decode(piece: &[u8]) -> Option<String> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    const URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
    let piece = piece.get(..LONGEST).unwrap_or(piece);
    if piece.len() < SHORTEST {
        return None;
    }
    let decoded = from_hexadecimal(piece).and_then(readable);
    let decoded = decoded.or_else(|| from_base32(piece).and_then(readable));
    if decoded.is_some() {
        return decoded;
    }
    let whole = piece.get(..piece.len() / 4 * 4).unwrap_or_default();
    let decoded = [piece, whole].into_iter().find_map(|piece| {
        STANDARD
            .decode(piece)
            .ok()
            .or_else(|| URL.decode(piece).ok())
    });
    decoded.and_then(readable)
}

fn from_hexadecimal(piece: &[u8]) -> Option<Vec<u8>> {
    let piece = piece.strip_prefix(b"0x").unwrap_or(piece);
    if piece.len() % 2 == 1 {
        return None;
    }
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    piece.chunks(2).map(byte).collect()
}

/// Decodes base32 (RFC 4648).
fn from_base32(piece: &[u8]) -> Option<Vec<u8>> {
    let letters = piece.split(|byte| *byte == b'=').next()?;
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for letter in letters {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'2'..=b'7' => letter - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5 | u32::from(value)) & 0xFFFF;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xFF).ok()?);
        }
    }
    Some(bytes)
}

/// Bytes as text, if nine tenths of its characters are letters or visible ASCII.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let is_plain = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='~') || c.is_alphabetic();
    let text = String::from_utf8(bytes).ok()?;
    let (all, plain) = (
        text.chars().count(),
        text.chars().filter(|c| is_plain(*c)).count(),
    );
    (text.len() >= 10 && plain * 10 >= all * 9).then_some(text)
}

/// Finds orders and commands that are spelt with escapes of programming languages, HTML or URLs.
fn escapes(text: &Passage<'_>, findings: &mut Findings) {
    if !text.bytes.have_any(b"&%\\") {
        return;
    }
    let Some((decoded, escapes)) = unescaped(text.text) else {
        return;
    };
    if escapes < 4 {
        return;
    }
    if decoded.contains('\u{1B}') {
        findings.add("terminal.written_escape", Remark, text, 0..text.text.len());
    }
    hidden_order(text, &decoded, findings);
    if is_command(&decoded) && !is_command(text.text) {
        let what = format!("reads: {}", excerpt(&decoded));
        findings.note("encoded.command", Hold, text.place, what);
    }
}

/// The text with its escapes decoded, and their number: `%41`, `\x41`, `\u0041`, `\101`, `&#65;` and `&#x41;`.
fn unescaped(text: &str) -> Option<(String, usize)> {
    let mut at = text.find(['&', '%', '\\'])?;
    let (mut decoded, mut escapes, mut from) = (String::with_capacity(text.len()), 0, 0);
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let found = escape(rest);
        if let Some((character, length)) = found {
            escapes += 1;
            decoded.push_str(text.get(from..at).unwrap_or_default());
            decoded.push(character);
            from = at + length;
        }
        let next = found.map_or(at + 1, |(_, length)| at + length);
        match text
            .get(next..)
            .and_then(|rest| rest.find(['&', '%', '\\']))
        {
            Some(offset) => at = next + offset,
            None => break,
        }
    }
    decoded.push_str(text.get(from..).unwrap_or_default());
    Some((decoded, escapes))
}

/// The character of the escape at the beginning of a text, and the length of the escape.
fn escape(text: &str) -> Option<(char, usize)> {
    let forms: [(&str, u32, Range<usize>, &str); 9] = [
        ("&#x", 16, 2..5, ";"),
        ("&#", 10, 2..6, ";"),
        ("%", 16, 2..2, ""),
        ("\\x", 16, 2..2, ""),
        ("\\u{", 16, 2..5, "}"),
        ("\\u", 16, 4..4, ""),
        ("\\U", 16, 8..8, ""),
        ("\\0", 8, 3..3, ""),
        ("\\", 8, 3..3, ""),
    ];
    forms.into_iter().find_map(|(begin, radix, digits, end)| {
        let rest = text.strip_prefix(begin)?;
        let count = rest
            .bytes()
            .take(digits.end)
            .take_while(|b| char::from(*b).is_digit(radix));
        let count = count.count();
        let (number, after) = rest.split_at_checked(count)?;
        let is_whole = count >= digits.start && after.starts_with(end);
        let number = u32::from_str_radix(number, radix)
            .ok()
            .filter(|_| is_whole)?;
        let length = begin.len() + count + end.len();
        Some((char::from_u32(number).unwrap_or(' '), length))
    })
}

/// Holds a text whose decoded form gives orders that the text itself does not.
fn hidden_order(text: &Passage<'_>, decoded: &str, findings: &mut Findings) {
    if let Some((severity, what)) = gravest_in(decoded, &text.reader.phrases)
        && gravest_of(text.sentences()).is_none_or(|(plain, _)| plain < severity)
    {
        let what = format!("reads: {}", excerpt(&what));
        findings.note("encoded.order", Hold, text.place, what);
    }
}

/// What orders are made of, without the blanks that were lost among the letters.
#[rustfmt::skip]
const JOINED_ORDERS: &[&str] = &[
    "ignoreall", "ignoreprevious", "donottell", "systemprompt", "readfile", "idrsa", "apikey", "conversation", "instructions",
];

/// Finds words whose letters have a blank or a sign between each two: `i g n o r e`.
fn spaced_out(text: &Passage<'_>, findings: &mut Findings) {
    /// Single letters in a row that are more than a list of initials.
    const LETTERS: usize = 8;
    const SPACED: &str = r"\b[A-Za-z]([ ._\-|/*+~]{1,3}[A-Za-z]\b){5,}";
    let singles = text.text.as_bytes().windows(3).filter(|three| {
        let &[before, letter, after] = *three else {
            return false;
        };
        letter.is_ascii_alphabetic()
            && !before.is_ascii_alphanumeric()
            && !after.is_ascii_alphanumeric()
    });
    if singles.count() + 2 < LETTERS {
        return;
    }
    let places = Pattern::new(SPACED).places(text.text, SPACED_PLACES);
    let spaced = |range: &Range<usize>| text.text.get(range.clone()).unwrap_or_default();
    let Some(first) = places.iter().find(|range| {
        let letters = spaced(range).bytes().filter(u8::is_ascii_alphabetic);
        letters.count() >= LETTERS
    }) else {
        return;
    };
    // More than one separator in a row separates words.
    let mut joined = String::with_capacity(text.text.len());
    let mut from = 0;
    for range in &places {
        joined.push_str(text.text.get(from..range.start).unwrap_or_default());
        from = range.end;
        let mut joints = 0;
        for character in spaced(range).chars() {
            if character.is_ascii_alphabetic() {
                if joints > 1 {
                    joined.push(' ');
                }
                joints = 0;
                joined.push(character);
            } else {
                joints += 1;
            }
        }
    }
    joined.push_str(text.text.get(from..).unwrap_or_default());
    let letters: Vec<char> = spaced(first)
        .chars()
        .filter(char::is_ascii_alphabetic)
        .collect();
    let is_alphabet = letters.windows(2).all(|pair| pair[0] <= pair[1]);
    if !is_alphabet {
        findings.add("encoded.spaced_out", Remark, text, first.clone());
    }
    hidden_order(text, &joined, findings);
    let words = fold(&joined);
    if let Some(at) = JOINED_ORDERS.iter().find_map(|order| words.find(order))
        && joined != text.text
    {
        findings.add(
            "encoded.spaced_out",
            Hold,
            text,
            origin(&joined, at)..first.end,
        );
    }
}

/// Finds orders with digits for letters: `1gn0r3 pr3v10u5`.
fn digits_for_letters(text: &Passage<'_>, findings: &mut Findings) {
    const DIGITS: &[u8] = b"013457@$!";
    if !text.bytes.have_any(DIGITS) {
        return;
    }
    let inside = |word: &&[u8]| {
        let letters = word
            .iter()
            .filter(|byte| byte.is_ascii_alphabetic())
            .count();
        word.len() >= 4
            && letters >= 2
            && word
                .windows(2)
                .any(|pair| DIGITS.contains(&pair[0]) && pair[1].is_ascii_alphabetic())
    };
    let words = text.text.as_bytes().split(u8::is_ascii_whitespace);
    if words.filter(inside).count() < 2 {
        return;
    }
    let plain = |character: char| match character {
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    };
    let spelt: String = text.text.chars().map(plain).collect();
    hidden_order(text, &spelt, findings);
}

/// Decodes a text that mentions rot13. Words that are suspicious in rot13 anywhere are in `vocabulary`.
fn turned_around(text: &Passage<'_>, findings: &mut Findings) {
    if text.bytes.are_ascii() && !text.bytes.have_any(b"3") {
        return;
    }
    let folded = &text.sentences().folded;
    if !folded.contains("rot13") && !folded.contains("rot-13") {
        return;
    }
    let moved = text.text.chars().map(|c| match c {
        'a'..='m' | 'A'..='M' => char::from_u32(u32::from(c) + 13).unwrap_or(c),
        'n'..='z' | 'N'..='Z' => char::from_u32(u32::from(c) - 13).unwrap_or(c),
        other => other,
    });
    hidden_order(text, &moved.collect::<String>(), findings);
}

//! Words that are written so that a person or a pattern does not read them and a model may: mixed alphabets, styled letters, letters
//! with blanks between, digits for letters, base64, hexadecimal, escapes, and words turned around.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use regex::Regex;

use super::{
    Severity::{Hold, Remark},
    excerpt::excerpt,
    findings::Findings,
    fold::{fold, mixes, origin},
    orders::{gravest_in, gravest_of},
    passage::{Kind, Passage},
};
use crate::text::visible::letters::compatible;

/// Limit: encoded pieces of one text that are decoded, and bytes of one.
const PIECES: usize = 8;
const LONGEST: usize = 16 << 10;

/// Shortest piece that is decoded; below it words of a language look like code.
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

/// Words of two alphabets, and words in letters that are only styled.
fn alphabets(text: &Passage<'_>, findings: &mut Findings) {
    if text.text.is_ascii() {
        return;
    }
    let (mut was_letter, mut styled) = (false, 0);
    for (at, character) in text.text.char_indices() {
        let is_letter = character.is_alphabetic();
        if is_letter && !was_letter && mixes(text.text.get(at..).unwrap_or_default()) {
            findings.add("encoded.mixed_alphabets", Hold, text, at..at + 16);
        }
        was_letter = is_letter;
        // Wide letters are at home in Chinese and Japanese.
        let is_wide = ('\u{FF01}'..='\u{FF5E}').contains(&character);
        let is_flag = ('\u{1F100}'..='\u{1F1FF}').contains(&character);
        let is_styled = !is_wide && !is_flag && is_letter && compatible(character).is_some();
        styled = if is_styled { styled + 1 } else { 0 };
        if styled == 4 {
            findings.add("encoded.styled", Remark, text, at..at + 16);
        }
    }
}

/// Base64 and hexadecimal.
fn blobs(text: &Passage<'_>, findings: &mut Findings) {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte);
    let mut decoded_pieces = 0;
    let mut start = 0;
    for piece in text.text.as_bytes().split(|byte| !is_part(byte)) {
        let range = start..start + piece.len();
        start = range.end + 1;
        if piece.len() < SHORTEST || decoded_pieces >= PIECES {
            continue;
        }
        let Some(decoded) = decode(piece) else {
            continue;
        };
        decoded_pieces += 1;
        let words = decoded.split_ascii_whitespace().count();
        if let Some((_, what)) = gravest_in(&decoded) {
            let what = format!("decodes to: {}", excerpt(&what, 0..what.len()));
            findings.note("encoded.order", Hold, text.place, what);
        } else if words >= 4 {
            let what = format!("decodes to: {}", excerpt(&decoded, 0..decoded.len()));
            findings.note("encoded.text", Hold, text.place, what);
        }
    }
}

/// The text that a piece decodes to, if it is one.
fn decode(piece: &[u8]) -> Option<String> {
    const LENIENT: base64::engine::GeneralPurposeConfig =
        base64::engine::GeneralPurposeConfig::new()
            .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true);
    const STANDARD: base64::engine::GeneralPurpose =
        base64::engine::GeneralPurpose::new(&base64::alphabet::STANDARD, LENIENT);
    const URL: base64::engine::GeneralPurpose =
        base64::engine::GeneralPurpose::new(&base64::alphabet::URL_SAFE, LENIENT);
    let piece = piece.get(..LONGEST).unwrap_or(piece);
    if let Some(decoded) = from_hexadecimal(piece).and_then(readable) {
        return Some(decoded);
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

fn readable(bytes: Vec<u8>) -> Option<String> {
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let text = String::from_utf8(bytes).ok()?;
    let plain = text.bytes().filter(is_plain).count();
    (text.len() >= 10 && plain * 10 >= text.len() * 9).then_some(text)
}

/// Escapes of programming languages, of HTML and of addresses that spell orders.
fn escapes(text: &Passage<'_>, findings: &mut Findings) {
    static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"&#x([0-9a-fA-F]{2,5});|&#([0-9]{2,6});|%([0-9a-fA-F]{2})|\\x([0-9a-fA-F]{2})|\\u\{?([0-9a-fA-F]{4,5})\}?|\\0?([0-3][0-7]{2})";
        Regex::new(pattern).expect("the pattern is ours, and a test compiles it")
    });
    if !text
        .text
        .bytes()
        .any(|byte| matches!(byte, b'&' | b'%' | b'\\'))
    {
        return;
    }
    let mut escapes = 0;
    let decoded = ESCAPE.replace_all(text.text, |found: &regex::Captures<'_>| {
        escapes += 1;
        let number = found.iter().skip(1).enumerate().find_map(|(i, group)| {
            let radix = [16, 10, 16, 16, 16, 8].get(i)?;
            u32::from_str_radix(group?.as_str(), *radix).ok()
        });
        number.and_then(char::from_u32).unwrap_or(' ').to_string()
    });
    if escapes < 4 {
        return;
    }
    if decoded.contains('\u{1B}') {
        findings.add("terminal.written_escape", Remark, text, 0..text.text.len());
    }
    hidden_order(text, &decoded, findings);
}

/// Holds a text whose decoded form gives orders that the text itself does not.
fn hidden_order(text: &Passage<'_>, decoded: &str, findings: &mut Findings) {
    if let Some((severity, what)) = gravest_in(decoded)
        && gravest_of(text.sentences()).is_none_or(|(plain, _)| plain < severity)
    {
        let what = format!("reads: {}", excerpt(&what, 0..what.len()));
        findings.note("encoded.order", Hold, text.place, what);
    }
}

/// Letters with a blank or a point between each two.
fn spaced_out(text: &Passage<'_>, findings: &mut Findings) {
    /// So many single letters in a row are no list of initials.
    const LETTERS: usize = 8;
    static SPACED: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"(?-u:\b)[A-Za-z]([ ._\-|/*+~]{1,3}[A-Za-z](?-u:\b)){5,}";
        Regex::new(pattern).expect("the pattern is ours, and a test compiles it")
    });
    let Some(first) = SPACED.find_iter(text.text).find(|found| {
        let letters = found.as_str().bytes().filter(u8::is_ascii_alphabetic);
        letters.count() >= LETTERS
    }) else {
        return;
    };
    // More than one joint in a row parts words.
    let joined = SPACED.replace_all(text.text, |found: &regex::Captures<'_>| {
        let mut word = String::new();
        let mut joints = 0;
        for character in found[0].chars() {
            if character.is_ascii_alphabetic() {
                if joints > 1 {
                    word.push(' ');
                }
                joints = 0;
                word.push(character);
            } else {
                joints += 1;
            }
        }
        word
    });
    let letters: Vec<char> = first
        .as_str()
        .chars()
        .filter(char::is_ascii_alphabetic)
        .collect();
    let is_alphabet = letters.windows(2).all(|pair| pair[0] <= pair[1]);
    if !is_alphabet {
        findings.add("encoded.spaced_out", Remark, text, first.range());
    }
    hidden_order(text, &joined, findings);
    let words = fold(&joined);
    let bare = [
        "ignoreall",
        "ignoreprevious",
        "donottell",
        "systemprompt",
        "readfile",
        "idrsa",
        "apikey",
        "conversation",
        "instructions",
    ];
    if let Some(at) = bare.iter().find_map(|bare| words.find(bare))
        && joined != text.text
    {
        findings.add(
            "encoded.spaced_out",
            Hold,
            text,
            origin(&joined, at)..first.end(),
        );
    }
}

/// `1gn0r3 pr3v10u5`.
fn digits_for_letters(text: &Passage<'_>, findings: &mut Findings) {
    let is_digit = |byte: u8| {
        matches!(
            byte,
            b'0' | b'1' | b'3' | b'4' | b'5' | b'7' | b'@' | b'$' | b'!'
        )
    };
    let inside = |word: &&[u8]| {
        let letters = word
            .iter()
            .filter(|byte| byte.is_ascii_alphabetic())
            .count();
        word.len() >= 4
            && letters >= 2
            && word
                .windows(2)
                .any(|pair| is_digit(pair[0]) && pair[1].is_ascii_alphabetic())
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

/// Telling words, backwards or with letters moved by thirteen.
fn turned_around(text: &Passage<'_>, findings: &mut Findings) {
    static WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let words = [
            "snoitcurtsni",
            "suoiverp",
            "tpmorp metsys",
            "resu eht",
            "asr_di",
            "hss.",
            "yek ipa",
            "noitasrevnoc",
            "vafgehpgvbaf",
            "cerivbhf",
            "flfgrz cebzcg",
            "gur hfre",
            "vq_efn",
            ".ffu/",
            "ncv xrl",
            "pbairefngvba",
        ];
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(words)
            .expect("the words are ours, few and short")
    });
    if let Some(found) = WORDS.find(text.text) {
        findings.add("encoded.turned_around", Hold, text, found.range());
    }
}

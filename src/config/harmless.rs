//! A quick look that tells whether there is anything to mask at all: one pass over the bytes. What it lets pass [`super::strangers_text`]
//! would leave as it is; what it does not let pass may still be harmless. It masks nothing.

use std::sync::LazyLock;

use memchr::memchr2;

use super::masking::{SECRET_NAMES, SECRET_PREFIXES, SECRET_SCHEMES, SECRET_WORDS};

/// How much of a part of a name is compared. Each has that many letters.
const STEM: usize = 5;

/// Limit: longer texts are looked at properly, and so is what nests deeper.
const LONGEST: usize = 256;
const DEEPEST: u32 = 16;

/// Limit: longer runs of letters with a digit may be tokens, and longer numbers may be anything.
const LONGEST_RUN: usize = 19;

/// How long the first part of a UUID is.
const UUID_START: usize = 8;

/// Made of the lists of [`super::masking`].
struct Tables {
    /// The beginnings of parts of secret names, as numbers, sorted.
    stems: Vec<u64>,
    /// Which three letters end one of them, a bit for each by [`triple`].
    ends: [u64; TRIPLES / 64],
    /// Beginnings of credentials by their first byte.
    prefixes: [Vec<&'static [u8]>; 128],
    /// The second bytes of those, a bit for each by its last five.
    seconds: [u32; 128],
    /// How long the words are that announce a credential, a bit for each length, by the last five bits of their first letter.
    words: [u16; 32],
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let number = |part: &str| {
        let first = part.bytes().take(STEM);
        first.fold(0, |number, byte| number << 8 | u64::from(byte))
    };
    let mut stems: Vec<u64> = SECRET_NAMES.iter().map(|part| number(part)).collect();
    stems.sort_unstable();
    let mut ends = [0; TRIPLES / 64];
    for part in SECRET_NAMES {
        let last = part.bytes().take(STEM).fold(0, triple);
        ends[last / 64] |= 1 << (last % 64);
    }
    let (mut prefixes, mut seconds) = ([const { Vec::new() }; 128], [0; 128]);
    for prefix in SECRET_PREFIXES.iter().map(|prefix| prefix.as_bytes()) {
        if let [first, second, ..] = prefix
            && first.is_ascii()
        {
            prefixes[usize::from(*first)].push(prefix);
            seconds[usize::from(*first)] |= 1 << (second & 0x1f);
        }
    }
    let mut words = [0; 32];
    for word in SECRET_WORDS.iter().chain(SECRET_SCHEMES) {
        words[letter_of(word.as_bytes())] |= bit_of_length(word.len());
    }
    Tables {
        stems,
        ends,
        prefixes,
        seconds,
        words,
    }
});

impl Tables {
    /// Whether the last letters of a text are a stem, whatever stands between them.
    fn end_in_stem(&self, text: &[u8]) -> bool {
        let letters = text.iter().rev().filter(|b| b.is_ascii_alphanumeric());
        let last = letters.take(STEM).enumerate();
        // As small letters; digits have that bit anyhow.
        let number = last.fold(0, |number, (at, byte)| {
            number | u64::from(byte | 0x20) << (8 * at)
        });
        self.stems.binary_search(&number).is_ok()
    }

    /// Whether a text has a stem that ends with one of so many letters.
    fn any_ends_in_stem(&self, text: &[u8], from: usize, length: usize) -> bool {
        (from..from + length).any(|last| {
            text.get(..=last)
                .is_some_and(|until| self.end_in_stem(until))
        })
    }

    /// Whether letters are as long as a word that begins like them and announces a credential.
    fn may_be_word(&self, run: &[u8]) -> bool {
        self.words[letter_of(run)] & bit_of_length(run.len()) != 0
    }

    fn begins_credential(&self, text: &[u8]) -> bool {
        let [first, second, ..] = text else {
            return false;
        };
        let may_begin = |seconds: &u32| seconds & 1 << (second & 0x1f) != 0;
        let at = usize::from(*first);
        self.seconds.get(at).is_some_and(may_begin)
            && self.prefixes[at]
                .iter()
                .any(|prefix| text.starts_with(prefix))
    }
}

/// How many times three letters there are. Five bits tell small letters apart; digits look like some of them, which costs a search.
const TRIPLES: usize = 1 << 15;

/// The three letters that this one ends.
fn triple(before: usize, letter: u8) -> usize {
    (before << 5 | usize::from(letter & 0x1f)) % TRIPLES
}

/// What tells the first letter of a word, large or small.
fn letter_of(word: &[u8]) -> usize {
    word.first().map_or(0, |letter| usize::from(letter & 0x1f))
}

/// Words are short.
fn bit_of_length(length: usize) -> u16 {
    u32::try_from(length)
        .ok()
        .and_then(|length| 1_u16.checked_shl(length))
        .unwrap_or(0)
}

/// What a byte may be part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Letters and digits.
    Alphanumeric,
    /// What says nothing, whatever stands beside it.
    Plain,
    /// What may have a secret beside it.
    Sign,
}

static KINDS: [Kind; 256] = {
    let mut table = [Kind::Plain; 256];
    let mut byte = 0;
    while byte < 128 {
        #[expect(clippy::cast_possible_truncation, reason = "it is below 128")]
        let character = byte as u8;
        if character.is_ascii_alphanumeric() {
            table[byte] = Kind::Alphanumeric;
        } else if matches!(
            character,
            0..b' ' | b':' | b'@' | b'/' | b'-' | b'%' | b'=' | b'<' | b'\\'
        ) {
            table[byte] = Kind::Sign;
        }
        byte += 1;
    }
    table
};

/// Whether there is certainly nothing in a text that would be masked, whatever it is the value of and whatever stands beside it.
pub fn is_harmless(text: &str) -> bool {
    text.len() <= LONGEST && is_harmless_text(&TABLES, text.as_bytes())
}

/// The same for JSON: nothing in it would be masked or shown otherwise.
pub fn is_harmless_json(json: &[u8]) -> bool {
    let tables = &*TABLES;
    let (mut at, mut depth, mut digits) = (0, 0_u32, 0);
    while let Some(&byte) = json.get(at) {
        at += 1;
        digits = if matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E') {
            digits + 1
        } else {
            0
        };
        match byte {
            b'"' => {
                let rest = json.get(at..).unwrap_or_default();
                let Some(length) = memchr2(b'"', b'\\', rest) else {
                    return false;
                };
                let (whole, mut unescaped) = (rest.get(..length).unwrap_or_default(), [0; LONGEST]);
                let (text, length) = if rest.get(length) == Some(&b'"') {
                    (whole, length)
                } else {
                    match unescape(rest, &mut unescaped) {
                        Some((text, length)) => (text, length),
                        None => return false,
                    }
                };
                if text.len() > LONGEST || may_be_json(text) || !is_harmless_text(tables, text) {
                    return false;
                }
                at += length + 1;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > DEEPEST {
                    return false;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            // An exponent is left out where the number is shown as a text, which may have a secret in it then.
            b'e' | b'E' if digits > 1 => return false,
            // White space other than blanks: records are lines.
            0..b' ' => return false,
            _ if digits > LONGEST_RUN => return false,
            _ => (),
        }
    }
    true
}

/// What a text of JSON says, to its quote, and how many bytes it has there. Nothing if it is too long, has no quote, or has an escape that
/// is not written like this where it is written anew.
fn unescape<'a>(json: &[u8], into: &'a mut [u8; LONGEST]) -> Option<(&'a [u8], usize)> {
    let (mut at, mut length) = (0, 0);
    loop {
        let rest = json.get(at..)?;
        let plain = memchr2(b'"', b'\\', rest)?;
        let room = into.get_mut(length..length + plain)?;
        room.copy_from_slice(rest.get(..plain)?);
        (at, length) = (at + plain, length + plain);
        if rest.get(plain) == Some(&b'"') {
            return Some((into.get(..length)?, at));
        }
        *into.get_mut(length)? = match json.get(at + 1)? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'"' => b'"',
            _ => return None,
        };
        (at, length) = (at + 2, length + 1);
    }
}

/// JSON in a text has names of its own.
fn may_be_json(text: &[u8]) -> bool {
    let mut visible = text.iter().filter(|b| b.is_ascii() && **b > b' ');
    matches!(visible.next(), Some(b'{' | b'['))
}

fn is_harmless_text(tables: &Tables, text: &[u8]) -> bool {
    let mut last = 0;
    let mut at = 0;
    // `server:tool` is a name; what might be an address with a login is not.
    let (mut has_joined, mut may_be_address) = (false, false);
    while let Some(&byte) = text.get(at) {
        if KINDS[usize::from(byte)] == Kind::Plain {
            at += 1;
            continue;
        }
        if KINDS[usize::from(byte)] == Kind::Sign {
            let is_flag = byte == b'-' && begins_flag(text.get(at + 1..).unwrap_or_default());
            let is_sign = match byte {
                // As in prose: what is masked behind it then has a name that says so.
                b':' => match text.get(at + 1) {
                    Some(b' ') => false,
                    Some(b'a'..=b'z' | b'A'..=b'Z') => {
                        has_joined = true;
                        false
                    }
                    _ => true,
                },
                b'@' | b'/' => {
                    may_be_address = true;
                    false
                }
                b'-' | b'%' | b'\n' | b'\r' | b'\t' => false,
                _ => true,
            };
            let is_escape = byte == b'%' && text.get(at + 1) == Some(&b'3');
            if is_flag || is_sign || is_escape {
                return false;
            }
            at += 1;
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let (mut length, mut may_end_stem) = (0, 0);
        for &byte in rest {
            if KINDS[usize::from(byte)] != Kind::Alphanumeric {
                break;
            }
            length += 1;
            last = triple(last, byte);
            // Few end a stem, so few are looked for.
            may_end_stem |= tables.ends[last / 64] >> (last % 64);
        }
        if may_end_stem & 1 != 0 && tables.any_ends_in_stem(text, at, length) {
            return false;
        }
        let (run, after) = rest.split_at(length);
        let is_uuid = length == UUID_START && after.first() == Some(&b'-');
        if is_uuid || tables.begins_credential(rest) || says_something(tables, run) {
            return false;
        }
        at += length;
    }
    !(has_joined && may_be_address)
}

/// Whether what stands behind a dash makes a flag of it, behind which a secret may stand.
fn begins_flag(rest: &[u8]) -> bool {
    match rest {
        [b'-', ..] | [b'u' | b'U'] => true,
        [b'u' | b'U', next, ..] => KINDS[usize::from(*next)] != Kind::Alphanumeric,
        _ => false,
    }
}

/// Whether letters and digits with nothing between them could be a token, or are a word that announces one.
fn says_something(tables: &Tables, run: &[u8]) -> bool {
    if run.len() > LONGEST_RUN {
        return run.iter().any(u8::is_ascii_digit);
    }
    let is_word = |words: &[&str]| {
        let mut words = words.iter();
        words.any(|word| word.as_bytes().eq_ignore_ascii_case(run))
    };
    tables.may_be_word(run) && (is_word(SECRET_WORDS) || is_word(SECRET_SCHEMES))
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use super::*;
    use crate::config::strangers_text::{mask_text_for_records, mask_value_for_records};

    #[test]
    fn the_lists_are_such_that_nothing_is_missed() {
        for part in SECRET_NAMES {
            assert!(part.len() >= STEM, "{part} has fewer letters than a stem");
            assert!(part.bytes().all(|b| b.is_ascii_lowercase()), "{part}");
        }
        for word in SECRET_WORDS.iter().chain(SECRET_SCHEMES) {
            assert!(word.len() < 16, "{word} is longer than there are bits");
        }
        for prefix in SECRET_PREFIXES {
            let first = prefix.as_bytes()[0];
            let is_known = first.is_ascii_alphanumeric() || prefix.starts_with("--");
            assert!(is_known, "{prefix} begins no run and is no flag");
            assert!(prefix.len() > 1, "{prefix} has no second byte");
        }
    }

    #[test]
    fn ordinary_arguments_are_harmless() {
        for json in [
            r#"{"path":"/home/me/notes.md","limit":10,"deep":[true,null,1.5]}"#,
            r#"{ "query": "how do I bake bread?", "page": 2 }"#,
            r#"{"text":"Größe und Gewicht, bitte"}"#,
            r#"{"name":"github:list_issues","args":{"a:b":1}}"#,
            r#"{"text":"Of \"these\": two\tof three,\r\nand so on"}"#,
        ] {
            assert!(is_harmless_json(json.as_bytes()), "{json}");
        }
        assert!(is_harmless(&"x".repeat(100)));
        for json in [
            r#"{"token":"x"}"#,
            r#"{"to_ken":1}"#,
            r#"["--x","y"]"#,
            r#"{"a":"b:c@d"}"#,
            r#"{"a":"c/d a:b"}"#,
            r#"{"a":"b:1"}"#,
            r#"{"a":"b:"}"#,
            r#"{"a":"Cookie: c"}"#,
            r#"["-u","bob: S"]"#,
            r#"{"a":"x\u000ay"}"#,
            r#"{"a":"x\/y"}"#,
            r#"{"a":"x\\y"}"#,
            r#"{"a":"\""#,
            r#"{"a":"\"#,
            "{\"a\":\n1}",
            r#"{"a":" {\"b\":1}"}"#,
            r#"{"a":123456789012345678901}"#,
            r#"["ghp_0123"]"#,
            "[42424.2e1]",
            r#"["x pat y"]"#,
        ] {
            assert!(!is_harmless_json(json.as_bytes()), "{json}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        let known = [SECRET_NAMES, SECRET_WORDS, SECRET_SCHEMES, SECRET_PREFIXES].concat();
        let piece = prop_oneof![
            select(known).prop_map(str::to_owned),
            "[a-zA-Z0-9]{1,24}",
            "[0-9a-f]{8}-[0-9a-f]{4}",
            "[ .,:=/@_'(?&%<>\"\n\r\t-]{1,3}",
            select(vec![
                ": ",
                ": \"",
                "\": \"",
                "\n",
                " is ",
                "authorization",
                "Set-Cookie",
                "cookie"
            ])
            .prop_map(str::to_owned),
            select(vec![
                "//u@h", "//u:x@h", "/x?a=", "<a>", "</", "@tcp(", "%3D", "]=", "-u "
            ])
            .prop_map(str::to_owned),
            "\\PC{0,4}",
        ];
        prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_is_harmless_is_not_masked(text in text(), name in text()) {
            if is_harmless(&text) {
                prop_assert_eq!(mask_text_for_records(&text), text.as_str());
                if is_harmless(&name) {
                    prop_assert_eq!(mask_value_for_records(&name, &text), text.as_str());
                }
            }
        }

        #[test]
        fn no_bytes_panic(json in prop::collection::vec(any::<u8>(), 0..200)) {
            is_harmless_json(&json);
        }
    }
}

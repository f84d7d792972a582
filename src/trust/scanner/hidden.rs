//! Finds characters that a person does not see and a model reads, and characters that turn the direction of a text.

use super::{
    Findings, Passage,
    Severity::{self, Hold, Remark},
};
use crate::text::visible::{is_hidden, is_private, is_tag};

/// Hidden characters in a row that are no accident but carry a message.
const RUN: usize = 4;

/// Blanks, and line ends, in a row that push the following text out of sight.
const FAR_BLANKS: usize = 120;
const FAR_LINES: usize = 20;

pub(super) fn read(text: &Passage<'_>, findings: &mut Findings) {
    far_text(text, findings);
    if text.bytes.are_ascii() {
        return;
    }
    let mut before = Preceding::default();
    for (at, character) in text.text.char_indices() {
        let next = text
            .text
            .get(at + character.len_utf8()..)
            .unwrap_or_default();
        if is_hidden(character)
            && let Some((rule, severity)) = judge(character, &before, next, text.text)
        {
            findings.add(rule, severity, text, at..at + character.len_utf8());
        }
        before.pass(character);
    }
}

/// What is known of the characters before one.
#[derive(Default)]
struct Preceding {
    /// The last visible one.
    seen: Option<char>,
    /// The one directly before.
    last: Option<char>,
    /// The number of hidden ones directly before.
    run: usize,
    /// Whether tag characters spell a flag.
    in_flag: bool,
}

impl Preceding {
    fn pass(&mut self, character: char) {
        self.last = Some(character);
        if is_hidden(character) {
            self.run += 1;
            self.in_flag &= is_tag(character);
        } else {
            self.run = 0;
            self.seen = Some(character);
            self.in_flag = character == '\u{1F3F4}';
        }
    }
}

fn judge(
    character: char,
    before: &Preceding,
    next: &str,
    whole: &str,
) -> Option<(&'static str, Severity)> {
    let next = next.chars().next();
    let between_latin = before.last.is_some_and(|c| c.is_ascii_alphanumeric())
        && next.is_some_and(|c| c.is_ascii_alphanumeric());
    let zero_width = (
        "hidden.zero_width",
        if between_latin { Hold } else { Remark },
    );
    match character {
        // England, Scotland and Wales have flags of five letters and an end.
        tag if is_tag(tag) && before.in_flag && before.run < 6 => None,
        tag if is_tag(tag) => Some(("hidden.tags", Hold)),
        // Isolates set off a word of the other direction; the older marks can turn a whole line.
        '\u{2066}'..='\u{2069}' if whole.chars().any(is_right_to_left) => None,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Some(("hidden.direction", Hold)),
        '\u{200E}' | '\u{200F}' | '\u{61C}' => {
            (!whole.chars().any(is_right_to_left)).then_some(("hidden.direction", Remark))
        }
        _ if before.run + 1 >= RUN => Some(("hidden.run", Hold)),
        private if is_private(private) => Some(("hidden.private_use", Remark)),
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => {
            let odd = before.run > 0 && before.last != Some('\u{200D}')
                || before.seen.is_none_or(|seen| seen.is_ascii_alphabetic());
            odd.then_some(("hidden.variation", Hold))
        }
        // Joiners of emoji, and of letters in scripts in which letters join.
        '\u{200C}' | '\u{200D}' => {
            let joins =
                before.seen.is_some_and(|c| !c.is_ascii()) && next.is_some_and(|c| !c.is_ascii());
            (!joins).then_some(zero_width)
        }
        '\u{FEFF}' if before.last.is_none() => None,
        // One or two may mark where long words break; more are there to hide words from patterns.
        '\u{AD}' => {
            (whole.matches('\u{AD}').count() > 2).then_some(("hidden.soft_hyphens", Remark))
        }
        _ => Some(zero_width),
    }
}

/// Finds text after so many blanks or empty lines that a person who reads the beginning does not scroll to it.
fn far_text(text: &Passage<'_>, findings: &mut Findings) {
    if text.text.len() <= FAR_BLANKS && !text.bytes.have_any(b"\n") {
        return;
    }
    let (mut blanks, mut lines) = (0, 0);
    for (at, byte) in text.text.bytes().enumerate() {
        match byte {
            b'\n' => lines += 1,
            b' ' | b'\t' | b'\r' => blanks += 1,
            _ => {
                if lines >= FAR_LINES || blanks >= FAR_BLANKS {
                    findings.add("hidden.far_text", Hold, text, at..text.text.len());
                }
                (blanks, lines) = (0, 0);
            }
        }
    }
}

fn is_right_to_left(character: char) -> bool {
    matches!(character, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}')
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::trust::scanner::passage::{Kind, PassageReader};

    /// The rules that object to a description, each once.
    pub(in crate::trust::scanner) fn found_by(
        read: impl Fn(&Passage<'_>, &mut Findings),
        text: &str,
    ) -> Vec<(&'static str, Severity)> {
        let (mut findings, reader) = (Findings::default(), PassageReader::default());
        let text = Passage::new("/description", Kind::Prose, text, &reader);
        read(&text, &mut findings);
        let found = findings.done().into_iter();
        found.map(|found| (found.rule, found.severity)).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Severity)]) {
        assert_eq!(found_by(read, text), expected, "{text:?}");
    }

    #[test]
    fn ordinary_text_of_any_script_passes() {
        check("Reads a file.\n\n    indented\n", &[]);
        check("天気を調べる。获取天气。날씨", &[]);
        check("می‌خواهم", &[]);
        check("क्‍ष", &[]);
        check("👩‍💻 ❤️ 1️⃣ 👨‍👩‍👧 🏳️‍🌈 ✔️", &[]);
        check(
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} flag",
            &[],
        );
        check("שלום\u{200f}!", &[]);
        check("\u{feff}with a mark of byte order", &[]);
        check("soft\u{ad}hyphen", &[]);
        check("رقم \u{2066}IBAN\u{2069}", &[]);
    }

    #[test]
    fn hidden_characters_are_found() {
        check(
            "hi\u{e0072}\u{e0065}\u{e0061}\u{e0064}",
            &[("hidden.tags", Hold)],
        );
        check("ig\u{200b}nore", &[("hidden.zero_width", Hold)]);
        check("ig\u{2060}nore", &[("hidden.zero_width", Hold)]);
        check("end.\u{200b} Next", &[("hidden.zero_width", Remark)]);
        check("a\u{200d}b", &[("hidden.zero_width", Hold)]);
        check(
            "x\u{200b}\u{200c}\u{200b}\u{200c}",
            &[("hidden.run", Hold), ("hidden.zero_width", Remark)],
        );
        check("a\u{fe01}", &[("hidden.variation", Hold)]);
        check("😀\u{e0150}\u{e0151}", &[("hidden.variation", Hold)]);
        check("\u{e001}", &[("hidden.private_use", Remark)]);
        check(
            "\u{e001}\u{e002}\u{e003}\u{e004}",
            &[("hidden.run", Hold), ("hidden.private_use", Remark)],
        );
        check("file\u{202e}gpj.exe", &[("hidden.direction", Hold)]);
        check("\u{2066}x\u{2069}", &[("hidden.direction", Hold)]);
        check("left\u{200e}", &[("hidden.direction", Remark)]);
        check(
            &format!("Adds.{}Then more", " ".repeat(200)),
            &[("hidden.far_text", Hold)],
        );
        check(
            &format!("Adds.{}Then more", "\n".repeat(40)),
            &[("hidden.far_text", Hold)],
        );
    }
}

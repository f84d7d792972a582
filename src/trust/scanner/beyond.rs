//! Finds parameters that ask for what is none of a tool's business.

use super::{
    Severity::{Hold, Remark},
    excerpt::excerpt,
    findings::Findings,
    fold::words_of_name,
    passage::Passage,
    phrase::Meaning,
    purpose::ToolPurpose,
};

/// Reads the name of a parameter.
pub(super) fn read_name(text: &Passage<'_>, findings: &mut Findings) {
    let purpose = &text.reader.purpose;
    let words = words_of_name(text.text);
    let found = text.reader.phrases.find(&words);
    let is_beyond = found.iter().any(|found| match found.meaning {
        Meaning::Topic(topic) => {
            let found = words.get(found.range.clone()).unwrap_or_default();
            purpose.is_beyond(topic, found)
        }
        _ => false,
    });
    if is_beyond {
        purpose.note(text.text);
        let whole = 0..text.text.len();
        findings.add("parameters.beyond_purpose", Remark, text, whole);
    }
}

/// Holds a tool that asks for several such things.
pub(super) fn read_all(purpose: &ToolPurpose, findings: &mut Findings) {
    let asked = purpose.asked();
    if asked.len() > 1 {
        let names = asked.join(", ");
        let names = excerpt(&names, 0..names.len());
        findings.note("parameters.beyond_purpose", Hold, "/inputSchema", names);
    }
}

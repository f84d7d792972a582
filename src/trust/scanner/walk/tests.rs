use super::*;
use crate::trust::scanner::{
    fold::words_of_name, gravest, parameters, phrase::Hint, phrases::Match, read,
};

fn texts(json: &str) -> Vec<(String, Kind, String)> {
    let mut found = Vec::new();
    let mut findings = Findings::default();
    let raw = Raw::parse_str(json).expect("JSON");
    definition(&raw, &PassageReader::default(), &mut findings, |text, _| {
        if text.kind != Kind::Key {
            found.push((text.place.to_owned(), text.kind, text.text.to_owned()));
        }
    });
    assert_eq!(findings.done(), []);
    found
}

#[test]
fn every_text_is_read_with_its_place() {
    let json = r#"{"name":"t","description":"d","inputSchema":{"properties":{"a/b":{"default":"x","enum":["y",1,null]}}},
            "description":"twice"}"#;
    let place = |place: &str, kind, text: &str| (place.to_owned(), kind, text.to_owned());
    let expected = [
        place("/name", Kind::Name, "t"),
        place("/description", Kind::Prose, "d"),
        place("/inputSchema/properties/a~1b/default", Kind::Value, "x"),
        place("/inputSchema/properties/a~1b/enum/0", Kind::Value, "y"),
        place("/description", Kind::Prose, "twice"),
    ];
    assert_eq!(texts(json), expected);
}

#[test]
fn no_rule_objects_to_what_nearly_every_schema_has() {
    let (mut findings, reader) = (Findings::default(), PassageReader::default());
    let keys = KEYS.map(|key| (Kind::Key, key));
    for (kind, word) in keys
        .into_iter()
        .chain(VALUES.map(|value| (Kind::Value, value)))
    {
        // What a tool is for decides nothing of it.
        let found = reader.phrases.find(&words_of_name(word));
        let is_mere_hint =
            |found: &Match| found.hint().is_some_and(|hint| hint != Hint::Belongings);
        assert!(found.iter().all(is_mere_hint), "{word}");
        for place in [
            "/properties/a",
            "/required/0",
            "/default",
            "/enum/0",
            "/title",
        ] {
            let text = Passage::new(place, kind, word, &reader);
            parameters::read(&text, &mut findings);
            read(&text, &[], &mut findings);
        }
    }
    assert_eq!(findings.done(), []);
}

#[test]
fn what_cannot_be_read_is_held() {
    let deep = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let huge = format!(r#"{{"description":"{}"}}"#, "x".repeat(BYTES + 1));
    let cases = [
        (r#"{"description":"\ud800"}"#.to_owned(), "unread.text"),
        (deep(DEPTH + 1), "unread.depth"),
        (deep(400), "unread.depth"),
        (huge, "unread.size"),
    ];
    for (json, rule) in cases {
        let mut findings = Findings::default();
        let raw = Raw::parse_str(&json).expect("JSON");
        definition(&raw, &PassageReader::default(), &mut findings, |_, _| ());
        let findings = findings.done();
        assert!(findings.iter().any(|found| found.rule == rule), "{rule}");
        assert_eq!(gravest(&findings), Some(Severity::Hold));
    }
}

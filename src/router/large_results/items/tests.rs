use super::*;

#[test]
fn texts_are_told_from_everything_else() {
    let check = |item: &str, text: Option<&str>, again: &str| {
        let result = Raw::parse_str(&format!(r#"{{"content":[{item}]}}"#)).expect("JSON");
        let items = read(&result).expect("a content");
        let [ContentItem { raw, text: found }] = &items[..] else {
            panic!("one item: {item}");
        };
        assert_eq!(raw.as_str(), item);
        assert_eq!(found.as_ref().map(|(_, text)| &**text), text, "{item}");
        if let Some((frame, _)) = found {
            assert_eq!(frame.with("new \"one\"").as_str(), again);
        }
    };
    check(
        r#"{"type":"text","text":"a\u00e4\n"}"#,
        Some("aä\n"),
        r#"{"type":"text","text":"new \"one\""}"#,
    );
    check(
        r#"{"text":"a", "type":"text","annotations":{"priority":1.0}}"#,
        Some("a"),
        r#"{"text":"new \"one\"", "type":"text","annotations":{"priority":1.0}}"#,
    );
    check(
        r#"{"type":"resource","resource":{"uri":"x:y","text":"a","mimeType":"m"},"_meta":{}}"#,
        Some("a"),
        r#"{"type":"resource","resource":{"uri":"x:y","text":"new \"one\"","mimeType":"m"},"_meta":{}}"#,
    );
    for other in [
        r#"{"type":"image","data":"AAAA","mimeType":"image/png"}"#,
        r#"{"type":"audio","data":"AAAA","mimeType":"audio/wav"}"#,
        r#"{"type":"resource","resource":{"uri":"x:y","blob":"AAAA"}}"#,
        r#"{"type":"resource_link","uri":"x:y","name":"n"}"#,
        r#"{"type":"video","text":"t"}"#,
        r#"{"type":"text","text":"\ud800"}"#,
        r#"{"type":"text","text":7}"#,
        r#"{"type":"text"}"#,
        r#"{"text":"t"}"#,
        "7",
    ] {
        check(other, None, "");
    }
    assert!(read(&Raw::parse_str(r#"{"task":{}}"#).expect("JSON")).is_none());
}

use super::*;

#[test]
fn texts_are_told_from_everything_else() {
    let check = |item: &str, text: Option<&str>, again: &str| {
        let result = Raw::parse_str(&format!(r#"{{"content":[{item}]}}"#)).expect("JSON");
        let items = read(&result).expect("a content");
        match &items[..] {
            [ContentItem::Text(found)] => {
                assert_eq!(Some(&*found.text), text, "{item}");
                assert_eq!(found.frame.with("new \"one\"").as_str(), again);
                assert_eq!(found.raw.as_str(), item);
            }
            [ContentItem::Other(found)] => {
                assert_eq!(text, None, "{item}");
                assert_eq!(found.as_str(), item);
            }
            _ => panic!("one item: {item}"),
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

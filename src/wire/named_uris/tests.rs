use super::*;

const RENAMED: &str = "ui://z/x";

fn other(uri: &str) -> Option<String> {
    (uri == "ui://x").then(|| RENAMED.to_owned())
}

#[test]
fn each_place_that_names_a_renamed_uri_is_changed_and_nothing_else() {
    for (method, before) in [
        (
            method::TOOLS_CALL,
            r#"{ "content" : [ {"type":"resource_link","uri" : URI ,"n":1.10} , {"type":"text","text":"ui://x","uri":"ui://x"}],"structuredContent":{"uri":"ui://x"}}"#,
        ),
        (
            method::TOOLS_CALL,
            r#"{"content":[{"resource":{"text":"ui://x","uri":URI},"type":"resourc\u0065"},{"type":"resource","resource":{"uri":"ui://y"}}],"x":1e400}"#,
        ),
        (
            method::TOOLS_CALL,
            r#"{"_meta":{"ui":{"a":1.0,"resourceUri":URI},"ui/resourceUri":URI},"content":[7,{"type":"resource_link","uri":7}]}"#,
        ),
        (
            method::TASKS_GET,
            r#"{"content":[{"type":"resource_link","uri":"ui://x"}],"result":{"content":[{"type":"resource_link","uri":URI}]}}"#,
        ),
        (
            method::PROMPTS_GET,
            r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":URI}}},{"content":"ui://x"}],"_meta":{"ui":{"resourceUri":"ui://x"}}}"#,
        ),
        (
            method::RESOURCES_READ,
            r#"{"contents":[{"text":"","uri":URI},{"uri":"ui://x/part"}]}"#,
        ),
        (method::COMPLETE, r#"{"contents":[{"uri":"ui://x"}]}"#),
    ] {
        for spelled in [r#""ui://x""#, r#""u\u0069:\/\/x""#] {
            let result = Raw::parse_str(&before.replace("URI", spelled)).expect("JSON");
            let changed = named_by_result(method, &result).and_then(|named| named.with(other));
            let after = before.replace("URI", r#""ui://z/x""#);
            let expected = before.contains("URI").then_some(&*after);
            assert_eq!(changed.as_ref().map(Raw::as_str), expected);
        }
    }
}

#[test]
fn views_of_tools_are_found_and_changed() {
    let definition =
        r#"{"name":"t","_meta":{"ui":{"resourceUri":"ui:\/\/x"},"ui/resourceUri":"ui://y"}}"#;
    let definition = Raw::parse_str(definition).expect("JSON");
    let views = views_of_tool(&definition);
    assert_eq!(*views, ["ui://y".into(), "ui://x".into()]);
    let changed = tool_with_uris(&definition, other).expect("one is renamed");
    assert_eq!(
        changed.as_str(),
        r#"{"name":"t","_meta":{"ui":{"resourceUri":"ui://z/x"},"ui/resourceUri":"ui://y"}}"#
    );
}

use super::*;

fn raw(text: &str) -> Raw {
    Raw::parse_str(text).expect("JSON")
}

#[track_caller]
fn check(made: &Raw, expected: &str) {
    assert_eq!(made.as_str(), expected);
}

#[test]
fn lists_and_definitions_are_one_embedded_resource() {
    check(
        &list(ProxyType::Tool, &raw("[]")),
        r#"{"content":[{"type":"resource","resource":{"uri":"proxy:list/tool","mimeType":"application/json","text":"[]"},"annotations":{"proxyAction":"list","proxyType":"tool","pythonType":"Tool","many":true}}]}"#,
    );
    check(
        &info(
            ProxyType::Resource,
            "doc://ä b/{id}",
            "ResourceTemplate",
            &raw(r#"{"n":1.10}"#),
        ),
        r#"{"content":[{"type":"resource","resource":{"uri":"proxy:info/resource/doc://%C3%A4%20b/%7Bid%7D","mimeType":"application/json","text":"{\"n\":1.10}"},"annotations":{"proxyAction":"info","proxyType":"resource","proxyPath":"doc://ä b/{id}","pythonType":"ResourceTemplate","many":false}}]}"#,
    );
}

#[test]
fn results_of_tools_keep_everything_else() {
    let added = r#""proxyType":"tool","proxyAction":"call","proxyPath":"s__t""#;
    let result = raw(concat!(
        r#"{"structuredContent":{"n":1.10}, "content":[{"type":"text","text":"\u0038"},"#,
        r#"{"type":"image","annotations":{"audience":["user"],"priority":0.50,"proxyPath":"other"},"data":""},"#,
        r#"{"type":"video","annotations":null},7],"isError":true,"_meta":{"a/b":1e400}}"#
    ));
    let expected = [
        r#"{"structuredContent":{"n":1.10}, "content":[{"type":"text","text":"\u0038","annotations":{"#,
        added,
        r#"}},{"type":"image","annotations":{"audience":["user"],"priority":0.50,"proxyPath":"s__t","proxyType":"tool","proxyAction":"call"},"data":""},"#,
        r#"{"type":"video","annotations":{"#,
        added,
        r#"}},7],"isError":true,"_meta":{"a/b":1e400}}"#,
    ];
    check(&of_tool(&result, "s__t"), &expected.concat());
    for odd in [
        "{}",
        r#"{"content":null}"#,
        r#"{"content":{}}"#,
        r#"{"content":[]}"#,
    ] {
        check(&of_tool(&raw(odd), "s__t"), odd);
    }
}

#[test]
fn parts_of_resources_become_items() {
    let check = |part: &str, expected: &str| {
        let result = raw(&format!(
            r#"{{"_meta":{{"x":1}},"contents":[{part}],"y":2.0}}"#
        ));
        let expected = format!(
            r#"{{"_meta":{{"x":1}},"y":2.0,"content":[{{"type":"resource","resource":{expected},"annotations":{{"proxyType":"resource","proxyAction":"call","proxyPath":"r://1"}}}}]}}"#
        );
        assert_eq!(of_resource(&result, "r://1").as_str(), expected, "{part}");
    };
    check(
        r#"{"uri":"r://1","mimeType":"text/plain","text":"{ \"key\" :\n\t\"va lue\" }"}"#,
        r#"{"uri":"r://1","mimeType":"application/json","text":"{\"key\":\"va lue\"}","contentType":"text/plain"}"#,
    );
    check(
        r#"{"uri":"r://1","text":" [1.10, 12345678901234567890] ","_meta":{"n":1.0}}"#,
        r#"{"uri":"r://1","text":"[1.10,12345678901234567890]","_meta":{"n":1.0},"mimeType":"application/json"}"#,
    );
    for unchanged in [
        r#"{"uri":"r://1","mimeType":"image/png","blob":"e30="}"#,
        r#"{"uri":"r://1","mimeType":"text/plain","text":"no JSON {}"}"#,
        r#"{"uri":"r://1","mimeType":"text/plain","text":""}"#,
        r#"{"uri":"r://1","mimeType":"application/json","text":"{\"a\":"}"#,
        r#"{"uri":"r://1","text":7}"#,
    ] {
        check(unchanged, unchanged);
    }
    let none = raw(r#"{"contents":[]}"#);
    assert_eq!(of_resource(&none, "r://1").as_str(), r#"{"content":[]}"#);
}

#[test]
fn blanks_in_strings_stay() {
    let check = |json: &str, expected: &str| {
        assert_eq!(without_blanks(json), expected);
        assert!(Raw::parse_str(expected).is_ok(), "{expected}");
    };
    check(
        "{ \"a \\\" b\" : \"\\\\\" , \"c\" : [ 1 ,\r\n2 ] }",
        r#"{"a \" b":"\\","c":[1,2]}"#,
    );
    check(r#" "ä ö" "#, r#""ä ö""#);
    check("  null ", "null");
}

#[test]
fn a_prompt_is_wrapped_whole() {
    let result = raw(r#"{"messages":[],"description":"d","_meta":{"n":1.10}}"#);
    check(
        &of_prompt(&result, "s__p"),
        r#"{"content":[{"type":"resource","resource":{"uri":"proxy:call/prompt/s__p","mimeType":"application/json","text":"{\"messages\":[],\"description\":\"d\",\"_meta\":{\"n\":1.10}}"},"annotations":{"proxyType":"prompt","proxyAction":"call","proxyPath":"s__p","pythonType":"GetPromptResult"}}]}"#,
    );
}

#[test]
fn questions_and_tasks_are_not_answers() {
    assert!(is_complete(&raw("{}")));
    assert!(is_complete(&raw(r#"{"resultType":"complete"}"#)));
    assert!(!is_complete(&raw(r#"{"resultType":"input_required"}"#)));
    assert!(!is_complete(&raw(r#"{"resultType":"task"}"#)));
}

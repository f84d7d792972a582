use super::*;

fn schema(text: &str) -> Result<Vec<(String, String)>, String> {
    let read = read(&Raw::parse_str(text).expect("JSON"))?;
    let named = |p: &HeaderParam| (p.name.to_string(), p.path.join("."));
    Ok(read.iter().map(named).collect())
}

#[test]
fn annotated_properties_are_found_at_any_depth() {
    let text = r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"},
            "at":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"x":{"type":"string"}}}"#;
    let expected = [("Region", "region"), ("N", "at.n")];
    let expected = expected.map(|(name, path)| (name.to_owned(), path.to_owned()));
    assert_eq!(schema(text).expect("a good schema"), expected);
    assert_eq!(schema(r#"{"type":"object"}"#).expect("a good schema"), []);
}

#[test]
fn what_cannot_be_a_header_is_an_error() {
    let of = |property: &str| schema(&format!(r#"{{"properties":{{"a":{property}}}}}"#));
    for property in [
        r#"{"type":"object","x-mcp-header":"A"}"#,
        r#"{"type":"number","x-mcp-header":"A"}"#,
        r#"{"x-mcp-header":"A"}"#,
        r#"{"type":"string","x-mcp-header":""}"#,
        r#"{"type":"string","x-mcp-header":"a b"}"#,
        r#"{"type":"string","x-mcp-header":7}"#,
        r#"{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#,
        r#"{"anyOf":[{"type":"string","x-mcp-header":"A"}]}"#,
    ] {
        assert!(of(property).is_err(), "{property}");
    }
    let twice = r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#;
    assert!(schema(twice).is_err());
}

#[test]
fn values_are_taken_from_arguments() {
    let param = HeaderParam {
        name: "N".into(),
        path: ["at".into(), "n".into()].into(),
    };
    let check = |arguments: &str, expected: Option<&str>| {
        let arguments = Raw::parse_str(arguments).expect("JSON");
        assert_eq!(param.value(Some(&arguments)).as_deref(), expected);
    };
    check(r#"{"at":{"n":7}}"#, Some("7"));
    check(r#"{"at":{"n":"x y"}}"#, Some("x y"));
    check(r#"{"at":{"n":true}}"#, Some("true"));
    check(r#"{"at":{"n":null}}"#, None);
    check(r#"{"at":{"n":[7]}}"#, None);
    check(r#"{"at":{}}"#, None);
    check("{}", None);
    assert_eq!(param.value(None), None);
}

#[test]
fn an_argument_for_a_header_must_stand_once() {
    let params = [["a", "b"].map(Into::into), ["c", "d"].map(Into::into)];
    let params = params.map(|path| HeaderParam {
        name: "N".into(),
        path: path.into(),
    });
    let check = |arguments: &str, expected: Option<&str>| {
        let arguments = Raw::parse_str(arguments).expect("JSON");
        assert_eq!(doubled(&params, Some(&arguments)), expected);
    };
    check(r#"{"a":{"b":1},"c":{"d":1,"x":1,"x":2},"x":1,"x":2}"#, None);
    check(r#"{"a":{"b":1},"a":{"b":2}}"#, Some("a"));
    check(r#"{"c":{"d":1,"\u0064":2}}"#, Some("d"));
    check(r#"{"a":1,"c":[]}"#, None);
    assert_eq!(doubled(&params, None), None);
}

#[test]
fn whole_numbers_agree_as_numbers() {
    let check = |header, argument, expected| assert_eq!(agree(header, argument), expected);
    check("eu", "eu", true);
    check("EU", "eu", false);
    check("42.0", "42", true);
    check("42", "42.00", true);
    check("-7", "-7.0", true);
    check("42.5", "42", false);
    check("9007199254740993", "9007199254740992", false);
    check("", "0", false);
    check("1.", "1", false);
}

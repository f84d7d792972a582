use super::*;

#[track_caller]
fn check(text: &str, expected: &[(&str, &str)]) {
    let found: Vec<(String, String)> = Members::of(text.as_bytes())
        .map(|m| {
            let value = text.get(m.value.clone()).expect("on a character boundary");
            (
                m.name(text.as_bytes()).expect("a JSON string"),
                value.to_owned(),
            )
        })
        .collect();
    let expected: Vec<(String, String)> = expected
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn members_are_found_in_order() {
    check("{}", &[]);
    check("[1]", &[]);
    check("7", &[]);
    check(r#"{"a":1}"#, &[("a", "1")]);
    check(r#" {"a":1}"#.trim_start(), &[("a", "1")]);
    check(
        r#"{ "a" : 1.10 , "b":[1,{"a":"]}"}], "c\n":"\"}" ,"d":null}"#,
        &[
            ("a", "1.10"),
            ("b", r#"[1,{"a":"]}"}]"#),
            ("c\n", r#""\"}""#),
            ("d", "null"),
        ],
    );
}

#[test]
fn a_key_is_what_it_spells() {
    let is = |text: &str, name: &str| {
        let member = Members::of(text.as_bytes()).next().expect("a member");
        member.is(text.as_bytes(), name)
    };
    assert!(is(r#"{"ab":1}"#, "ab") && is(r#"{"\u0061b":1}"#, "ab"));
    assert!(is(r#"{"a\nb":1}"#, "a\nb") && !is(r#"{"a\nb":1}"#, r"a\nb"));
    assert!(is(r#"{"a\\nb":1}"#, r"a\nb") && !is(r#"{"a\\nb":1}"#, r"a\\nb"));
}

#[test]
fn the_end_of_a_string_is_found_at_any_position() {
    for length in 0..200 {
        for filling in ["x", "\u{a1}", "!", "#", "]", "\\\\", "\\\""] {
            let string = format!("\"{}\"", filling.repeat(length));
            let text = format!("{string}, \"tail\"");
            assert_eq!(
                skip_string(text.as_bytes(), 0),
                Some(string.len()),
                "{text}"
            );
            let open = string.trim_end_matches('"').trim_end_matches('\\');
            assert_eq!(skip_string(open.as_bytes(), 0), None, "{open}");
        }
    }
}

#[test]
fn a_key_is_known_through_its_escapes() {
    let text = br#"{"n\u0061me":1}"#;
    let member = Members::of(text).next().expect("one member");
    assert!(member.is(text, "name"));
    assert!(!member.is(text, "nam"));
}

#[test]
fn invalid_json_ends_the_iteration() {
    for text in [
        "{",
        "{\"",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":[",
        "{\"a\":\"\\",
        "{]",
        "[",
        "[\"",
        "{\"a\":}",
    ] {
        assert_eq!(Members::of(text.as_bytes()).count(), 0, "{text}");
        assert_eq!(Elements::of(text.as_bytes()).count(), 0, "{text}");
    }
}

#[test]
fn elements_are_found_in_order() {
    let text = r#"[1, "a,]" ,[2,[3]],{"b":[]}]"#;
    let found: Vec<&str> = Elements::of(text.as_bytes())
        .map(|e| text.get(e.value).expect("on a boundary"))
        .collect();
    assert_eq!(found, ["1", "\"a,]\"", "[2,[3]]", "{\"b\":[]}"]);
}

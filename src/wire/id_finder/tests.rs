use super::IdFinder;

#[track_caller]
fn check(text: &str, expected: Option<&str>) {
    for piece in [1, 7, 1000] {
        let mut finder = IdFinder::default();
        text.as_bytes()
            .chunks(piece)
            .for_each(|chunk| finder.feed(chunk));
        assert_eq!(
            finder.finish().as_ref().map(super::Id::as_str),
            expected,
            "{text}"
        );
    }
}

#[test]
fn the_id_is_found_at_any_position() {
    check(
        r#"{"jsonrpc":"2.0","id":"p7","result":{"a":["#,
        Some("\"p7\""),
    );
    check(
        r#"{"result":{"id":1,"x":"\"id\":2"},"id" : "p8"}"#,
        Some("\"p8\""),
    );
    check(r#"{"id":42}"#, Some("42"));
    check(r#"{"id":42"#, Some("42"));
    check(r#"{"id":"p9" oops"#, Some("\"p9\""));
    check(r#"{"i\u0064":"p9"}"#, Some("\"p9\""));
}

#[test]
fn half_an_id_is_none() {
    for (length, expected) in [(256, true), (257, false), (1000, false)] {
        let id = "1".repeat(length);
        let text = format!("{{\"id\":{id},\"result\":1}}");
        check(&text, expected.then_some(&id));
    }
}

#[test]
fn nothing_else_is_taken_for_an_id() {
    check(r#"{"result":{"id":1}}"#, None);
    check(r#"{"a":"id","b":3}"#, None);
    check("Server listening on port 3000", None);
    check(r#"{"id":null}"#, None);
    check(r#"{"id":{"id":3}}"#, None);
}

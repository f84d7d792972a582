use super::pretty;

#[test]
fn json_is_laid_out_and_its_values_stay_as_they_came() {
    for (json, expected) in [
        ("1.10", "1.10"),
        ("{ }", "{}"),
        ("[ [],{}]", "[\n  [],\n  {}\n]"),
        (
            r#"{"b":1e400,"a" : [12345678901234567890123, "x\", {y: \\"]}"#,
            "{\n  \"b\": 1e400,\n  \"a\": [\n    12345678901234567890123,\n    \"x\\\", {y: \\\\\"\n  ]\n}",
        ),
        ("]]\"", "\n]\n]\""),
        ("\u{9b}2J", r"\u009b2J"),
        ("\"\u{9b}2J\u{202e}\"", r#""\u009b2J\u202e""#),
    ] {
        assert_eq!(pretty(json), expected);
    }
}

#[test]
fn what_nests_very_deep_is_no_longer_for_it_than_its_lines_are() {
    let json = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let laid_out = pretty(&json);
    assert_eq!(laid_out.split_whitespace().collect::<String>(), json);
    assert!(laid_out.len() < 200_000 * 130, "{}", laid_out.len());
}

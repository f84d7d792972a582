use super::{pretty, with_steps};

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
fn only_the_texts_of_steps_are_reworded() {
    let json = r#"{"next_step":"a","fix":null,"b":"a","c":{"fix":"a\"","next_step":["a"]}}"#;
    let words = with_steps(json, &|text| text.replace('a', "\u{9b}"));
    let plain: String = words.split_whitespace().collect();
    let expected =
        r#"{"next_step":"\u009b","fix":null,"b":"a","c":{"fix":"\u009b\"","next_step":["a"]}}"#;
    assert_eq!(plain, expected);
}

#[test]
fn what_nests_very_deep_is_no_longer_for_it_than_its_lines_are() {
    let json = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let laid_out = pretty(&json);
    assert_eq!(laid_out.split_whitespace().collect::<String>(), json);
    assert!(laid_out.len() < 200_000 * 130, "{}", laid_out.len());
}

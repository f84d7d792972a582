use super::*;

#[test]
fn values_are_redacted_in_texts_however_they_are_written_and_nowhere_else() {
    let secrets = Secrets::new(["s3cr\"et-value".to_owned()]);
    let check = |given: &str, expected: &str| {
        assert_eq!(definition(&secrets, given), expected, "{given}");
    };
    check(
        r#"{"name":"a","description":"uses s3cr\"et-value"}"#,
        r#"{"name":"a","description":"uses ***"}"#,
    );
    check(r#"["\u00733cr\"et-value",1e5]"#, r#"["***",100000.0]"#);
    check(
        r#"{"properties":{"k s3cr\"et-value":{},"k ***":1},"required":["k s3cr\"et-value"]}"#,
        r#"{"properties":{"k ***":{},"k *** (2)":1},"required":["k ***"]}"#,
    );
    check(r#"{"n":1e400}"#, r#"{"n":1e400}"#);
    check(
        r#"{"a" : "plain", "n":1.10}"#,
        r#"{"a" : "plain", "n":1.10}"#,
    );
}

use super::{Secret, Secrets};

#[test]
fn secrets_are_redacted_in_every_form() {
    let texts = [
        "Bearer hunter2-hunter2",
        "a/b c&d",
        "xx%2Fyy%2Fz",
        "1234",
        "",
        "first-line of it\nsecond-line \"quoted\"",
    ];
    let secrets = Secrets::new(texts.map(str::to_owned));
    let check = |text: &str, expected: &str| assert_eq!(secrets.redacted(text), expected);
    check("Bearer hunter2-hunter2!", "***!");
    check("bearer hunter2-hunter2!", "bearer ***!");
    check("?k=a%2Fb%20c%26d&l=a/b c&d", "?k=***&l=***");
    check("/xx/yy/z and xx%2Fyy%2Fz", "/*** and ***");
    check("1234 stays", "1234 stays");
    check("?k=a/b%20c%26d&l=a%2Fb+c%26d", "?k=***&l=***");
    check("only second-line \"quoted\" here", "only *** here");
    check(
        r#"{"k":"first-line of it\nsecond-line \"quoted\""}"#,
        r#"{"k":"***"}"#,
    );
    assert!(!format!("{secrets:?}").contains("hunter"));
}

#[test]
fn what_is_left_of_a_cut_secret_is_redacted() {
    let secrets = Secrets::new(["hunter2-hunter2".to_owned(), "größe".to_owned()]);
    let check = |text: &str, expected: &str| {
        assert_eq!(secrets.redacted_beginning(text), expected);
    };
    check("a hunter2-hunter2", "a ***");
    check("a hunter2-hunt", "a ***");
    check("a hunter2-hunter2hunter2", "a ******");
    check("a grö", "a ***");
    check("a hunter3", "a hunter3");
    check("", "");
}

#[test]
fn a_secret_does_not_print() {
    let secret = Secret::new("hunter2");
    assert_eq!(format!("{secret} {secret:?}"), "*** ***");
    assert_eq!(secret.reveal(), "hunter2");
}

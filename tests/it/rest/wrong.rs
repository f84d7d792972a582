//! What is wrong with a request is said in words of ours.

use serde_json::json;

use crate::support::daemon::TestDaemon;

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said_of_the_parameter_and_without_words_of_libraries() {
    let daemon = TestDaemon::builder().start().await;
    let check = json!({ "subject": "ada", "kind": "x", "name": "a:b" });
    let no_text = json!({ "subject": 5, "name": "a:b" });
    for (method, path, body, expected) in [
        ("GET", "commands", "", "`command` is missing"),
        (
            "GET",
            "activity?limit=abc",
            "",
            "`limit` takes a whole number",
        ),
        (
            "GET",
            "servers/%ff",
            "",
            "the path has bytes that are no UTF-8 text",
        ),
        ("GET", "activity/abc", "", "`abc` is not a whole number"),
        (
            "GET",
            "tools?q=a&explain=maybe",
            "",
            "`explain` takes true or false",
        ),
        ("GET", "tools?q=a&q=b", "", "`q` is given twice"),
        (
            "POST",
            "access/check",
            &check.to_string(),
            "`kind` takes `tool`, `prompt`",
        ),
        (
            "POST",
            "access/check",
            &no_text.to_string(),
            "`subject` takes a text, not the number 5",
        ),
        ("POST", "access/check", "{}", "`subject` is missing"),
    ] {
        let answer = daemon.rest(method, &format!("/api/v1/{path}"), body).await;
        let failure = answer.json();
        let error = failure["error"].as_str().expect("why");
        assert_eq!(
            (answer.status, &failure["code"]),
            (400, &json!("invalid_arguments")),
            "{failure}"
        );
        let expected = format!("the request is wrong: {expected}");
        assert!(error.starts_with(&expected), "{path}: {error}");
    }
}

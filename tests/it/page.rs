//! The files of the page, as a browser gets them. What the page does with them is tested in a browser (`tests/page`).

use crate::support::prelude::*;

async fn ask(daemon: &TestDaemon, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
    http::send(daemon.address(), "GET", path, headers, String::new()).await
}

fn is_guarded(answer: &HttpAnswer) {
    let policy = answer.header("content-security-policy");
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ] {
        has!(policy, part);
    }
    lacks!(policy, "unsafe");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    assert_eq!(answer.header("cache-control"), "no-cache");
}

#[tokio::test]
async fn its_files_are_served_to_everybody_with_the_headers_that_guard_them() {
    let daemon = TestDaemon::builder()
        .config(json!({ "api_key": "0123456789abcdef0123456789abcdef" }))
        .await;
    let page = ask(&daemon, "/ui/", &[]).await;
    assert_eq!(page.status, 200, "{}", page.text());
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    is_guarded(&page);
    // Whatever the page refers to is there, and of the type that a browser wants it to be.
    let text = page.text();
    let files: Vec<&str> = text
        .split('"')
        .filter(|part| part.starts_with("/ui/assets/"))
        .collect();
    assert!(files.len() > 4, "{files:?}");
    for file in files {
        let answer = ask(&daemon, file, &[]).await;
        assert_eq!(answer.status, 200, "{file}");
        is_guarded(&answer);
        let kind = answer.header("content-type");
        let wanted = match file.rsplit_once('.') {
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "js")) => "text/javascript; charset=utf-8",
            _ => "image/svg+xml",
        };
        assert_eq!(kind, wanted, "{file}");
    }
    // Every place of the page is the same file.
    for place in ["/ui/tools/a:b", "/ui/servers/a%2Fb/edit", "/ui/nothing"] {
        let answer = ask(&daemon, place, &[]).await;
        assert_eq!((answer.status, answer.text()), (200, text), "{place}");
    }
    let short = ask(&daemon, "/ui", &[]).await;
    assert_eq!((short.status, short.header("location")), (308, "/ui/"));
    is_guarded(&short);
}

#[tokio::test]
async fn a_file_is_sent_once_and_then_only_asked_about() {
    let daemon = TestDaemon::builder().await;
    let first = ask(&daemon, "/ui/assets/app.js", &[]).await;
    let tag = first.header("etag").to_owned();
    assert!(tag.len() > 10, "{tag}");
    for known in [&tag, &format!("\"other\", W/{tag}"), "*"] {
        let again = ask(&daemon, "/ui/assets/app.js", &[("if-none-match", known)]).await;
        assert_eq!((again.status, again.body.len()), (304, 0), "{known}");
        assert_eq!(again.header("etag"), tag);
        is_guarded(&again);
    }
    let other = ask(
        &daemon,
        "/ui/assets/app.js",
        &[("if-none-match", "\"other\"")],
    )
    .await;
    assert_eq!((other.status, &other.body), (200, &first.body));
    let page = ask(&daemon, "/ui/", &[("if-none-match", &tag)]).await;
    assert_eq!(page.status, 200);
}

#[tokio::test]
async fn what_is_no_file_is_not_found_and_nothing_is_changed_there() {
    let daemon = TestDaemon::builder().await;
    for path in [
        "/ui/assets/nothing.js",
        "/ui/assets/..%2Fmod.rs",
        "/ui/assets/app.js.map",
    ] {
        let answer = ask(&daemon, path, &[]).await;
        assert_eq!(answer.status, 404, "{path}");
        is_guarded(&answer);
    }
    for path in ["/ui/", "/ui/assets/app.js"] {
        let answer = http::send(daemon.address(), "POST", path, &[], String::new()).await;
        assert_eq!(answer.status, 405, "{path}");
    }
    // A page elsewhere that has its name resolve to us gets nothing.
    let answer = ask(&daemon, "/ui/", &[("host", "elsewhere.example")]).await;
    assert_eq!(answer.status, 403);
}

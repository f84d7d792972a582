//! What somebody sees who opens our address in a browser: where they are, in a sentence. Names nothing that is configured.

use axum::{body::Body, response::Response};
use http::{HeaderMap, StatusCode};

use super::answer;

/// The sentence, with the address of the web UI as `page`.
fn sentence(page: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "This is mcpproxy {version}. Connect MCP clients to /mcp on this address; the web UI is at {page} (log in with `mcpproxy ui`)."
    )
}

/// The sentence, as a page for clients that accept one.
pub(super) async fn index_page(headers: HeaderMap) -> Response {
    if answer::accepts(&headers, &["text/html"]) {
        let sentence = sentence("<a href=\"/ui/\">/ui/</a>");
        let page = format!(
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>mcpproxy</title><p>{sentence}</p></html>\n"
        );
        return answer::with_type(StatusCode::OK, "text/html; charset=utf-8", Body::from(page));
    }
    let text = Body::from(format!("{}\n", sentence("/ui/")));
    answer::with_type(StatusCode::OK, "text/plain; charset=utf-8", text)
}

//! The page for people at `/ui/`: files that are part of the program, and the headers that keep a browser from doing anything else with
//! them. They say nothing of this daemon, so everybody may read them; what the page shows it asks `api` for.

mod assets;

use std::sync::LazyLock;

use axum::{
    Router as HttpRouter,
    body::Body,
    extract::Path,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use self::assets::{ASSETS, Asset, INDEX};

/// What every answer bears. Nothing is loaded from elsewhere, nothing inline runs, and texts cannot become markup.
const HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    // Names stay the same from version to version, so browsers ask whether what they have is still so.
    (header::CACHE_CONTROL, "no-cache"),
];

/// The files with their entity tags, made for the first who asks for one.
static TAGGED: LazyLock<Vec<(&Asset, HeaderValue)>> = LazyLock::new(|| {
    let tagged = ASSETS.iter().filter_map(|asset| {
        let hash = blake3::hash(asset.content).to_hex();
        let tag = format!("\"{}\"", hash.get(..32)?);
        Some((asset, HeaderValue::try_from(tag).ok()?))
    });
    tagged.collect()
});

/// The routes.
pub fn routes() -> HttpRouter {
    HttpRouter::new()
        .route("/ui", get(whole_address))
        .route("/ui/", get(index))
        .route("/ui/assets/{name}", get(asset))
        .route("/ui/{*place}", get(index))
        .method_not_allowed_fallback(super::wrong_method)
}

/// Which place of the page is meant, its own program reads from the address.
async fn index(headers: HeaderMap) -> Response {
    file(INDEX, &headers)
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    file(&name, &headers)
}

async fn whole_address() -> Response {
    let response = answer(StatusCode::PERMANENT_REDIRECT, Body::empty());
    ([(header::LOCATION, "/ui/")], response).into_response()
}

fn file(name: &str, headers: &HeaderMap) -> Response {
    let Some((asset, tag)) = TAGGED.iter().find(|(asset, _)| asset.name == name) else {
        return answer(StatusCode::NOT_FOUND, Body::from("there is no such file\n"));
    };
    let mut known = headers.get_all(header::IF_NONE_MATCH).iter();
    let response = if known.any(|known| names(known, tag)) {
        answer(StatusCode::NOT_MODIFIED, Body::empty())
    } else {
        answer(StatusCode::OK, Body::from(asset.content))
    };
    let (tag, kind) = (
        (header::ETAG, tag.clone()),
        (header::CONTENT_TYPE, asset.content_type()),
    );
    ([tag, kind], response).into_response()
}

/// Whether a list of entity tags has this one. Those of proxies that compressed are weak.
fn names(known: &HeaderValue, tag: &HeaderValue) -> bool {
    let Ok(known) = known.to_str() else {
        return false;
    };
    let mut known = known.split(',').map(str::trim);
    known.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one).as_bytes() == tag)
}

fn answer(status: StatusCode, body: Body) -> Response {
    let text = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    (status, text, HEADERS, body).into_response()
}

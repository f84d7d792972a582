//! Whether a request with a cookie comes from mcpproxy's own page. Browsers add the cookie to requests of any page, also one of another
//! port of this machine, which they count as the same site.

use http::{HeaderMap, HeaderName, Method, header};

/// Which page caused a request, as browsers say it.
static FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a request comes from the page. Reads may also come from the address bar; requests that change something must name their origin.
pub(super) fn comes_from_the_page(method: &Method, headers: &HeaderMap) -> bool {
    let only_reads = matches!(*method, Method::GET | Method::HEAD);
    let site_is_ours = headers.get_all(&FETCH_SITE).iter().all(|site| {
        let site = site.as_bytes();
        site == b"same-origin" || (only_reads && site == b"none")
    });
    let mut origins = headers.get_all(header::ORIGIN).iter().peekable();
    let says_origin = origins.peek().is_some();
    let host = headers.get(header::HOST).map(http::HeaderValue::as_bytes);
    let origin_is_ours = origins.all(|origin| {
        let origin = origin.as_bytes();
        let named = origin
            .strip_prefix(b"http://")
            .or_else(|| origin.strip_prefix(b"https://"));
        matches!((named, host), (Some(named), Some(host)) if named.eq_ignore_ascii_case(host))
    });
    site_is_ours && origin_is_ours && (only_reads || says_origin)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_our_own_page_uses_the_cookie() {
        let check = |site: Option<&'static str>, origin: Option<&'static str>, expected| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("127.0.0.1:8080"));
            if let Some(site) = site {
                headers.insert(&FETCH_SITE, HeaderValue::from_static(site));
            }
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            let allowed =
                [Method::GET, Method::POST].map(|method| comes_from_the_page(&method, &headers));
            assert_eq!(allowed, expected, "{site:?} {origin:?}");
        };
        let (ours, both, reads, none) = (
            "http://127.0.0.1:8080",
            [true; 2],
            [true, false],
            [false; 2],
        );
        check(Some("same-origin"), Some(ours), both);
        check(None, Some(ours), both);
        check(None, Some("https://127.0.0.1:8080"), both);
        check(Some("same-origin"), None, reads);
        check(Some("none"), None, reads);
        check(None, None, reads);
        // A page of another port is the same site.
        check(Some("same-site"), None, none);
        check(Some("same-site"), Some("http://127.0.0.1:3000"), none);
        check(None, Some("http://127.0.0.1:3000"), none);
        check(Some("cross-site"), Some(ours), none);
        check(Some("none"), Some(ours), reads);
        for origin in [
            "null",
            "127.0.0.1:8080",
            "http://localhost:8080",
            "http://127.0.0.1:8080/",
            "",
        ] {
            check(Some("same-origin"), Some(origin), none);
        }
    }
}

//! The connection that identifies a client without a session, if one does.

use http::{HeaderMap, request::Parts};

use crate::call_context::OwnConnection;

/// The connection that a request came over, which is its client's alone. None where a proxy has passed the request on: one connection
/// of a proxy may carry requests of several clients.
pub(super) fn of(head: &Parts) -> Option<OwnConnection> {
    let connection = head.extensions.get().cloned();
    connection.filter(|_| !is_passed_on(&head.headers))
}

/// Whether a request has a header that says that a proxy has passed it on.
pub fn is_passed_on(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        let name = name.as_str();
        name.starts_with("x-forwarded-") || matches!(name, "forwarded" | "via" | "x-real-ip")
    })
}

#[cfg(test)]
mod tests {
    use http::Request;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn a_connection_of_a_proxy_is_nobodys() {
        let of_request = |headers: &[(&str, &str)]| {
            let connection = OwnConnection::new(1, CancellationToken::new());
            let mut request = Request::builder().extension(connection);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let head = request.body(()).expect("a request").into_parts().0;
            of(&head).map(|connection| connection.number())
        };
        let own = Some(1);
        assert_eq!(of_request(&[]), own);
        assert_eq!(of_request(&[("accept", "*/*"), ("x-own", "1")]), own);
        for name in ["Forwarded", "Via", "X-Forwarded-For", "X-Real-IP"] {
            assert_eq!(of_request(&[(name, "1")]), None, "{name}");
        }
        let unnumbered = Request::new(()).into_parts().0;
        assert!(of(&unnumbered).is_none());
    }
}

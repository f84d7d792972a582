//! The cookie of a session of the page. Browsers send the cookies of all ports of a host, so its name has the port in it: several daemons
//! of one machine do not end each other's logins.

use http::{HeaderMap, HeaderValue, header};

use crate::text::secret::Secret;

const NAME: &str = "mcpproxy_page";

/// How many cookies of this name are read. Another server on the host can set some for paths of its own.
const LOOKED_AT: usize = 4;

/// The name of the cookie: with the port to which the request was sent, if it names one.
fn name(headers: &HeaderMap) -> String {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let port = host.and_then(|host| host.rsplit_once(':'));
    match port.and_then(|(_, port)| port.parse::<u16>().ok()) {
        Some(port) => format!("{NAME}_{port}"),
        None => NAME.to_owned(),
    }
}

/// The values of this cookie in a request.
pub(super) fn values(headers: &HeaderMap) -> Vec<&str> {
    let name = name(headers);
    let all = headers.get_all(header::COOKIE).iter();
    let pairs = all.filter_map(|value| value.to_str().ok());
    let pairs = pairs.flat_map(|value| value.split(';'));
    let named = pairs.filter_map(|pair| pair.trim().split_once('='));
    let ours = named.filter_map(|(key, value)| (key == name).then_some(value));
    ours.take(LOOKED_AT).collect()
}

/// `Set-Cookie` for a session. Without a date it ends with the browser.
pub(super) fn set(headers: &HeaderMap, session: &Secret) -> HeaderValue {
    header(headers, session.reveal(), "")
}

/// `Set-Cookie` that removes the cookie.
pub(super) fn clear(headers: &HeaderMap) -> HeaderValue {
    header(headers, "", "; Max-Age=0")
}

fn header(headers: &HeaderMap, value: &str, more: &str) -> HeaderValue {
    let name = name(headers);
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{more}");
    let mut header =
        HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(NAME));
    header.set_sensitive(true);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_cookies_of_this_port_are_read() {
        let check = |host: &str, cookies: &[&'static str], expected: &[&str]| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_str(host).expect("a host"));
            for cookie in cookies {
                headers.append(header::COOKIE, HeaderValue::from_static(cookie));
            }
            assert_eq!(values(&headers), expected, "{host} {cookies:?}");
        };
        let both = "a=b; mcpproxy_page_1=x; mcpproxy_page_2=y";
        check("127.0.0.1:1", &[both], &["x"]);
        check("[::1]:2", &[both, "mcpproxy_page_2=z=1"], &["y", "z=1"]);
        check("h", &[both, "mcpproxy_page=q;mcpproxy_page"], &["q"]);
        check("h", &[], &[]);
        let many =
            "mcpproxy_page=1; mcpproxy_page=2; mcpproxy_page=3; mcpproxy_page=4; mcpproxy_page=5";
        check("h", &[many], &["1", "2", "3", "4"]);
    }

    #[test]
    fn scripts_and_other_sites_do_not_get_it() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("localhost:8080"));
        let cookie = set(&headers, &Secret::new("s"));
        assert_eq!(
            cookie.to_str().expect("text"),
            "mcpproxy_page_8080=s; Path=/; HttpOnly; SameSite=Strict"
        );
        assert!(!format!("{cookie:?}").contains("=s;"), "it does not print");
    }
}

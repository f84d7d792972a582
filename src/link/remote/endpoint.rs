//! Where a server is and how it is addressed: the settings of one remote upstream, checked.

use std::{fmt, path::PathBuf, sync::Arc};

use base64::Engine;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header, uri::Scheme};
use percent_encoding::percent_decode_str;

use crate::{
    config::is_set_for_each_request,
    link::Authorization,
    text::secret::{Secret, Secrets},
    wire::instance::{INSTANCE, InstanceId},
};

/// What the configuration says about a remote server.
#[derive(Clone, Default)]
pub struct Endpoint {
    /// The address, `http` or `https`.
    pub url: String,
    /// Headers to send with every request.
    pub headers: Vec<(String, Secret)>,
    /// Certificates to trust besides those of the system, as PEM.
    pub ca_file: Option<PathBuf>,
    /// A certificate to show, followed by its private key, as PEM.
    pub client_cert: Option<PathBuf>,
    /// What must not show in texts, should the server repeat it.
    pub secrets: Secrets,
    /// Which daemon connects: sent with every request, so that one that leads back to it is known there.
    pub instance: Option<InstanceId>,
    /// Who supplies the `Authorization` of each request, where the headers above hold none.
    pub authorization: Option<Arc<dyn Authorization>>,
}

impl fmt::Debug for Endpoint {
    /// Leaves the address out: keys are passed in it, too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("headers", &self.headers)
            .field("ca_file", &self.ca_file)
            .field("client_cert", &self.client_cert)
            .finish_non_exhaustive()
    }
}

/// Why an endpoint cannot be used. Names neither the address nor the value of a header: both may hold secrets.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EndpointError {
    /// The address is none.
    #[error("the url is not usable: {0}")]
    Url(String),
    /// A header cannot be sent.
    #[error("the header {name:?} cannot be sent: {why}")]
    Header {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file with certificates or keys cannot be used.
    #[error("failed to read {what} from {}: {why}", path.display())]
    File {
        /// `ca_file` or `client_cert`.
        what: &'static str,
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// TLS cannot be set up.
    #[error("failed to set up TLS: {0}")]
    Tls(String),
}

impl Endpoint {
    /// The address without user and password, and all headers that every request bears.
    pub(crate) fn parse(&self) -> Result<(Uri, HeaderMap), EndpointError> {
        let (uri, user) = address(&self.url)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let bad = |why| EndpointError::Header {
                name: name.clone(),
                why,
            };
            let known = HeaderName::try_from(name.as_str()).map_err(|_| bad("not a name"))?;
            if is_set_for_each_request(&known) {
                return Err(bad("mcpproxy sets it for each request"));
            }
            let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| {
                bad("its value contains characters that are not allowed in a header")
            })?;
            value.set_sensitive(true);
            headers.append(known, value);
        }
        if let Some(user) = user {
            headers.entry(header::AUTHORIZATION).or_insert(user);
        }
        let agent = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
        headers
            .entry(header::USER_AGENT)
            .or_insert(HeaderValue::from_static(agent));
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        if let Some(instance) = &self.instance {
            headers.insert(INSTANCE, instance.header());
        }
        Ok((uri, headers))
    }
}

/// Takes user and password out of an address and makes an `Authorization` header of them.
fn address(url: &str) -> Result<(Uri, Option<HeaderValue>), EndpointError> {
    let bad = |why: &str| EndpointError::Url(why.to_owned());
    let uri: Uri = url.trim().parse().map_err(|_| bad("not an address"))?;
    let mut parts = uri.into_parts();
    if !matches!(&parts.scheme, Some(s) if *s == Scheme::HTTP || *s == Scheme::HTTPS) {
        return Err(bad("it begins with neither http:// nor https://"));
    }
    let authority = parts.authority.take().ok_or_else(|| bad("no host"))?;
    let (user, host) = match authority.as_str().rsplit_once('@') {
        Some((user, host)) => (Some(basic(user)), host),
        None => (None, authority.as_str()),
    };
    let host: http::uri::Authority = host.parse().map_err(|_| bad("no host"))?;
    if host.host().is_empty() {
        return Err(bad("no host"));
    }
    parts.authority = Some(host);
    let uri = Uri::from_parts(parts).map_err(|_| bad("not an address"))?;
    Ok((uri, user))
}

/// HTTP Basic authentication (RFC 7617) for `user:password` as it stands in an address.
fn basic(user: &str) -> HeaderValue {
    let user: Vec<u8> = percent_decode_str(user).collect();
    let credentials = if user.contains(&b':') {
        user
    } else {
        [&user[..], b":"].concat()
    };
    let text = base64::engine::general_purpose::STANDARD.encode(credentials);
    let mut value = HeaderValue::try_from(format!("Basic {text}")).expect("base64 is plain ASCII");
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> Endpoint {
        Endpoint {
            url: url.to_owned(),
            ..Endpoint::default()
        }
    }

    #[test]
    fn an_address_is_http_or_https_with_a_host() {
        for good in [
            "http://localhost:8080/mcp",
            "https://example.com",
            " https://example.com/mcp?key=1#part ",
            "http://[::1]:80/mcp",
        ] {
            assert!(at(good).parse().is_ok(), "{good}");
        }
        for bad in [
            "",
            "mcp",
            "/mcp",
            "localhost:8080",
            "ftp://example.com/",
            "http:///mcp",
            "http://a b/",
            "http://user@",
        ] {
            let error = at(bad).parse().expect_err(bad);
            assert!(matches!(error, EndpointError::Url(_)), "{bad}");
        }
    }

    #[test]
    fn user_and_password_become_a_header() {
        let check = |url: &str, host: &str, expected: &str| {
            let (uri, headers) = at(url).parse().expect("an address");
            assert_eq!(uri.to_string(), format!("http://{host}/mcp"));
            let value = &headers[header::AUTHORIZATION];
            assert_eq!(value, expected);
            assert!(value.is_sensitive());
        };
        check("http://Aladdin:open%20sesame@a:1/mcp", "a:1", {
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        });
        check("http://me@a/mcp", "a", "Basic bWU6");
        check("http://%zz%4:@a/mcp", "a", "Basic JXp6JTQ6");
    }

    #[test]
    fn headers_that_cannot_be_sent_are_named_without_their_value() {
        for (name, value) in [
            ("content-length", "7"),
            ("Transfer-Encoding", "chunked"),
            ("Mcp-Session-Id", "x"),
            ("two words", "x"),
            ("X-Key", "hunter2\n"),
        ] {
            let endpoint = Endpoint {
                headers: vec![(name.to_owned(), Secret::new(value))],
                ..at("http://a/")
            };
            let text = endpoint.parse().expect_err(name).to_string();
            assert!(text.contains(name) && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn configured_headers_are_kept_and_hidden() {
        let endpoint = Endpoint {
            headers: vec![
                ("X-Key".to_owned(), Secret::new("hunter2")),
                ("x-key".to_owned(), Secret::new("hunter3")),
                ("User-Agent".to_owned(), Secret::new("me")),
            ],
            ..at("http://a/?key=hunter4")
        };
        let (_, headers) = endpoint.parse().expect("an endpoint");
        assert_eq!(headers.get_all("x-key").iter().count(), 2);
        assert_eq!(headers[header::USER_AGENT], "me");
        assert!(!format!("{headers:?} {endpoint:?}").contains("hunter"));
    }
}

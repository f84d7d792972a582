//! The parameters with which the authorization server redirects the browser (RFC 6749, 4.1.2; RFC 9207). Pure.

use http::Uri;
use url::form_urlencoded;

/// The parameters of a redirect.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Callback {
    /// The code that is exchanged for tokens.
    pub code: Option<String>,
    /// Which login it belongs to.
    pub state: Option<String>,
    /// The authorization server, as it names itself.
    pub issuer: Option<String>,
    /// Why there is no code.
    pub error: Option<String>,
    /// The error in the server's words.
    pub error_description: Option<String>,
}

impl Callback {
    /// Reads the query of an address. A parameter that appears twice is none (RFC 6749, 3.1).
    pub fn of_query(query: &str) -> Self {
        let one = |wanted: &str| {
            let pairs = form_urlencoded::parse(query.as_bytes());
            let mut values = pairs.filter(|(name, _)| name == wanted);
            let value = values.next().map(|(_, value)| value.into_owned());
            value.filter(|_| values.next().is_none())
        };
        Self {
            code: one("code"),
            state: one("state"),
            issuer: one("iss"),
            error: one("error"),
            error_description: one("error_description"),
        }
    }

    /// Reads an address as it was copied from a browser; nothing if it is none.
    pub fn of_address(address: &str) -> Option<Self> {
        let address = address.trim().trim_matches(['"', '\'', '<', '>']);
        let uri: Uri = address.split('#').next()?.parse().ok()?;
        let query = uri.query()?;
        Some(Self::of_query(query)).filter(|callback| *callback != Self::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_address_is_read() {
        let callback = Callback::of_address(
            " 'http://127.0.0.1:1/callback?code=a%2Fb+c&state=s&iss=https%3A%2F%2Fi#x' \n",
        );
        let callback = callback.expect("an address");
        assert_eq!(callback.code.as_deref(), Some("a/b c"));
        assert_eq!(callback.state.as_deref(), Some("s"));
        assert_eq!(callback.issuer.as_deref(), Some("https://i"));
        for other in ["", "hello", "http://127.0.0.1:1/callback", "http://h/?x=1"] {
            assert!(Callback::of_address(other).is_none(), "{other}");
        }
        let doubled = Callback::of_query("code=a&code=b&state=s&error=e&error_description=d");
        assert!(doubled.code.is_none());
        assert_eq!(doubled.error.as_deref(), Some("e"));
    }
}

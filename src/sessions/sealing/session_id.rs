//! Session ids that hold, sealed, what client and daemon agreed on, so that any daemon with the key can continue the session. A client
//! cannot read its id, and an id opens for one endpoint and one subject only.

use bytes::Bytes;

use super::{Sealer, SealingKey};
use crate::wire::{Raw, Revision};

/// Limit: bytes of a session id. Load balancers commonly accept headers of 4 KiB.
pub const MAX_SESSION_ID: usize = 4096;

/// The most bytes in it of the client's capabilities, longer ones being stored by the daemon that opened the session; and of the client's
/// implementation, a longer one being left out because nothing depends on it.
const MAX_CAPABILITIES: usize = 2 << 10;
const MAX_INFO: usize = 512;

/// The version of the content of an id.
const VERSION: u8 = 1;

/// What an id is bound to.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a> {
    /// The URL path of the endpoint.
    pub endpoint: &'a str,
    /// The subject of the session's caller.
    pub subject: &'a str,
}

/// What was agreed when a session was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// The revision that is spoken.
    pub revision: Revision,
    /// The client's implementation; an empty object if it is long.
    pub info: Raw,
    /// The client's capabilities; `None` if they are long and stored by the daemon that opened the session.
    pub capabilities: Option<Raw>,
    /// Identifies the data folder of the daemon that opened the session.
    pub origin: [u8; 8],
    /// The end of the id's validity, in seconds since 1970.
    pub expires: u32,
}

/// Makes and reads session ids. Cheap to clone.
#[derive(Clone)]
pub struct SessionIds(Sealer);

impl SessionIds {
    /// Ids under this key.
    pub fn new(key: &SealingKey) -> Self {
        Self(key.sealer())
    }

    /// Makes an id. `None` if the system gives no random bytes.
    pub fn seal(&self, agreement: &Agreement, bound: Bound<'_>) -> Option<String> {
        self.0.seal(&agreement.write(), &bound.texts())
    }

    /// Reads an id. `None` if it is not valid, or bound to something else. The work is bounded, whatever the text.
    pub fn open(&self, id: &str, bound: Bound<'_>) -> Option<Agreement> {
        if id.len() > MAX_SESSION_ID {
            return None;
        }
        Agreement::read(&self.0.open(id, &bound.texts())?)
    }
}

impl<'a> Bound<'a> {
    fn texts(self) -> [&'a str; 2] {
        [self.endpoint, self.subject]
    }
}

impl Agreement {
    /// Whether capabilities are too long for an id.
    pub fn is_too_long(capabilities: &Raw) -> bool {
        capabilities.as_bytes().len() > MAX_CAPABILITIES
    }

    /// The content of an id: version, expiry, origin, then texts, each after its length.
    fn write(&self) -> Vec<u8> {
        let empty = Raw::empty_object();
        let is_short = self.info.as_bytes().len() <= MAX_INFO;
        let info = if is_short { &self.info } else { &empty };
        let capabilities = self.capabilities.as_ref();
        let capabilities = capabilities.filter(|raw| !Self::is_too_long(raw));
        let mut written = vec![VERSION];
        written.extend_from_slice(&self.expires.to_be_bytes());
        written.extend_from_slice(&self.origin);
        let texts = [
            self.revision.as_str().as_bytes(),
            info.as_bytes(),
            capabilities.map_or(&[], |raw| raw.as_bytes()),
        ];
        for text in texts {
            let length = u16::try_from(text.len()).unwrap_or_default();
            written.extend_from_slice(&length.to_be_bytes());
            written.extend_from_slice(text);
        }
        written
    }

    /// Reads [`Agreement::write`] back.
    fn read(written: &[u8]) -> Option<Self> {
        let (&version, rest) = written.split_first()?;
        if version != VERSION {
            return None;
        }
        let (&expires, rest) = rest.split_first_chunk()?;
        let (&origin, rest) = rest.split_first_chunk()?;
        let (revision, rest) = text(rest)?;
        let (info, rest) = text(rest)?;
        let (capabilities, rest) = text(rest)?;
        let json = |text: &[u8]| {
            let raw = Raw::parse(&Bytes::copy_from_slice(text)).ok()?;
            raw.is_object().then_some(raw)
        };
        let capabilities = match capabilities {
            [] => None,
            text => Some(json(text)?),
        };
        rest.is_empty().then_some(())?;
        Some(Self {
            revision: Revision::parse(str::from_utf8(revision).ok()?)?,
            info: json(info)?,
            capabilities,
            origin,
            expires: u32::from_be_bytes(expires),
        })
    }
}

/// Reads a text after its length. Gives it and the rest.
fn text(written: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = written.split_first_chunk()?;
    rest.split_at_checked(u16::from_be_bytes(length).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::secret::Secret;

    const HERE: Bound<'_> = Bound {
        endpoint: "/mcp",
        subject: "a",
    };

    fn ids() -> SessionIds {
        SessionIds::new(&SealingKey::of(&Secret::new("k")))
    }

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    fn agreement(info: &str, capabilities: &str) -> Agreement {
        Agreement {
            revision: Revision::NEWEST_LEGACY,
            info: raw(info),
            capabilities: Some(raw(capabilities)),
            origin: *b"abcdefgh",
            expires: 7,
        }
    }

    #[test]
    fn an_id_holds_what_was_agreed_and_is_bound() {
        let ids = ids();
        let agreed = agreement(r#"{"name": "c", "x":1.10}"#, r#"{"roots":{}}"#);
        let id = ids.seal(&agreed, HERE).expect("sealed");
        assert_eq!(ids.open(&id, HERE), Some(agreed));
        for (endpoint, subject) in [("/mcp/all", "a"), ("/mcp", "b"), ("/mcpa", ""), ("", "")] {
            let elsewhere = Bound { endpoint, subject };
            assert_eq!(ids.open(&id, elsewhere), None, "{elsewhere:?}");
        }
        assert!(!id.contains("roots"));
    }

    #[test]
    fn ids_are_short_whatever_clients_say() {
        let ids = ids();
        let with = |info: usize, capabilities: usize| {
            let text = |size: usize| format!(r#"{{"name":"{}"}}"#, "x".repeat(size - 11));
            let agreed = agreement(&text(info), &text(capabilities));
            let id = ids.seal(&agreed, HERE).expect("sealed");
            assert!(id.len() <= MAX_SESSION_ID, "{}", id.len());
            let opened = ids.open(&id, HERE).expect("it opens");
            (opened.info == agreed.info, opened.capabilities.is_some())
        };
        assert_eq!(with(MAX_INFO, MAX_CAPABILITIES), (true, true));
        assert_eq!(with(MAX_INFO + 1, MAX_CAPABILITIES + 1), (false, false));
        assert_eq!(with(60_000, 70_000), (false, false));
        assert_eq!(ids.open(&"1".repeat(MAX_SESSION_ID + 1), HERE), None);
    }

    #[test]
    fn authentic_nonsense_is_no_agreement() {
        let good = agreement("{}", "{}").write();
        assert!(Agreement::read(&good).is_some());
        for end in 0..good.len() {
            assert_eq!(Agreement::read(good.split_at(end).0), None, "{end}");
        }
        assert_eq!(Agreement::read(&[&good[..], b"x"].concat()), None);
    }
}

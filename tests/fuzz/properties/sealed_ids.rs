//! Session ids: nothing opens that was not sealed, what was sealed says what it said, and no text upsets us.
//!
//! An input is an id, the client's part of what is sealed, and a script: each two bytes of it change one character of a good id.

use std::sync::LazyLock;

use bytes::Bytes;
use mcpproxy::{
    sessions::sealing::{Agreement, Bound, MAX_SESSION_ID, SealingKey, SessionIds},
    text::secret::Secret,
    wire::{Raw, Revision},
};

const HERE: Bound<'_> = Bound {
    endpoint: "/mcp",
    subject: "a",
};

static IDS: LazyLock<SessionIds> = LazyLock::new(|| of("a key"));
static OTHER_IDS: LazyLock<SessionIds> = LazyLock::new(|| of("another key"));
static GOOD: LazyLock<String> = LazyLock::new(|| seal(&agreement(Raw::empty_object())));

fn of(key: &str) -> SessionIds {
    SessionIds::new(&SealingKey::of(&Secret::new(key)))
}

fn agreement(said: Raw) -> Agreement {
    Agreement {
        revision: Revision::NEWEST_LEGACY,
        info: said.clone(),
        capabilities: Some(said),
        origin: *b"01234567",
        expires: 1_000,
    }
}

fn seal(agreement: &Agreement) -> String {
    let id = IDS.seal(agreement, HERE);
    id.expect("the system has random bytes")
}

/// Any bytes.
pub fn check(input: &[u8]) {
    check_forged(&String::from_utf8_lossy(input));
    check_forged(&edited(input));
    if let Ok(said) = Raw::parse(&Bytes::copy_from_slice(input))
        && said.is_object()
    {
        check_sealed(&agreement(said));
    }
}

/// What nobody sealed.
fn check_forged(id: &str) {
    if id != *GOOD {
        assert_eq!(IDS.open(id, HERE), None, "{id:?}");
    }
}

/// The good id with some of its characters changed.
fn edited(script: &[u8]) -> String {
    let mut id = GOOD.clone().into_bytes();
    for edit in script.chunks_exact(2) {
        let at = usize::from(edit[0]) % id.len();
        match edit[1] {
            0 => id.truncate(at.max(1)),
            1 => id.insert(at, b'A'),
            c => id[at] = c & 0x7f,
        }
    }
    String::from_utf8(id).expect("ASCII")
}

/// What we sealed ourselves.
fn check_sealed(agreement: &Agreement) {
    let id = seal(agreement);
    assert!(id.len() <= MAX_SESSION_ID, "{}", id.len());
    let visible = |c: u8| c.is_ascii_alphanumeric() || b"-_".contains(&c);
    assert!(id.bytes().all(visible), "{id:?}");
    let opened = IDS.open(&id, HERE).expect("it was sealed here");
    assert_eq!(opened.revision, agreement.revision);
    assert_eq!(
        (opened.origin, opened.expires),
        (agreement.origin, agreement.expires)
    );
    let is_whole = |found: &Raw| Some(found) == agreement.capabilities.as_ref();
    assert!(opened.capabilities.as_ref().is_none_or(is_whole));
    assert_eq!(OTHER_IDS.open(&id, HERE), None);
    for (endpoint, subject) in [
        ("/mcp", "b"),
        ("/mcp/all", "a"),
        ("/mcpa", ""),
        ("", "/mcpa"),
    ] {
        assert_eq!(IDS.open(&id, Bound { endpoint, subject }), None);
    }
}

//! Seals texts (AES-256-GCM) so that only holders of the key can make and read them. A text can be bound to others, which do not stand in it
//! and must be given again to open it. Keeps no list of what it sealed.

mod key;
mod session_id;

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom, SystemRandom},
};

pub use self::{
    key::{KeptKey, SealingKey, random_secret},
    session_id::{Agreement, Bound, MAX_SESSION_ID, SessionIds},
};

/// The purpose of sealed texts and the number of their format. Goes into the derived key and into the authenticated data, so that a text of
/// another format does not open.
const LABEL: &[u8] = b"mcpproxy session id 1";

/// The first character of a sealed text.
const FIRST: char = '1';

/// Seals and opens texts. Cheap to clone.
///
/// Nonces are random. After 2^32 texts of one key the odds that two have the same nonce are one in 2^33.
#[derive(Clone)]
pub struct Sealer {
    key: Arc<LessSafeKey>,
    random: SystemRandom,
}

impl Sealer {
    fn new(key: UnboundKey) -> Self {
        Self {
            key: Arc::new(LessSafeKey::new(key)),
            random: SystemRandom::new(),
        }
    }

    /// Seals a content into letters, digits, `-` and `_`. `None` if the system gives no random bytes.
    pub fn seal(&self, content: &[u8], bound: &[&str]) -> Option<String> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok()?;
        let mut sealed = content.to_vec();
        let aad = Aad::from(authenticated(bound));
        let nonce_of_key = Nonce::assume_unique_for_key(nonce);
        let key = &self.key;
        key.seal_in_place_append_tag(nonce_of_key, aad, &mut sealed)
            .ok()?;
        let mut text = String::from(FIRST);
        BASE64_URL_SAFE_NO_PAD.encode_string([&nonce[..], &sealed].concat(), &mut text);
        Some(text)
    }

    /// Opens a text. `None` if it was not sealed with this key and bound to exactly these texts.
    pub fn open(&self, text: &str, bound: &[&str]) -> Option<Vec<u8>> {
        let encoded = text.strip_prefix(FIRST)?;
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(encoded).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = sealed.to_vec();
        let aad = Aad::from(authenticated(bound));
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.key.open_in_place(nonce, aad, &mut sealed).ok()?;
        Some(opened.to_vec())
    }
}

/// The authenticated data: the label, and the bound texts, each after its length so that no two lists give the same bytes.
fn authenticated(bound: &[&str]) -> Vec<u8> {
    let mut all = LABEL.to_vec();
    for text in bound {
        all.extend_from_slice(&text.len().to_be_bytes());
        all.extend_from_slice(text.as_bytes());
    }
    all
}

/// The algorithm of every seal.
const ALGORITHM: &ring::aead::Algorithm = &AES_256_GCM;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::secret::Secret;

    fn sealer(key: &str) -> Sealer {
        SealingKey::of(&Secret::new(key)).sealer()
    }

    #[test]
    fn what_was_sealed_opens_for_whom_it_was_sealed_only() {
        let sealer = sealer("a");
        let text = sealer.seal(b"content", &["x", "yz"]).expect("sealed");
        assert!(
            text.bytes()
                .all(|c| c.is_ascii_alphanumeric() || b"-_".contains(&c))
        );
        let open = |bound: &[&str]| sealer.open(&text, bound);
        assert_eq!(open(&["x", "yz"]).as_deref(), Some(&b"content"[..]));
        for other in [
            &["xy", "z"][..],
            &["x"],
            &["x", "yz", ""],
            &["yz", "x"],
            &[],
        ] {
            assert_eq!(open(other), None, "{other:?}");
        }
    }

    #[test]
    fn nothing_else_opens() {
        let (sealer, other) = (sealer("a"), sealer("b"));
        let text = sealer.seal(b"content", &[]).expect("sealed");
        assert_eq!(other.open(&text, &[]), None, "another key");
        assert_ne!(Some(&text), sealer.seal(b"content", &[]).as_ref());
        for at in 0..text.len() {
            let (head, tail) = text.split_at(at);
            assert_eq!(sealer.open(head, &[]), None, "cut at {at}");
            assert_eq!(sealer.open(tail, &[]).is_some(), at == 0);
            let (_, rest) = tail.split_at(1);
            for c in ['A', 'B', '-', '_', '=', '2', 'é', ' '] {
                let forged = format!("{head}{c}{rest}");
                let opened = sealer.open(&forged, &[]);
                assert_eq!(opened.is_some(), forged == text, "{c} at {at}");
            }
            assert_eq!(sealer.open(&format!("{head}A{tail}"), &[]), None);
        }
        for text in ["", "1", "1AAAA", "no-such-session"] {
            assert_eq!(sealer.open(text, &[]), None, "{text:?}");
        }
    }
}

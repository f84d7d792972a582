//! Secrets: texts that cannot be printed by accident, and lists of them to be masked in other texts.

use std::{borrow::Cow, collections::BTreeSet, fmt, sync::Arc};

use percent_encoding::percent_decode_str;

use super::{cut::beginning, percent::encoded};

/// Holds a secret. `Debug` and `Display` show `***`; there is no `Serialize`. The value leaves through [`Secret::reveal`] only,
/// so a search for that word finds every place where it does.
#[derive(Clone, PartialEq, Eq, Default, serde::Deserialize)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: for the process or the header that needs it, never for a listing or a log.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Stands in place of a secret.
pub const MASK: &str = "***";

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Bytes of the shortest secret that is masked: shorter ones would be found in any text.
const SHORTEST: usize = 6;

/// Secrets to mask in texts from servers and libraries. Clones share one list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets(Arc<[Secret]>);

impl Secrets {
    /// Makes a list. Each text is also masked line by line, without its first word (`Bearer …`), percent-encoded or decoded, and escaped as in
    /// JSON.
    pub fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut forms = BTreeSet::new();
        for text in texts {
            if let Some((_, bare)) = text.split_once(' ') {
                forms.insert(bare.to_owned());
            }
            forms.extend(text.lines().map(|line| line.trim().to_owned()));
            let encoded = encoded(&text);
            forms.insert(encoded.replace("%2F", "/"));
            forms.insert(encoded.replace("%20", "+"));
            forms.insert(encoded);
            forms.insert(percent_decode_str(&text).decode_utf8_lossy().into_owned());
            let json = serde_json::Value::from(text.as_str()).to_string();
            let quoted = json
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            forms.extend(quoted.map(str::to_owned));
            forms.insert(text);
        }
        Self::of_forms(forms.into_iter().map(Secret::new))
    }

    /// The secrets of several servers as one list.
    pub fn all<'a>(lists: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::of_forms(lists.into_iter().flat_map(|list| list.0.iter().cloned()))
    }

    fn of_forms(forms: impl Iterator<Item = Secret>) -> Self {
        let mut secrets: Vec<Secret> = forms
            .filter(|form| form.reveal().len() >= SHORTEST)
            .collect();
        // The longest first, because shorter ones may be parts of it.
        let order = |a: &Secret, b: &Secret| {
            let (a, b) = (a.reveal(), b.reveal());
            b.len().cmp(&a.len()).then_with(|| a.cmp(b))
        };
        secrets.sort_by(order);
        secrets.dedup();
        Self(secrets.into())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the predicate holds for one of them.
    pub fn any(&self, is_of_kind: impl Fn(&str) -> bool) -> bool {
        self.0.iter().any(|secret| is_of_kind(secret.reveal()))
    }

    /// The text with every secret masked.
    pub fn redacted<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut redacted = Cow::Borrowed(text);
        for secret in &*self.0 {
            if redacted.contains(secret.reveal()) {
                redacted = Cow::Owned(redacted.replace(secret.reveal(), MASK));
            }
        }
        redacted
    }

    /// A beginning of a text that is long enough to show `longest` bytes of it, with every secret masked, and whether the text goes on. Masking
    /// comes before cutting, because a cut secret is not found; but only four times as much is searched, because texts may have megabytes.
    pub fn redacted_to_show<'a>(&self, text: &'a str, longest: usize) -> (Cow<'a, str>, bool) {
        let begin = beginning(text, longest.saturating_mul(4));
        if begin.len() < text.len() {
            (self.redacted_beginning(begin), true)
        } else {
            (self.redacted(begin), false)
        }
    }

    /// Masks the beginning of a longer text. A part of a secret at its end, which may have been cut there, is masked, too.
    pub fn redacted_beginning<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let redacted = self.redacted(text);
        let parts = self.0.iter().map(|secret| {
            let secret = secret.reveal();
            let mut ends = secret.char_indices().rev().map(|(end, _)| end);
            let is_left = |end: &usize| {
                let part = secret.get(..*end);
                part.is_some_and(|part| redacted.ends_with(part))
            };
            ends.find(is_left).unwrap_or(0)
        });
        match parts.max() {
            None | Some(0) => redacted,
            Some(part) => {
                let (whole, _) = redacted.split_at(redacted.len() - part);
                Cow::Owned(format!("{whole}{MASK}"))
            }
        }
    }
}

#[cfg(test)]
mod tests;

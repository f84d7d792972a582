//! A text of an entry of ours, made of parts that stand for themselves and of references. Every text that comes from a file of a client and
//! every reference made for it goes through here: what is literal there is escaped after it was joined, so that no reference comes into
//! being that the file's own format does not mean.

use super::needs::{self, NeededValue, secret_name};
use crate::config;

/// A text on its way into an entry of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OurText {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// It stands for itself. No two of these follow each other.
    Literal(String),
    /// The inside of `${…}`.
    Reference(String),
}

impl OurText {
    /// A text that stands for itself.
    pub(super) fn literal(text: &str) -> Self {
        let mut made = Self::default();
        made.push_literal(text);
        made
    }

    pub(super) fn push_literal(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => (),
            Some(Part::Literal(before)) => before.push_str(text),
            _ => self.parts.push(Part::Literal(text.to_owned())),
        }
    }

    /// Refers to a variable, if that can be one. A default holds for itself whether the variable is needed.
    pub(super) fn push_variable(
        &mut self,
        name: &str,
        default: Option<&str>,
        needs: &mut Vec<NeededValue>,
    ) -> bool {
        let is_default = |text: &str| !text.contains("${") && !text.contains('}');
        if !is_variable(name) || !default.is_none_or(is_default) {
            return false;
        }
        let reference = if let Some(default) = default {
            format!("{name}:-{default}")
        } else {
            needs::note(needs, NeededValue::variable(name));
            name.to_owned()
        };
        self.parts.push(Part::Reference(reference));
        true
    }

    /// Refers to a secret, under a name that one can have.
    pub(super) fn push_secret(&mut self, need: NeededValue, needs: &mut Vec<NeededValue>) {
        let name = if config::is_secret_name(&need.name) {
            need.name.clone()
        } else {
            secret_name(&need.name)
        };
        self.parts.push(Part::Reference(format!("keyring:{name}")));
        needs::note(needs, NeededValue { name, ..need });
    }

    /// The text, if it refers to nothing.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// As it is written in a file of ours; or why it cannot be.
    pub(super) fn written(&self) -> Result<String, String> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.push_str(&text.replace("${", "$${")),
                // `$${` is how a literal `${` is written.
                Part::Reference(_) if out.ends_with('$') => {
                    let why =
                        "it has a \"$\" right before a reference, which mcpproxy cannot express";
                    return Err(why.to_owned());
                }
                Part::Reference(inside) => out.extend(["${", inside, "}"]),
            }
        }
        Ok(out)
    }
}

/// Whether a variable of the environment can have this name. Nothing else may become `${NAME}`.
pub(super) fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::{NeededValue, OurText};

    #[test]
    fn what_is_literal_stays_literal_however_it_is_joined() {
        let joined = |pieces: &[&str]| {
            let mut text = OurText::default();
            for piece in pieces {
                text.push_literal(piece);
            }
            text.written()
        };
        let secret = Ok("$${keyring:x}".to_owned());
        assert_eq!(joined(&["$", "{keyring:x}"]), secret);
        assert_eq!(joined(&["$", "", "{", "keyring:x}"]), secret);
        assert_eq!(joined(&["${keyring:x}"]), secret);
        assert_eq!(joined(&["$$", "{a}"]), Ok("$$${a}".to_owned()));
    }

    #[test]
    fn only_names_become_references() {
        let mut needs = Vec::new();
        let mut text = OurText::default();
        for name in ["", "1A", "keyring:x", "A}${keyring:x", "env:A", "A B", "é"] {
            assert!(!text.push_variable(name, None, &mut needs), "{name}");
        }
        assert!(!text.push_variable("A", Some("${keyring:x"), &mut needs));
        assert!(!text.push_variable("A", Some("}${keyring:x"), &mut needs));
        assert_eq!((text.plain(), needs.len()), (Some(""), 0));
        assert!(text.push_variable("A", None, &mut needs));
        text.push_literal("{keyring:x}");
        let odd = NeededValue::secret("A}${keyring:x".to_owned(), None);
        text.push_secret(odd, &mut needs);
        let expected = "${A}{keyring:x}${keyring:A---keyring-x}".to_owned();
        assert_eq!(text.written(), Ok(expected));
        text.push_literal("$");
        assert!(text.push_variable("A", None, &mut needs));
        assert!(text.written().is_err());
    }
}

//! A text that cannot be printed by accident.

use std::fmt;

/// Holds a secret. `Debug` and `Display` show `***`; there is no `Serialize`. The value leaves through [`Secret::reveal`] only,
/// so a search for that word finds every place where it does.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Takes the text in.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: for the process or the header that needs it, never for a listing or a log.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// What is shown in place of a secret.
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

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_secret_does_not_print() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret} {secret:?}"), "*** ***");
        assert_eq!(secret.reveal(), "hunter2");
    }
}

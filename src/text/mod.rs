//! Texts that every room uses: names of servers and tools, moments, secrets and texts that look like one, and invisible characters.

pub mod cut;
pub mod moment;
pub mod names;
pub mod percent;
pub mod redact;
pub mod secret;
pub mod visible;

pub use self::{
    cut::{beginning, shortened},
    names::ServerName,
    redact::{ListContext, TextKind},
    secret::{MASK, Secret, Secrets},
};

/// `1 server`, `2 servers`.
pub fn count(n: usize, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n => format!("{n} {one}s"),
    }
}

/// Gives an enum one word for each value: `ALL`, `as_str` and `parse`.
macro_rules! spelt {
    ($name:ident { $($value:ident = $word:literal),* $(,)? }) => {
        impl $name {
            /// Every value with its word.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$value, $word)),*];

            /// Its word.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)*
                }
            }

            /// What this word stands for.
            pub fn parse(word: &str) -> Option<Self> {
                let found = Self::ALL.iter().find(|(_, known)| *known == word);
                found.map(|(value, _)| *value)
            }
        }
    };
}
pub(crate) use spelt;

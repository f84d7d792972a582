//! Texts that every room uses: names of servers and tools, moments, secrets and texts that look like one, words of others, and invisible characters.

pub mod cut;
pub mod moment;
pub mod names;
pub mod percent;
pub mod quoted;
pub mod redact;
pub mod secret;
pub mod visible;

pub use self::{
    cut::{beginning, shortened},
    names::ServerName,
    quoted::{Quoted, one_line},
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

/// With a capital letter.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The first of these names, and how many more there are: `a, b and 3 more`.
pub fn some_of(names: &[impl AsRef<str>], most: usize) -> String {
    let (first, others) = names.split_at(names.len().min(most));
    let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
    match others.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Gives an enum one word for each value: `ALL`, `as_str` and `parse`. It may be defined here, with its words.
macro_rules! spelt {
    ($(#[$of_all:meta])* $vis:vis enum $name:ident {
        $($(#[$of_one:meta])* $value:ident = $word:literal,)*
    }) => {
        $(#[$of_all])*
        $vis enum $name {
            $($(#[$of_one])* $value,)*
        }
        spelt!($name { $($value = $word),* });
    };
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

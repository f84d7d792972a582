//! What the tables are made of: phrases and what they mean.

use super::Severity;

/// What a phrase means when it is found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    /// A finding by itself.
    Finding(&'static str, Severity),
    /// A part of one, if others stand near.
    Part(Hint),
}

/// A phrase. Patterns are written for folded text; ` ` stands for any blanks, `\b` is that of ASCII.
pub(super) struct Phrase {
    pub(super) meaning: Meaning,
    /// Words of which one must be there; the pattern is not tried without.
    pub(super) words: &'static [&'static str],
    pub(super) pattern: &'static str,
}

/// What a word hints at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    /// The reader is told to do something.
    Order,
    /// Before, after or with whatever else it does.
    EveryTime,
    /// Something is taken up.
    Take,
    /// Something is put into a parameter, a message or an address.
    Give,
    /// Something leaves the machine.
    Send,
    /// Files that hold keys or passwords.
    SecretFile,
    /// Keys and passwords by their names.
    SecretWord,
    /// What was said, and what is personal.
    Private,
    /// Quietly.
    Quiet,
    /// Tools besides this one.
    OtherTools,
    /// A tool of another server, by its name.
    StrangersTool,
    /// Recipients, accounts and addresses that are changed.
    Redirect,
    /// Who is to get what is sent: an address of mail, a number of an account.
    Recipient,
    /// The model is spoken of.
    Model,
    /// A command line.
    Command,
    /// Somebody else is said to want it so.
    Claim,
    /// The tool is the one to choose.
    Praise,
}

impl Hint {
    /// One bit for each, so that many are one number.
    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }
}

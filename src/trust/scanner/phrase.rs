//! What the tables are made of: phrases and what they mean.

use super::Severity;

/// What a phrase means when it is found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    /// A finding by itself.
    Finding(&'static str, Severity),
    /// A part of one, if others stand near.
    Part(Hint),
    /// Something private, with which tools for this have to do and others have not.
    Topic(Topic),
}

/// A phrase. Patterns are written for folded text; ` ` stands for any blanks, `\b` is that of ASCII.
pub(super) struct Phrase {
    pub(super) meaning: Meaning,
    /// Words of which one must be there; the pattern is not tried without. Without a pattern each of them is a phrase by itself, where it
    /// begins and ends as a word; with a star at its end it only has to begin as one.
    pub(super) words: &'static [&'static str],
    pub(super) pattern: &'static str,
}

/// A phrase that is any of these terms.
pub(super) const fn terms(meaning: Meaning, words: &'static [&'static str]) -> Phrase {
    Phrase {
        meaning,
        words,
        pattern: "",
    }
}

/// What something private is about, and what a tool may be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    /// Passwords, keys, and files that hold them.
    Credentials,
    /// What user and model say to each other, and what the model knows of itself.
    Conversation,
    /// Mails, messages, appointments.
    Mail,
    /// Whom somebody knows.
    People,
    Health,
    Money,
    /// Who somebody is.
    Identity,
    /// Where somebody is, and when nobody is at home.
    Whereabouts,
    /// What is on this machine besides.
    Machine,
    /// Attacks: tools that look for them speak of them.
    Security,
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
    /// It counts for more than what the user or the client says.
    Beyond,
    /// Others are not to be chosen.
    Exclusive,
    /// The reader is asked, kindly.
    Asks,
    /// All of something, or the latest of it.
    Whole,
    /// It is denied.
    Not,
    /// Something private that is not of the tool's purpose.
    Foreign,
    /// The same, as a parameter.
    Asked,
    /// Something speaks as if it were somebody else.
    Frame,
    /// What the model says to the user.
    Answers,
    /// Who reads it must not speak of it.
    Conceal,
    /// Something of somebody that is at hand, and no matter of the tool.
    Theirs,
    /// It is to be handed over or taken up.
    Hand,
    /// Whoever offers the tool wants something.
    Us,
    /// The user, or whoever else the model works for.
    Person,
    /// The model is spoken of where the tool has nothing to do with models.
    Addressed,
}

impl Hint {
    /// One bit for each, so that many are one number.
    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }
}

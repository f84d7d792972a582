//! Phrases, of which the tables are made, and their meanings.

use super::Severity;

/// The meaning of a phrase in a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    /// A finding by itself: its rule and its severity.
    Finding(&'static str, Severity),
    /// A part of a finding, if other hints stand near: see `combinations`.
    Part(Hint),
    /// Something private. It matters if the tool's purpose is another topic.
    Topic(Topic),
}

/// A phrase. Patterns are written for folded text: a blank stands for any blanks, and `\b` is the border of a word of ASCII.
pub(super) struct Phrase {
    pub(super) meaning: Meaning,
    /// With a pattern: words of which a text must have one, also inside of other words; else the pattern is not tried. Without a pattern: the terms
    /// themselves, see [`terms`].
    pub(super) words: &'static [&'static str],
    /// Empty for terms.
    pub(super) pattern: &'static str,
}

/// Writes the pattern of a phrase and the words without which it is not tried (`Phrase::words`) as one list, so that they cannot differ. Strings are
/// parts of the regular expression. Braces hold alternatives of which each calls for a word: the word, and after `=>` its expression if that is
/// another one: `"retriev" => "retriev(e|al)"`. Words of which the expression has only parts, or that must be there besides, follow after `words`.
macro_rules! phrase {
    (@expression $word:literal) => {
        $word
    };
    (@expression $word:literal => $text:literal) => {
        $text
    };
    (
        $meaning:expr, $($before:literal)*
        $({ $first:literal $(=> $first_text:literal)? $(| $word:literal $(=> $text:literal)?)* } $($after:literal)*)*
        $(, words: [$($more:literal),* $(,)?])?
    ) => {
        Phrase {
            meaning: $meaning,
            words: &[$($first, $($word,)*)* $($($more,)*)?],
            pattern: concat!(
                $($before,)*
                $(
                    phrase!(@expression $first $(=> $first_text)?),
                    $("|", phrase!(@expression $word $(=> $text)?),)*
                    $($after,)*
                )*
            ),
        }
    };
}
pub(super) use phrase;

/// A phrase that is any one of these terms. A term must stand in the text as whole words; with a star at its end its last word may go on.
pub(super) const fn terms(meaning: Meaning, words: &'static [&'static str]) -> Phrase {
    Phrase {
        meaning,
        words,
        pattern: "",
    }
}

/// A topic of private things, and of the purposes of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    /// Passwords, keys, and files that hold them.
    Credentials,
    /// What user and model say to each other, and what the model knows of itself.
    Conversation,
    /// Mails, messages, appointments.
    Mail,
    /// Contacts, family, colleagues.
    People,
    Health,
    Money,
    /// Personal data: names, documents, birthdays, political views.
    Identity,
    /// Places of a person, and times when nobody is at home.
    Whereabouts,
    /// Files, screen, clipboard and history of the computer.
    Machine,
    /// Attacks, of which tools that look for them speak.
    Security,
}

/// A part of an attack at which words hint. Alone it means nothing. The comments give words for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    /// An order to the reader: "must", "always".
    Order,
    /// At every opportunity: "before every call".
    EveryTime,
    /// Something is read: "read", "fetch".
    Take,
    /// Something is put into a parameter, a message or a URL: "pass it as".
    Give,
    /// Something leaves the machine: "upload it to https://".
    Send,
    /// Files with keys or passwords: "~/.ssh".
    SecretFile,
    /// Names of secrets: "api key".
    SecretWord,
    /// The conversation, and personal data: "system prompt".
    Private,
    /// Without attention: "silently".
    Quiet,
    /// Other tools: "any search tool".
    OtherTools,
    /// The name of another server's tool. No phrase: `shadowing` finds it.
    StrangersTool,
    /// A change of recipients, accounts or addresses: "set the recipient".
    Redirect,
    /// A recipient: an email address, the number of an account.
    Recipient,
    /// The model: "the assistant".
    Model,
    /// A command line: "run curl".
    Command,
    /// An authority that is said to want it: "required by security".
    Authority,
    /// Praise of the tool: "most reliable".
    Praise,
    /// Priority over the user or the client: "takes precedence".
    Priority,
    /// Rejection of other tools: "instead of any other".
    Exclusive,
    /// A kind request: "it would help".
    KindRequest,
    /// All or the latest of something: "entire".
    Everything,
    /// A denial: "never".
    Denial,
    /// Something private beyond the tool's purpose. No phrase: `judging` makes it of a topic.
    Foreign,
    /// The same in the description of a parameter.
    ForeignParameter,
    /// Text that poses as a message of somebody else: "user said:".
    Frame,
    /// The model's answer to the user: "your reply".
    Answers,
    /// Secrecy: "must not know".
    Conceal,
    /// Something that belongs to the user or another tool: "your inbox".
    Belongings,
    /// Something is handed over or read: "include", "contains".
    HandOver,
    /// The provider of the tool: "tell us".
    Provider,
    /// The user: "the person you work for".
    User,
    /// The model, in the text of a tool that has nothing to do with models. No phrase: `judging` makes it.
    Addressed,
}

impl Hint {
    /// Its bit in a set of hints.
    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }
}

//! A text of a definition, as the rules read it.

/// A text of a definition.
pub(super) struct Passage<'a> {
    /// Where it stands, escaped.
    pub(super) place: &'a str,
    pub(super) kind: Kind,
    pub(super) text: &'a str,
}

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The name of the thing itself.
    Name,
    /// A key of an object: the name of a parameter, or a keyword.
    Key,
    /// Sentences for the model or a person.
    Prose,
    /// Anything else: defaults, allowed values, examples, patterns, addresses.
    Value,
}

//! What the texts of a definition are for.

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

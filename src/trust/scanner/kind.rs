//! The kinds of texts in a definition.

/// The kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The name of the defined thing.
    Name,
    /// A key of an object: the name of a parameter, or a keyword.
    Key,
    /// Sentences for the model or a person.
    Prose,
    /// Anything else: defaults, allowed values, examples, patterns, addresses.
    Value,
}

//! The indexes of one server's lists. Pure.

use super::uri_templates::loosely;
use crate::{runtime::text_index::TextIndex, text::visible::letters};

/// What of one server's lists is looked up by name or URI, and by what a lenient server may take one for.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    pub(super) prompts: TextIndex,
    pub(super) resources: TextIndex,
    pub(super) templates: TextIndex,
    /// Tools, by the letters of their names.
    pub(super) tools_by_letters: TextIndex,
    /// Resources, by their URIs without what servers are lenient about.
    pub(super) resources_by_spelling: TextIndex,
}

impl Lookups {
    /// Of the names and URIs of these lists.
    pub(super) fn new<'a>(
        tools: impl Iterator<Item = &'a str>,
        prompts: impl Iterator<Item = &'a str>,
        resources: impl Iterator<Item = &'a str> + Clone,
        templates: impl Iterator<Item = &'a str>,
    ) -> Self {
        Self {
            prompts: TextIndex::of_all(prompts),
            resources: TextIndex::of_all(resources.clone()),
            templates: TextIndex::of_all(templates),
            tools_by_letters: TextIndex::new(tools.map(letters::loosely).enumerate()),
            resources_by_spelling: TextIndex::new(resources.map(loosely).enumerate()),
        }
    }
}

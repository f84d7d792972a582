//! One iterator over everything that a server lists.

use super::ServerCatalog;
use crate::{
    trust::{approvals::ThingKind, fingerprint::Fingerprint},
    wire::{Raw, Target},
};

/// A definition that a server lists.
pub struct ListedDefinition<'a> {
    /// The kind of thing that it defines.
    pub kind: ThingKind,
    /// The server's own name, URI or URI template.
    pub name: &'a str,
    /// As it came.
    pub definition: &'a Raw,
    /// Detects a change of its texts; `None` for tools, which have a fingerprint of their own.
    pub(super) texts: Option<Fingerprint>,
    /// Whether the scanner objects to it; false for tools, which are scanned on first use.
    pub(super) is_suspicious: bool,
}

impl<'a> ListedDefinition<'a> {
    /// The target of a request for it.
    pub fn target(&self) -> Target<'a> {
        match self.kind {
            ThingKind::Prompt => Target::prompt(self.name),
            ThingKind::Resource | ThingKind::Template => Target::resource(self.name),
            ThingKind::Tool | ThingKind::Instructions => Target::tool(self.name),
        }
    }
}

impl ServerCatalog {
    /// Whether it lists nothing that a person could review. Its instructions show nothing of the tools that it may list later.
    pub fn lists_nothing(&self) -> bool {
        self.definitions().next().is_none()
    }

    /// Tools, prompts, resources and templates, each list in the server's order.
    pub fn definitions(&self) -> impl Iterator<Item = ListedDefinition<'_>> {
        let tools = self.tools.iter().map(|one| ListedDefinition {
            kind: ThingKind::Tool,
            name: &one.name,
            definition: &one.definition,
            texts: None,
            is_suspicious: false,
        });
        let prompts = self.prompts.iter().map(|one| ListedDefinition {
            kind: ThingKind::Prompt,
            name: &one.name,
            definition: &one.definition,
            texts: Some(one.texts),
            is_suspicious: one.is_suspicious,
        });
        let resources = self.resources.iter().map(|one| ListedDefinition {
            kind: ThingKind::Resource,
            name: &one.uri,
            definition: &one.definition,
            texts: Some(one.texts),
            is_suspicious: one.is_suspicious,
        });
        let templates = self.templates.iter().map(|one| ListedDefinition {
            kind: ThingKind::Template,
            name: &one.uri_template,
            definition: &one.definition,
            texts: Some(one.texts),
            is_suspicious: one.is_suspicious,
        });
        tools.chain(prompts).chain(resources).chain(templates)
    }
}

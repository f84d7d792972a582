//! Finds what a server lists by its exact name, and by the spellings that a lenient server may take for it.

use super::{Problem, Prompt, Resource, ServerCatalog, Template, Tool};
use crate::{
    catalog::uri_templates::{ComparedUri, folded_uri},
    runtime::{quick_map::QuickMap, text_index::TextIndex},
    text::visible::letters,
    trust::approvals::ThingKind,
};

/// The indexes of one server's lists.
#[derive(Debug, Default)]
pub(in crate::catalog) struct Lookups {
    /// By name. Each call reads this.
    tools: QuickMap<Box<str>, usize>,
    prompts: TextIndex,
    resources: TextIndex,
    templates: TextIndex,
    /// Tools, by their names as [`letters::folded_name`] leaves them.
    tools_by_letters: TextIndex,
    /// Resources, by their URIs as [`folded_uri`] leaves them.
    resources_by_spelling: TextIndex,
}

impl Lookups {
    /// Indexes these lists.
    pub(in crate::catalog) fn new(
        tools: &[Tool],
        prompts: &[Prompt],
        resources: &[Resource],
        templates: &[Template],
    ) -> Self {
        let names = tools.iter().map(|tool| &*tool.name);
        let uris = resources.iter().map(|resource| &*resource.uri);
        Self {
            tools: names.clone().map(Into::into).zip(0..).collect(),
            prompts: TextIndex::of_all(prompts.iter().map(|prompt| &*prompt.name)),
            resources: TextIndex::of_all(uris.clone()),
            templates: TextIndex::of_all(templates.iter().map(|one| &*one.uri_template)),
            tools_by_letters: TextIndex::new(names.map(letters::folded_name).enumerate()),
            resources_by_spelling: TextIndex::new(uris.map(folded_uri).enumerate()),
        }
    }
}

impl ServerCatalog {
    /// A tool by the server's own name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        let place = self.lookups.tools.get(name)?;
        self.tools.get(*place)
    }

    /// A prompt by the server's own name.
    pub fn prompt(&self, name: &str) -> Option<&Prompt> {
        let places = self.lookups.prompts.places(name);
        let mut found = places.filter_map(|place| self.prompts.get(place));
        found.find(|prompt| *prompt.name == *name)
    }

    /// A resource by its own URI.
    pub fn resource(&self, uri: &str) -> Option<&Resource> {
        let places = self.lookups.resources.places(uri);
        let mut found = places.filter_map(|place| self.resources.get(place));
        found.find(|resource| *resource.uri == *uri)
    }

    /// A resource template by its own text.
    pub fn template(&self, uri_template: &str) -> Option<&Template> {
        let places = self.lookups.templates.places(uri_template);
        let mut found = places.filter_map(|place| self.templates.get(place));
        found.find(|template| *template.uri_template == *uri_template)
    }

    /// The tools that a lenient server may take for a name, which [`letters::folded_name`] has folded.
    pub fn tools_of_letters(&self, wanted: &str) -> impl Iterator<Item = &Tool> {
        let places = self.lookups.tools_by_letters.places(wanted);
        let found = places.filter_map(|place| self.tools.get(place));
        found.filter(move |tool| letters::folded_name(&tool.name) == wanted)
    }

    /// The resources that a lenient server may take for this one.
    pub fn resources_like(&self, uri: &ComparedUri<'_>) -> impl Iterator<Item = &Resource> {
        let places = self.lookups.resources_by_spelling.places(&uri.loose);
        let found = places.filter_map(|place| self.resources.get(place));
        found.filter(move |resource| folded_uri(&resource.uri) == uri.loose)
    }

    /// The templates of which this URI may be an expansion to a lenient server.
    pub fn templates_of(&self, uri: &ComparedUri<'_>) -> impl Iterator<Item = &Template> {
        let templates = self.templates.iter();
        templates.filter(move |template| template.loose.fits(&template.uri_template, uri))
    }

    /// Whether it lists something of this name that can be read.
    pub fn keeps(&self, kind: ThingKind, name: &str) -> bool {
        match kind {
            ThingKind::Tool => self.tool(name).is_some(),
            ThingKind::Prompt => self.prompt(name).is_some(),
            ThingKind::Resource => self.resource(name).is_some(),
            ThingKind::Template => self.template(name).is_some(),
            ThingKind::Instructions => self.instructions().is_some(),
        }
    }

    /// Whether it lists something of this name, and nothing of it that can be read.
    pub fn leaves_out(&self, kind: ThingKind, name: &str) -> bool {
        let is_it = |problem: &Problem| {
            problem.is_left_out && problem.kind == kind && problem.name.as_deref() == Some(name)
        };
        !self.keeps(kind, name) && self.problems.iter().any(is_it)
    }

    /// Whether it lists this tool, or tools of other names alone, and none that can be used.
    pub fn lacks_usable(&self, tool: &str) -> bool {
        let is_left_out =
            |problem: &Problem| problem.is_left_out && problem.kind == ThingKind::Tool;
        let has_none = self.tools.is_empty() && self.problems.iter().any(is_left_out);
        has_none || self.leaves_out(ThingKind::Tool, tool)
    }
}

//! Reads what a server says about itself, and what a person or an agent says about a server, and names what looks like an attack on
//! the model or on the person who reads it. Pure, offline and deterministic.
//!
//! It advises: text that means harm can be written in ways that no reader of text finds. Pinning, approval and the gate hold without it.

mod annotations;
mod characters;
mod encoded;
mod entry;
mod excerpt;
mod findings;
mod fold;
mod hidden;
mod lookalike;
mod metadata_service;
mod narrow;
mod neighbours;
mod orders;
mod parameters;
mod passage;
mod pattern;
mod phrase;
mod phrases;
mod relations;
mod shadowing;
mod signals;
mod similar_names;
mod terminal;
#[cfg(test)]
mod tests;
mod vocabulary;
mod walk;
mod worded_effect;
mod words;

use std::{borrow::Cow, ops::Range};

use serde::Serialize;

use self::{findings::Findings, passage::Passage};
pub use self::{
    neighbours::Neighbours,
    relations::Relations,
    worded_effect::WordedEffect,
    words::{in_words, why},
};
use crate::{config::ServerEntry, text::secret::Secrets, trust::fingerprint, wire::Raw};

/// One thing that a person should know before trusting a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which rule found it, `family.rule`; `docs/scanner.md` lists them.
    pub rule: &'static str,
    /// What follows from it.
    pub severity: Severity,
    /// Where it stands: a JSON pointer into the definition, escaped and cut.
    pub place: String,
    /// The words that the rule objects to, escaped and cut. For people: they may be an order.
    pub excerpt: String,
    /// Which characters of the excerpt the rule objects to, where that is not all of it.
    pub marked: Option<Range<usize>>,
    /// The tool or the server that a name is taken for, in lower case. For people: not every agent may know of it.
    pub like: Option<String>,
}

impl Finding {
    /// The same without what must not show: a server may repeat the credentials that it was given.
    #[must_use]
    pub fn without(self, secrets: &Secrets) -> Self {
        match secrets.redacted(&self.excerpt) {
            Cow::Borrowed(_) => self,
            // What was counted is another text now.
            Cow::Owned(excerpt) => Self {
                excerpt,
                marked: None,
                ..self
            },
        }
    }
}

/// Whether what a stranger calls something says nothing but a name: few plain words, to which no rule objects. What else a stranger wrote
/// may be an order, and no model reads it of what is held.
pub fn is_only_a_name(name: &str) -> bool {
    orders::is_only_a_name(name)
}

/// What follows from a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It is shown to people.
    Remark,
    /// What is new is held until you approve it.
    Hold,
}

/// The gravest severity among findings.
pub fn gravest(findings: &[Finding]) -> Option<Severity> {
    findings.iter().map(|finding| finding.severity).max()
}

/// Reads the definition of a tool. `neighbours` are the tools of all servers; those of `server` itself are no strangers to it.
pub fn scan_tool(server: &str, definition: &Raw, neighbours: &Neighbours) -> Vec<Finding> {
    let mut findings = Findings::default();
    walk::definition(definition, &mut findings, |text, findings| {
        let strangers = shadowing::strangers(text, server, neighbours);
        lookalike::read(text, server, neighbours, findings);
        parameters::read(text, findings);
        shadowing::read(text, &strangers, findings);
        read(text, &strangers, findings);
    });
    annotations::read(definition, &mut findings);
    findings.done()
}

/// Since when a definition is known that is compared with what others list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// It is new.
    OfNew,
    /// It was taken for good when others did not list what they list now. Where nothing says which of two names imitates the other,
    /// it is not this one: no server may take another's tools out of use.
    OfBaseline,
}

/// Whether it objects to a tool for what other servers list: it gives orders about their tools, or its name is taken for theirs.
pub fn objects_beside_others(
    server: &str,
    name: &str,
    definition: &Raw,
    neighbours: &Neighbours,
    comparison: Comparison,
) -> bool {
    lookalike::imitates(name, server, neighbours, comparison)
        || orders_about_others(server, definition, neighbours)
}

/// Whether a definition, or what a server says of itself, gives orders about tools of others by their names.
pub fn orders_about_others(server: &str, text: &Raw, neighbours: &Neighbours) -> bool {
    if !relations::names_strangers(text, server, neighbours) {
        return false;
    }
    let mut gives_orders = false;
    walk::definition(text, &mut Findings::default(), |text, _| {
        let strangers = shadowing::strangers(text, server, neighbours);
        gives_orders |= !strangers.is_empty() && orders::are_about(text, &strangers);
    });
    gives_orders
}

/// Whether it objects to what of a tool's definition does not count in its fingerprint otherwise: pictures, and what programs say to each
/// other. A client may show that to a model, too.
pub fn objects_beside(definition: &Raw) -> bool {
    let whole = definition.as_bytes();
    let beside = definition.members().filter(|member| {
        let name = member.name(whole);
        name.is_some_and(|name| !fingerprint::counts(&name))
    });
    beside.into_iter().any(|member| {
        let mut findings = Findings::default();
        let value = definition.part(member.value);
        walk::definition(&value, &mut findings, read_alone);
        gravest(&findings.done()) == Some(Severity::Hold)
    })
}

/// Reads the definition of a prompt.
pub fn scan_prompt(definition: &Raw) -> Vec<Finding> {
    let mut findings = Findings::default();
    walk::definition(definition, &mut findings, read_alone);
    findings.done()
}

/// Reads what a list says about a resource or a resource template; not its contents.
pub fn scan_resource(definition: &Raw) -> Vec<Finding> {
    let mut findings = Findings::default();
    walk::definition(definition, &mut findings, read_alone);
    findings.done()
}

/// Reads the `instructions` of a server.
pub fn scan_instructions(server: &str, text: &Raw, neighbours: &Neighbours) -> Vec<Finding> {
    let mut findings = Findings::default();
    walk::prose("/instructions", text, &mut findings, |text, findings| {
        let strangers = shadowing::strangers(text, server, neighbours);
        shadowing::read(text, &strangers, findings);
        read(text, &strangers, findings);
    });
    findings.done()
}

/// Reads the entry of a server: what would be started or contacted. Values of variables and headers are secret and are not read.
pub fn scan_entry(entry: &ServerEntry) -> Vec<Finding> {
    let mut findings = Findings::default();
    entry::read(entry, &mut findings);
    findings.done()
}

fn read(text: &Passage<'_>, strangers: &[Range<usize>], findings: &mut Findings) {
    hidden::read(text, findings);
    terminal::read(text, findings);
    encoded::read(text, findings);
    metadata_service::read(text, findings);
    orders::read(text, strangers, findings);
}

fn read_alone(text: &Passage<'_>, findings: &mut Findings) {
    read(text, &[], findings);
}

//! Reads what a server says about itself, and what a person or an agent says about a server, and names what looks like an attack on
//! the model or on the person who reads it. Pure, offline and deterministic.
//!
//! It advises: text that means harm can be written in ways that no reader of text finds. Pinning, approval and the gate hold without it.

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
mod shadowing;
mod signals;
mod similar_names;
mod terminal;
#[cfg(test)]
mod tests;
mod vocabulary;
mod walk;
mod words;

use std::{borrow::Cow, ops::Range};

use serde::Serialize;

use self::{findings::Findings, passage::Passage};
pub use self::{
    neighbours::Neighbours,
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
    /// What is new is held until a person approves it.
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
    findings.done()
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
pub fn scan_instructions(text: &str) -> Vec<Finding> {
    let mut findings = Findings::default();
    walk::prose("/instructions", text, &mut findings, read_alone);
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

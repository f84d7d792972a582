//! Reads what a server says about itself, and what a person or an agent says about a server, and names what looks like an attack on
//! the model or on the person who reads it. Pure, offline and deterministic.
//!
//! It advises: text that means harm can be written in ways that no reader of text finds. Pinning, approval and the gate hold without it.

mod annotations;
mod beyond;
mod combinations;
mod encoded;
mod entry;
mod excerpt;
mod families;
mod findings;
mod fold;
mod hidden;
mod judging;
mod kind;
mod likeness;
mod lookalike;
mod markup;
mod metadata_service;
mod neighbours;
mod orders;
mod parameters;
mod passage;
mod pattern;
mod pattern_beginnings;
mod pattern_steps;
mod phrase;
mod phrases;
mod purpose;
mod quoted;
mod relations;
mod shadowing;
mod signals;
mod similar_names;
mod terminal;
#[cfg(test)]
mod tests;
mod vocabulary;
mod walk;
mod word_table;
mod worded_effect;
mod words;

use std::{borrow::Cow, ops::Range};

use serde::{Deserialize, Serialize};

pub use self::{
    excerpt::with_brackets,
    neighbours::Neighbours,
    relations::Relations,
    worded_effect::WordedEffect,
    words::{in_words, why},
};
use self::{
    findings::Findings,
    passage::{Passage, PassageReader},
    purpose::ToolPurpose,
};
use crate::{
    config::ServerEntry,
    text::secret::Secrets,
    trust::{approvals::Knowledge, fingerprint},
    wire::Raw,
};

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

/// Whether the name of a tool imitates that of another server's tool, or the name of its server that of another server.
pub fn imitates((server, name): (&str, &str), neighbours: &Neighbours, known: Knowledge) -> bool {
    lookalike::imitates(name, server, neighbours, known)
}

/// What follows from a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

/// Reads definitions. The phrases of its tables are read when a text calls for them, and are gone with it: whoever has much to read keeps
/// one for all of it, and nobody keeps one for later.
#[derive(Default)]
pub struct Scanner(PassageReader);

impl Scanner {
    /// Reads the definition of a tool. `neighbours` are the tools of all servers; those of `server` itself are no strangers to it.
    pub fn tool(
        &mut self,
        server: &str,
        definition: &Raw,
        neighbours: &Neighbours,
    ) -> Vec<Finding> {
        let mut findings = Findings::default();
        self.0.purpose = Some(ToolPurpose::of(server, definition));
        walk::definition(definition, &self.0, &mut findings, |text, findings| {
            let strangers = shadowing::strangers(text, server, neighbours);
            lookalike::read(text, server, neighbours, findings);
            parameters::read(text, findings);
            shadowing::read(text, &strangers, findings);
            markup::read(text, findings);
            read(text, &strangers, findings);
        });
        annotations::read(definition, &mut findings);
        self.0.purpose = None;
        beyond::read_all(std::mem::take(&mut self.0.asked), &mut findings);
        findings.done()
    }

    /// The marks of each sentence of a definition: what the weights of `likeness` are learned from.
    pub fn marks(&self, definition: &Raw) -> Vec<Vec<u16>> {
        let mut marks = Vec::new();
        walk::definition(definition, &self.0, &mut Findings::default(), |text, _| {
            marks.extend(likeness::marks(text));
        });
        marks
    }

    /// Whether a definition, or what a server says of itself, gives orders about tools of others by their names.
    pub fn orders_about_others(&self, server: &str, text: &Raw, neighbours: &Neighbours) -> bool {
        if !relations::names_strangers(text, server, neighbours) {
            return false;
        }
        let mut gives_orders = false;
        walk::definition(text, &self.0, &mut Findings::default(), |text, _| {
            let strangers = shadowing::strangers(text, server, neighbours);
            gives_orders |= !strangers.is_empty() && orders::are_about(text, &strangers);
        });
        gives_orders
    }

    /// Whether it objects to what of a tool's definition does not count in its fingerprint otherwise: pictures, and what programs say to
    /// each other. A client may show that to a model, too.
    pub fn objects_beside(&self, definition: &Raw) -> bool {
        let whole = definition.as_bytes();
        let beside = definition.members().filter(|member| {
            let name = member.name(whole);
            name.is_some_and(|name| !fingerprint::counts(&name))
        });
        beside.into_iter().any(|member| {
            let value = definition.part(member.value);
            gravest(&self.thing(&value)) == Some(Severity::Hold)
        })
    }

    /// Reads the definition of a prompt, or what a list says about a resource or a resource template; not its contents.
    pub fn thing(&self, definition: &Raw) -> Vec<Finding> {
        let mut findings = Findings::default();
        walk::definition(definition, &self.0, &mut findings, read_alone);
        findings.done()
    }

    /// Reads the `instructions` of a server.
    pub fn instructions(&self, server: &str, text: &Raw, neighbours: &Neighbours) -> Vec<Finding> {
        let mut findings = Findings::default();
        walk::prose(
            "/instructions",
            text,
            &self.0,
            &mut findings,
            |text, findings| {
                let strangers = shadowing::strangers(text, server, neighbours);
                shadowing::read(text, &strangers, findings);
                read(text, &strangers, findings);
            },
        );
        findings.done()
    }

    /// Reads the entry of a server: what would be started or contacted. Values of variables and headers are secret and are not read.
    pub fn entry(&self, entry: &ServerEntry) -> Vec<Finding> {
        let mut findings = Findings::default();
        entry::read(entry, &self.0, &mut findings);
        findings.done()
    }
}

fn read(text: &Passage<'_>, strangers: &[Range<usize>], findings: &mut Findings) {
    hidden::read(text, findings);
    terminal::read(text, findings);
    encoded::read(text, findings);
    metadata_service::read(text, findings);
    let is_excused = orders::read(text, strangers, findings);
    if !is_excused {
        likeness::read(text, findings);
    }
}

fn read_alone(text: &Passage<'_>, findings: &mut Findings) {
    read(text, &[], findings);
}

//! The scanner: reads definitions, instructions and entries of servers, and reports what looks like an attack on the model or on the person who
//! reads them. Pure, offline and deterministic.
//!
//! A text passes through these steps: `walk` shows each text of a definition as a `Passage`; `fold` undoes spelling tricks; `phrases` finds the
//! phrases of the tables (`vocabulary`, `signals`, `families`); `judging` drops those that are of the tool's purpose; `orders` reports phrases that
//! are findings by themselves and `combinations` of others; `quoted` turns a finding that stands in a quotation or has a good reason into a
//! remark. `likeness` weighs what no rule finds. The other files each have a rule of their own.
//!
//! It can only advise: harm can be written in ways that no scanner finds. Approvals and the gate do not depend on it.

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
mod likeness;
mod lookalike;
mod markup;
mod meanings;
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

use std::{borrow::Cow, ops::Range};

use serde::{Deserialize, Serialize};

pub use self::{
    excerpt::with_brackets,
    meanings::{in_words, why},
    neighbours::Neighbours,
    relations::Relations,
    worded_effect::WordedEffect,
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

/// Something that a person should know before trusting a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it, `family.rule`; `docs/scanner.md` lists them.
    pub rule: &'static str,
    /// What follows from it.
    pub severity: Severity,
    /// A JSON pointer into the definition, escaped and cut.
    pub place: String,
    /// The words to which the rule objects, escaped and cut. Not for models: they may be an order.
    pub excerpt: String,
    /// The characters of the excerpt to which the rule objects, if those are not all.
    pub marked: Option<Range<usize>>,
    /// The tool or the server that a name imitates, in lower case. Not for models: an agent may have no access to it.
    pub like: Option<String>,
}

impl Finding {
    /// The same with these secrets masked: a server may repeat the credentials that it was given.
    #[must_use]
    pub fn without(self, secrets: &Secrets) -> Self {
        match secrets.redacted(&self.excerpt) {
            Cow::Borrowed(_) => self,
            // The masked text has other positions.
            Cow::Owned(excerpt) => Self {
                excerpt,
                marked: None,
                ..self
            },
        }
    }
}

/// Whether a name from outside is nothing but a name: few plain words to which no rule objects. Other text of held definitions is not shown to
/// models, because it may be an order.
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
    /// People see it.
    Remark,
    /// A new definition with it is held until a person approves it.
    Hold,
}

/// The gravest severity among findings.
pub fn gravest(findings: &[Finding]) -> Option<Severity> {
    findings.iter().map(|finding| finding.severity).max()
}

/// Reads definitions. It compiles the patterns of its tables when a text needs them and keeps them for its lifetime, so use one scanner for a
/// whole listing, and drop it afterwards.
#[derive(Default)]
pub struct Scanner(PassageReader);

impl Scanner {
    /// Reads the definition of a tool. `neighbours` are the tools of all servers, with those of `server` itself.
    pub fn tool(
        &mut self,
        server: &str,
        definition: &Raw,
        neighbours: &Neighbours,
    ) -> Vec<Finding> {
        // A clone, so that the places of its members are remembered only while it is read.
        let definition = &definition.clone();
        definition.remember_members();
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

    /// The marks of each sentence of a definition, from which the weights of `likeness` are trained.
    pub fn marks(&self, definition: &Raw) -> Vec<Vec<u16>> {
        let mut marks = Vec::new();
        walk::definition(definition, &self.0, &mut Findings::default(), |text, _| {
            marks.extend(likeness::marks(text));
        });
        marks
    }

    /// Whether a definition, or the instructions of a server, gives orders about tools of other servers by their names.
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

    /// Whether the scanner objects to a member of a tool's definition that does not count in its fingerprint, such as `_meta`. A client may show
    /// those to a model, too.
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

    /// Reads the definition of a prompt, a resource or a resource template, but not its contents.
    pub fn thing(&self, definition: &Raw) -> Vec<Finding> {
        let mut findings = Findings::default();
        walk::definition(definition, &self.0, &mut findings, |text, findings| {
            read(text, &[], findings);
        });
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

    /// Reads the entry of a server: the command or the URL. Values of variables and headers are secret and are not read.
    pub fn entry(&self, entry: &ServerEntry) -> Vec<Finding> {
        let mut findings = Findings::default();
        entry::read(entry, &self.0, &mut findings);
        findings.done()
    }
}

fn read(text: &Passage<'_>, strangers: &[Range<usize>], findings: &mut Findings) {
    let is_plain = text.is_plain();
    if !is_plain {
        hidden::read(text, findings);
        terminal::read(text, findings);
        encoded::read(text, findings);
        metadata_service::read(text, findings);
    }
    let is_excused = orders::read(text, strangers, findings);
    if !is_plain && !is_excused && !likeness::read(text, findings) && findings.are_none() {
        text.note_plain();
    }
}

//! Collects findings: one for each rule and place, in a bounded number, of which the gravest are kept.

use std::ops::Range;

use super::{Finding, Severity, excerpt::excerpt_marked, passage::Passage};

/// Limit: findings of one definition, because nobody reads more.
const MOST: usize = 24;

/// The findings so far.
#[derive(Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    /// Notes that a rule objects to a part of a text.
    pub(super) fn add(
        &mut self,
        rule: &'static str,
        severity: Severity,
        text: &Passage<'_>,
        range: Range<usize>,
    ) {
        if self.wants(rule, severity, text.place) {
            let (excerpt, marked) = excerpt_marked(text.text, range);
            let found = finding(rule, severity, text.place, excerpt);
            self.put(Finding { marked, ..found });
        }
    }

    /// Notes that a rule objects to something at a place, with an excerpt or a text in its stead.
    pub(super) fn note(
        &mut self,
        rule: &'static str,
        severity: Severity,
        place: &str,
        excerpt: String,
    ) {
        if self.wants(rule, severity, place) {
            self.put(finding(rule, severity, place, excerpt));
        }
    }

    /// Notes that a name imitates another one: the excerpt, and the imitated name.
    pub(super) fn note_like(
        &mut self,
        rule: &'static str,
        severity: Severity,
        place: &str,
        (excerpt, like): (String, String),
    ) {
        if self.wants(rule, severity, place) {
            self.put(Finding {
                like: Some(like),
                ..finding(rule, severity, place, excerpt)
            });
        }
    }

    /// Whether no rule objected to anything.
    pub(super) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The severity of the gravest finding at a place.
    pub(super) fn gravest_at(&self, place: &str) -> Option<Severity> {
        let there = self.0.iter().filter(|known| known.place == place);
        there.map(|known| known.severity).max()
    }

    /// Whether a finding at a place makes other doubts about it more likely. Commands and rules about answers do not, nor do preferences in
    /// instructions, which may say when to use the server.
    pub(super) fn confirms_at(&self, place: &str) -> bool {
        let mild = |rule: &str| {
            rule.starts_with("command.")
                || rule == "orders.answers"
                || place == "/instructions" && rule.starts_with("preference.")
        };
        let mut there = self.0.iter().filter(|known| known.place == place);
        there.any(|known| !mild(known.rule))
    }

    /// Whether such a finding would be kept.
    pub(super) fn wants(&self, rule: &str, severity: Severity, place: &str) -> bool {
        let same = |known: &&Finding| known.rule == rule && known.place == place;
        match self.0.iter().find(same) {
            Some(known) => known.severity < severity,
            None => self.0.len() < MOST || severity == Severity::Hold,
        }
    }

    fn put(&mut self, finding: Finding) {
        let same = |known: &Finding| known.rule == finding.rule && known.place == finding.place;
        if let Some(known) = self.0.iter_mut().find(|known| same(known)) {
            *known = finding;
        } else if self.0.len() < MOST {
            self.0.push(finding);
        } else {
            let milder = self.0.iter_mut().rev();
            if let Some(milder) = milder
                .into_iter()
                .find(|known| known.severity < finding.severity)
            {
                *milder = finding;
            }
        }
    }

    /// All findings, the gravest first, otherwise in the order of the text.
    pub(super) fn done(mut self) -> Vec<Finding> {
        self.0
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        self.0
    }
}

fn finding(rule: &'static str, severity: Severity, place: &str, excerpt: String) -> Finding {
    Finding {
        rule,
        severity,
        place: place.to_owned(),
        excerpt,
        marked: None,
        like: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::scanner::passage::{Kind, PassageReader};

    #[test]
    fn the_gravest_are_kept_and_each_rule_stands_once_a_place() {
        let (mut findings, reader) = (Findings::default(), PassageReader::default());
        for i in 0..100 {
            let place = format!("/{i}");
            let text = Passage::new(&place, Kind::Prose, "word", &reader);
            findings.add("a.rule", Severity::Remark, &text, 0..4);
            findings.add("a.rule", Severity::Remark, &text, 0..4);
        }
        let text = Passage::new("/last", Kind::Prose, "word", &reader);
        findings.add("a.rule", Severity::Hold, &text, 0..4);
        findings.add("a.rule", Severity::Remark, &text, 0..4);
        let done = findings.done();
        assert_eq!(done.len(), MOST);
        assert_eq!(done[0].severity, Severity::Hold);
        assert_eq!(done[1].place, "/0");
    }
}

//! Finds names of tools and servers that imitate those of other servers.

use super::{
    Findings, Neighbours, Passage,
    Severity::{Hold, Remark},
    excerpt::excerpt,
    neighbours::Nearness,
    passage::Kind,
    similar_names::is_plain,
};
use crate::trust::approvals::Knowledge;

/// Whether a tool's name imitates that of another server's tool, or its server's name that of another server. Of two names of which nothing
/// says which imitates the other, only the new one does: otherwise a server could take another's tools out of use.
pub(super) fn imitates(
    name: &str,
    server: &str,
    neighbours: &Neighbours,
    known: Knowledge,
) -> bool {
    let is_imitation = |own: &str, near: Nearness| match near {
        Nearness::LooksTheSame => known == Knowledge::New || !is_plain(&own.to_lowercase()),
        Nearness::NamesTheServer => true,
        Nearness::BetterThan => known == Knowledge::New,
        Nearness::OneLetterOff | Nearness::Same | Nearness::WithMore => false,
    };
    let tool = neighbours.nearest(server, name);
    let near_server = neighbours.nearest_server(server);
    tool.is_some_and(|(near, _)| is_imitation(name, near))
        || near_server.is_some_and(|(near, _)| is_imitation(server, near))
}

/// Compares the name of a tool with those of other servers.
pub(super) fn read(
    text: &Passage<'_>,
    server: &str,
    neighbours: &Neighbours,
    findings: &mut Findings,
) {
    if text.kind != Kind::Name || neighbours.are_none() {
        return;
    }
    if let Some((nearness, like)) = neighbours.nearest(server, text.text) {
        let (rule, severity) = match nearness {
            Nearness::LooksTheSame => ("lookalike.letters", Hold),
            Nearness::OneLetterOff => ("lookalike.spelling", Remark),
            Nearness::NamesTheServer => ("lookalike.server", Hold),
            Nearness::Same => ("lookalike.same", Remark),
            Nearness::BetterThan => ("lookalike.better", Hold),
            Nearness::WithMore => ("lookalike.more", Remark),
        };
        findings.note_like(rule, severity, text.place, (excerpt(text.text), like));
    }
    let Some((nearness, like)) = neighbours.nearest_server(server) else {
        return;
    };
    let (rule, severity) = match nearness {
        Nearness::LooksTheSame => ("lookalike.server_letters", Hold),
        _ => ("lookalike.server_spelling", Remark),
    };
    findings.note_like(rule, severity, "", (excerpt(server), like));
}

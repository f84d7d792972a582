//! Names that are taken for others: of tools across servers, and of servers.

use super::{
    Severity::{Hold, Remark},
    excerpt::excerpt,
    findings::Findings,
    neighbours::{Nearness, Neighbours},
    passage::{Kind, Passage},
};

/// Compares the name of a tool with those of other servers.
pub(super) fn read(
    text: &Passage<'_>,
    server: &str,
    neighbours: &Neighbours,
    findings: &mut Findings,
) {
    if text.kind != Kind::Name {
        return;
    }
    let whole = 0..text.text.len();
    match neighbours.nearest(server, text.text) {
        Some(Nearness::LooksTheSame) => findings.add("lookalike.letters", Hold, text, whole),
        Some(Nearness::OneLetterOff) => findings.add("lookalike.spelling", Remark, text, whole),
        Some(Nearness::NamesTheServer) => findings.add("lookalike.server", Hold, text, whole),
        Some(Nearness::Same) => findings.add("lookalike.same", Remark, text, whole),
        None => (),
    }
    let (rule, severity) = match neighbours.nearest_server(server) {
        Some(Nearness::LooksTheSame) => ("lookalike.server_letters", Hold),
        Some(_) => ("lookalike.server_spelling", Remark),
        None => return,
    };
    findings.note(rule, severity, "", excerpt(server, 0..server.len()));
}

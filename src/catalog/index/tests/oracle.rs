//! The same ranking in the plainest way, with a hash map over all tools, as a reference for the index.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{index, search};
use crate::catalog::{
    Matching, Snapshot,
    index::{
        Writer, bm25f,
        terms::{QueryTerm, QueryTerms, add_parts, wanted},
        texts::{self, FIELDS},
    },
    thesaurus::similar,
    tokenizer::{Token, tokens_of},
};

/// A tool as the plain way sees it.
struct Plain {
    name: String,
    server: String,
    tokens: [Vec<Token>; FIELDS],
    lengths: [u16; FIELDS],
    is_deprecated: bool,
}

impl Plain {
    fn times(&self, field: usize, term: &str) -> u32 {
        let times = self.tokens[field].iter().filter(|token| token.text == term);
        u32::try_from(times.count()).expect("few")
    }

    fn has(&self, term: &str) -> bool {
        (0..FIELDS).any(|field| self.times(field, term) > 0)
    }
}

/// Every tool's score by plain means, before it is made a share of the most.
fn oracle(snapshot: &Snapshot, query: &str) -> BTreeMap<String, f32> {
    let mut tools = Vec::new();
    for server in snapshot.servers.values() {
        for tool in &server.tools {
            let texts = texts::texts_of(&server.server, tool);
            tools.push(Plain {
                name: format!("{}:{}", server.server, tool.name),
                server: server.server.to_string(),
                lengths: texts::lengths(&texts),
                tokens: texts.each_ref().map(|text| tokens_of(text)),
                is_deprecated: texts::is_deprecated(tool),
            });
        }
    }
    let means = bm25f::Means::of(tools.iter().map(|tool| &tool.lengths));
    let QueryTerms {
        mut terms,
        required,
        ..
    } = wanted(query);
    let is_long = terms.iter().filter(|term| term.is_whole()).count() >= bm25f::LONG;
    let having = |term: &str| {
        let fields = tools
            .iter()
            .flat_map(|tool| (0..FIELDS).map(move |field| (tool, field)));
        let having = fields
            .filter(|(tool, field)| tool.times(*field, term) > 0)
            .count();
        Ok::<_, std::convert::Infallible>(having as u64)
    };
    add_parts(&mut terms, having).expect("it does not fail");
    let weight = |term: &str, tool: &Plain| -> f32 {
        let weights = means.weights(tool.lengths);
        let of_field = |field| bm25f::occurring(weights[field], tool.times(field, term));
        (0..FIELDS).map(of_field).sum()
    };
    let with_similar = |term: &QueryTerm, tool: &Plain| -> f32 {
        let others = similar(&term.text).iter().filter(|_| term.is_whole());
        let others = others.filter(|(other, _)| terms.iter().all(|term| term.text != *other));
        let others: f32 = others
            .map(|(other, share)| share * weight(other, tool))
            .sum();
        weight(&term.text, tool) + others
    };
    let mut scores = BTreeMap::new();
    for tool in &tools {
        let (mut score, mut own, mut in_name, mut covered) = (0.0, 0.0, 0, 0);
        for term in &terms {
            let itself = tools.iter().filter(|tool| tool.has(&term.text)).count();
            let at_all = tools
                .iter()
                .filter(|tool| with_similar(term, tool) > 0.0)
                .count();
            if itself == 0 && !term.is_whole() {
                continue;
            }
            let having = if itself == 0 { at_all } else { itself };
            let of_server: Vec<&Plain> = tools
                .iter()
                .filter(|other| other.server == tool.server)
                .collect();
            let of_all: f32 = of_server.iter().map(|tool| with_similar(term, tool)).sum();
            let mean = of_all / bm25f::count(of_server.len());
            let carried = if is_long { bm25f::CARRIED * mean } else { 0.0 };
            let factor = term.weight() * bm25f::rarity(having, tools.len());
            own += with_similar(term, tool);
            score += factor * bm25f::saturated(with_similar(term, tool) + carried);
            in_name += tool.times(texts::NAME, &term.text);
            if tool.has(&term.text) {
                covered |= term.covers_itself();
            }
        }
        let merits = bm25f::Merits {
            has_all: covered == required,
            in_name: (
                u16::try_from(in_name).expect("few"),
                tool.lengths[texts::NAME],
            ),
            is_deprecated: tool.is_deprecated,
        };
        if own > 0.0 {
            scores.insert(tool.name.clone(), score * merits.factor());
        }
    }
    scores
}

const WORDS: &[&str] = &[
    "create",
    "list",
    "issue",
    "file",
    "read",
    "user2",
    "the",
    "of",
    "page",
    "searching",
    "make",
    "document",
    "folder",
    "搜索",
    "件",
    "filepage",
    "deprecated",
];

prop_compose! {
    fn texts_from(most: usize)(picked in prop::collection::vec(prop::sample::select(WORDS), 0..most)) -> String {
        picked.join(" ")
    }
}

prop_compose! {
    fn tool()(server in "[ab]", name in texts_from(3), number in 0..99, description in texts_from(12), parameter in texts_from(3))
        -> (String, String, String, String) {
        (server, format!("{}_{number}", name.replace(' ', "_")), description, parameter)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_index_ranks_as_plain_arithmetic_does(
        states in prop::collection::vec(prop::collection::vec(tool(), 0..12), 1..4),
        query in prop::collection::vec(prop::sample::select(WORDS).prop_filter("ranks", |w| !["the", "of"].contains(w)), 1..14),
    ) {
        let query = query.join(" ");
        let mut writer = Writer::new().expect("memory does not fail");
        // The same writer goes through several states, so deleted and changed tools must leave no trace.
        for state in &states {
            let tools: Vec<_> = state.iter().map(|t| (&*t.0, &*t.1, &*t.2, &*t.3)).collect();
            let (searcher, _) = index(&mut writer, &tools);
            let expected = oracle(searcher.snapshot(), &query);
            let found = search(&searcher, &query, Matching::Any);
            prop_assert_eq!(found.len(), expected.len());
            let shares = |name: &str| expected.get(name).copied();
            let most = found.first().and_then(|(name, score)| Some(shares(name)? / score)).unwrap_or(1.0);
            for (name, score) in &found {
                let wanted = shares(name).expect("the plain way finds it too") / most;
                prop_assert!((score - wanted).abs() < 1e-4, "{name} has {score}, not {wanted}");
                prop_assert!(0.0 < *score && *score <= 1.0);
            }
            prop_assert!(found.is_sorted_by(|a, b| a.1 >= b.1));
        }
    }
}

//! Searches one published state of the index: sums the scores of the postings of every term, ranks across fields, and yields hits in
//! order, as many as the caller takes.

mod explaining;
mod filters;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet},
    sync::Arc,
};

pub use explaining::WordShare;

use self::filters::Filters;
use super::{
    IndexError,
    bm25f::{self, Means, Merits},
    postings::{IndexFields, Postings},
    terms::{QueryTerm, add_parts, wanted},
    texts::{self, FIELDS, Measures},
};
use crate::{
    catalog::{
        Matching, Query, ServerCatalog, Snapshot, Tool, thesaurus::similar, tokenizer::words_of,
    },
    runtime::long_work::Stop,
    text::names::ServerName,
    trust::approvals::ThingKind,
};

/// One state of the index and the snapshot that it is an index of.
#[derive(Default)]
pub struct Searcher {
    snapshot: Arc<Snapshot>,
    /// Every tool of the snapshot, in its order.
    tools: Vec<Indexed>,
    /// What one occurrence in each field of a tool weighs, in the order of `tools`.
    weights: Vec<[f32; FIELDS]>,
    index: Option<Postings>,
}

struct Indexed {
    server: Arc<ServerCatalog>,
    /// The server's place among those of the snapshot.
    at: usize,
    place: usize,
    measures: Measures,
    /// Whether it is found by its name alone.
    is_hidden: bool,
}

impl Indexed {
    fn tool(&self) -> &Tool {
        &self.server.tools[self.place]
    }

    /// Whether each phrase stands in one of the texts, word for word.
    fn has_all(&self, phrases: &[Vec<String>]) -> bool {
        let mut missing: Vec<&Vec<String>> = phrases.iter().collect();
        for field in 0..FIELDS {
            let text = if self.is_hidden {
                texts::name_alone(self.tool())[field].clone()
            } else {
                texts::field_text(&self.server.server, self.tool(), field)
            };
            let words = words_of(&text);
            missing.retain(|phrase| {
                let mut windows = words.windows(phrase.len());
                !windows.any(|words| words == **phrase)
            });
            if missing.is_empty() {
                return true;
            }
        }
        false
    }
}

/// Limit: the words of a query times the tools of the index. So much takes a millisecond or two.
const QUICK: usize = 100_000;

/// A tool that was found.
#[derive(Debug, Clone, Copy)]
pub struct Hit<'a> {
    /// Its server.
    pub server: &'a Arc<ServerCatalog>,
    /// Its place among the server's tools.
    pub place: usize,
    /// In (0, 1]; 1 if the query only filtered.
    pub score: f32,
    /// The words of the query that it has, or has similar ones of: bits for [`Hits::words_but`].
    pub words: u64,
}

impl<'a> Hit<'a> {
    /// The tool.
    pub fn tool(&self) -> &'a Tool {
        &self.server.tools[self.place]
    }
}

/// What was found, best first. Sorted only as far as it is read.
pub struct Hits<'a> {
    tools: &'a [Indexed],
    heap: BinaryHeap<Ranked>,
    words: Vec<(String, u64)>,
}

impl<'a> Hits<'a> {
    /// The hits that were not taken, in any order: that spares sorting them.
    pub fn unsorted(&mut self) -> impl Iterator<Item = Hit<'a>> + use<'a> {
        let tools = self.tools;
        let rest = std::mem::take(&mut self.heap).into_vec();
        rest.into_iter().map(move |ranked| ranked.hit(tools))
    }

    /// The words of the query that are not among these.
    pub fn words_but(&self, had: u64) -> Vec<&str> {
        let missing = self.words.iter().filter(|(_, bit)| bit & had == 0);
        let mut missing: Vec<&str> = missing.map(|(word, _)| &**word).collect();
        let mut seen = HashSet::new();
        missing.retain(|word| seen.insert(*word));
        missing
    }
}

impl Searcher {
    /// Over an opened index. `known` gives a tool's number and measures.
    pub(super) fn new(
        snapshot: Arc<Snapshot>,
        searcher: tantivy::Searcher,
        fields: &IndexFields,
        known: impl Fn(&ServerName, &Tool) -> Option<(u64, Measures)>,
    ) -> Result<Self, IndexError> {
        let (mut tools, mut by_number) = (Vec::new(), HashMap::new());
        for (at, server) in snapshot.servers.values().enumerate() {
            for (place, tool) in server.tools.iter().enumerate() {
                if let Some((number, measures)) = known(&server.server, tool) {
                    by_number.insert(number, u32::try_from(tools.len()).unwrap_or(u32::MAX));
                    tools.push(Indexed {
                        server: server.clone(),
                        at,
                        place,
                        measures,
                        is_hidden: snapshot.hides(
                            server.server.as_str(),
                            ThingKind::Tool,
                            &tool.name,
                        ),
                    });
                }
            }
        }
        let index = Postings::new(searcher, fields, &by_number)
            .map_err(IndexError::new("open the index"))?;
        let means = Means::of(tools.iter().map(|tool| &tool.measures.lengths));
        let weights = tools
            .iter()
            .map(|tool| means.weights(tool.measures.lengths));
        Ok(Self {
            weights: weights.collect(),
            snapshot,
            tools,
            index: Some(index),
        })
    }

    /// The snapshot that this is an index of.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Whether a search takes so little that the runtime's workers may do it. Phrases do not: texts are read for them.
    pub fn is_quick(&self, query: &Query) -> bool {
        let n_words = query.words.split_whitespace().count();
        query.phrases.is_empty() && n_words.saturating_mul(self.tools.len()) <= QUICK
    }

    /// Searches. What the query filters by is never relaxed; [`Query::attempts`] is for that. Once `stop` says so, anything may come
    /// of it.
    pub fn search(
        &self,
        query: &Query,
        matching: Matching,
        stop: &Stop,
    ) -> Result<Hits<'_>, IndexError> {
        let Some(index) = self.index.as_ref().filter(|_| !query.is_empty()) else {
            return Ok(self.hits(Vec::new(), Vec::new()));
        };
        let failed = IndexError::new("search the index");
        let filters = Filters::of(query);
        let passes = |place: &usize| filters.pass(&self.tools[*place]);
        let phrases = self
            .with_phrases(index, query, passes, stop)
            .map_err(&failed)?;
        let allowed = |place: usize| match &phrases {
            Some(phrases) => phrases.contains(&place),
            None => passes(&place),
        };
        let wanted = wanted(&query.words);
        if wanted.terms.is_empty() {
            let all = (0..self.tools.len()).filter(|place| allowed(*place));
            let all = all.map(|place| Ranked {
                score: 1.0_f32.to_bits(),
                place: Reverse(place),
                words: 0,
            });
            return Ok(self.hits(all.collect(), Vec::new()));
        }
        let scores = self.scores(index, wanted.terms, stop).map_err(&failed)?;
        let most = scores.most * bm25f::MOST_FACTOR;
        let places = scores.of.iter().zip(&scores.covered).enumerate();
        let ranked = places.filter_map(|(place, (score, covered))| {
            let has_all = *covered == wanted.required;
            if *score <= 0.0 || (matching == Matching::All && !has_all) || !allowed(place) {
                return None;
            }
            let carried = scores.carried[self.tools[place].at];
            let factor = self.factor(place, has_all, &scores.in_names);
            let share = ((score + carried) * factor / most).clamp(f32::MIN_POSITIVE, 1.0);
            Some(Ranked {
                score: share.to_bits(),
                place: Reverse(place),
                words: scores.met[place],
            })
        });
        Ok(self.hits(ranked.collect(), wanted.words))
    }

    fn hits(&self, ranked: Vec<Ranked>, words: Vec<(String, u64)>) -> Hits<'_> {
        Hits {
            tools: &self.tools,
            heap: ranked.into(),
            words,
        }
    }

    /// Every tool's score, term after term.
    fn scores(
        &self,
        index: &Postings,
        wanted: Vec<QueryTerm>,
        stop: &Stop,
    ) -> tantivy::Result<Scores> {
        let n_tools = self.tools.len();
        let mut scores = Scores {
            of: vec![0.0; n_tools],
            carried: vec![0.0; self.snapshot.servers.len()],
            in_names: Vec::new(),
            covered: vec![0; n_tools],
            met: vec![0; n_tools],
            most: 0.0,
        };
        scores.in_names = self.each_term(index, wanted, stop, |term, factor, found| {
            scores.most += factor * bm25f::MOST;
            for place in found.itself() {
                scores.covered[*place] |= term.covers_itself();
            }
            for at in &found.servers {
                scores.carried[*at] += factor * bm25f::saturated(found.carried[*at]);
            }
            for place in &found.having {
                scores.met[*place] |= term.covers;
                let carried = found.carried[self.tools[*place].at];
                let weight = carried + found.weights[*place].iter().sum::<f32>();
                // What every tool of the server has is counted once.
                let added = bm25f::saturated(weight) - bm25f::saturated(carried);
                scores.of[*place] += factor * added;
            }
        })?;
        Ok(scores)
    }

    /// What a tool's score is multiplied by.
    fn factor(&self, place: usize, has_all: bool, in_names: &[u16]) -> f32 {
        let Measures {
            lengths: [in_name, ..],
            is_deprecated,
        } = self.tools[place].measures;
        let merits = Merits {
            has_all,
            in_name: (in_names[place], in_name),
            is_deprecated,
        };
        merits.factor()
    }

    /// Calls `see` for each term of a query, with the factor of what it adds and its occurrences. Gives how many words of each tool's
    /// name the query has.
    fn each_term(
        &self,
        index: &Postings,
        mut terms: Vec<QueryTerm>,
        stop: &Stop,
        mut see: impl FnMut(&QueryTerm, f32, &Occurrences),
    ) -> tantivy::Result<Vec<u16>> {
        let (n_tools, n_servers) = (self.tools.len(), self.snapshot.servers.len());
        let is_long = terms.iter().filter(|term| term.is_whole()).count() >= bm25f::LONG;
        add_parts(&mut terms, |text| index.having(text))?;
        let texts: HashSet<&str> = terms.iter().map(|term| &*term.text).collect();
        let mut found = Occurrences {
            weights: vec![[0.0; FIELDS]; n_tools],
            having: Vec::new(),
            n_itself: 0,
            in_names: vec![0; n_tools],
            carried: vec![0.0; n_servers],
            servers: Vec::new(),
        };
        for term in terms.iter().take_while(|_| !stop.is_requested()) {
            self.add_postings(index, &term.text, None, &mut found)?;
            found.n_itself = found.having.len();
            if term.is_whole() {
                for (other, share) in similar(&term.text) {
                    if !texts.contains(&**other) {
                        self.add_postings(index, other, Some(*share), &mut found)?;
                    }
                }
            } else if found.having.is_empty() {
                // Nobody typed it.
                continue;
            }
            // A word that no tool has is as rare as its synonyms.
            let n_having = match found.n_itself {
                0 => found.having.len(),
                n_itself => n_itself,
            };
            let factor = term.weight() * bm25f::rarity(n_having, n_tools);
            if is_long {
                self.carry(&mut found);
            }
            see(term, factor, &found);
            found.clear();
        }
        Ok(found.in_names)
    }

    /// Gives the tools of each server a share of what their mean weighs.
    fn carry(&self, found: &mut Occurrences) {
        for place in &found.having {
            let at = self.tools[*place].at;
            if found.carried[at] == 0.0 {
                found.servers.push(at);
            }
            let n_tools = bm25f::count(self.tools[*place].server.tools.len());
            let weight: f32 = found.weights[*place].iter().sum();
            found.carried[at] += bm25f::CARRIED * weight / n_tools;
        }
    }

    /// Adds those of a term, or of a similar one that counts so much.
    fn add_postings(
        &self,
        index: &Postings,
        text: &str,
        similar: Option<f32>,
        found: &mut Occurrences,
    ) -> tantivy::Result<()> {
        let share = similar.unwrap_or(1.0);
        index.each_posting(text, |field, place, frequency| {
            let fields = &mut found.weights[place];
            if fields.iter().all(|weight| *weight == 0.0) {
                found.having.push(place);
            }
            fields[field] += share * bm25f::occurring(self.weights[place][field], frequency);
            if field == texts::NAME && similar.is_none() {
                let in_name = &mut found.in_names[place];
                *in_name = in_name.saturating_add(frequency.try_into().unwrap_or(u16::MAX));
            }
        })
    }

    /// The tools that have every phrase of the query; `None` if it has none. Their texts are read once, and only of those that
    /// pass and have the stems of all phrases.
    fn with_phrases(
        &self,
        index: &Postings,
        query: &Query,
        passes: impl Fn(&usize) -> bool,
        stop: &Stop,
    ) -> tantivy::Result<Option<HashSet<usize>>> {
        let Some((first, others)) = query.phrases.split_first() else {
            return Ok(None);
        };
        let mut having = index.with_stemmed(first)?;
        having.retain(passes);
        for phrase in others {
            if having.is_empty() || stop.is_requested() {
                break;
            }
            let also = index.with_stemmed(phrase)?;
            having.retain(|place| also.contains(place));
        }
        having.retain(|place| !stop.is_requested() && self.tools[*place].has_all(&query.phrases));
        Ok(Some(having))
    }
}

/// The occurrences of one term of the query, and of its synonyms.
struct Occurrences {
    /// What they weigh, by tool and field.
    weights: Vec<[f32; FIELDS]>,
    /// The positions of tools with a weight: first those that have the term itself.
    having: Vec<usize>,
    n_itself: usize,
    /// How often terms of the query stand in the names of tools so far.
    in_names: Vec<u16>,
    /// The weight that each tool of a server has for what its server's tools have, by server.
    carried: Vec<f32>,
    /// The servers with such a weight.
    servers: Vec<usize>,
}

impl Occurrences {
    /// The tools that have the term, and not only a synonym.
    fn itself(&self) -> &[usize] {
        &self.having[..self.n_itself]
    }

    /// Makes room for the next term.
    fn clear(&mut self) {
        for place in self.having.drain(..) {
            self.weights[place] = [0.0; FIELDS];
        }
        for at in self.servers.drain(..) {
            self.carried[at] = 0.0;
        }
    }
}

/// The scores that the postings of a query sum up to.
struct Scores {
    /// By tool, without what is carried.
    of: Vec<f32>,
    /// What every tool of a server has in addition, by server.
    carried: Vec<f32>,
    in_names: Vec<u16>,
    covered: Vec<u64>,
    /// The same, and what similar words cover.
    met: Vec<u64>,
    /// No tool's score is higher.
    most: f32,
}

impl<'a> Iterator for Hits<'a> {
    type Item = Hit<'a>;

    fn next(&mut self) -> Option<Hit<'a>> {
        let ranked = self.heap.pop()?;
        Some(ranked.hit(self.tools))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.heap.len(), Some(self.heap.len()))
    }
}

impl ExactSizeIterator for Hits<'_> {}

/// A tool's score and position. The greatest is the best; among equal scores it is the first in the list.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    /// The bits of a positive number, which are in the order of the numbers.
    score: u32,
    place: Reverse<usize>,
    words: u64,
}

impl Ranked {
    fn hit<'a>(&self, tools: &'a [Indexed]) -> Hit<'a> {
        let tool = &tools[self.place.0];
        Hit {
            server: &tool.server,
            place: tool.place,
            score: f32::from_bits(self.score),
            words: self.words,
        }
    }
}

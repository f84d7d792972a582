//! Searches one published state of the index: gathers what the postings say of every term, ranks across fields, and hands out
//! hits best first, as many as the caller wants.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BinaryHeap, HashMap, HashSet},
    sync::Arc,
};

use tantivy::{
    DocSet, TERMINATED, Term,
    collector::DocSetCollector,
    postings::Postings,
    query::{PhraseQuery, Query as IndexQuery, TermQuery},
    schema::{Field, IndexRecordOption},
};

use super::{
    IndexError, Matching,
    bm25f::{self, Means},
    texts::{self, FIELDS},
    writer::term,
};
use crate::{
    catalog::{
        Query, ServerCatalog, Snapshot, Tool,
        tokenizer::{Kind, tokens_of, words_of},
    },
    names::ServerName,
};

/// The fields of an indexed tool.
pub(super) struct Fields {
    /// The tool's number in the writer.
    pub(super) number: Field,
    /// The texts, in the order of [`texts::NAMES`].
    pub(super) texts: [Field; FIELDS],
}

/// One state of the index and the snapshot that it is an index of.
#[derive(Default)]
pub struct Searcher {
    snapshot: Arc<Snapshot>,
    /// Every tool of the snapshot, in its order.
    tools: Vec<Indexed>,
    means: Means,
    index: Option<Opened>,
}

/// The index as it was opened.
struct Opened {
    searcher: tantivy::Searcher,
    texts: [Field; FIELDS],
    /// For each segment the place in `tools` of each of its documents; [`GONE`] where it was deleted.
    places: Vec<Vec<u32>>,
}

const GONE: u32 = u32::MAX;

struct Indexed {
    server: Arc<ServerCatalog>,
    place: usize,
    lengths: [u16; FIELDS],
}

impl Indexed {
    fn tool(&self) -> &Tool {
        &self.server.tools[self.place]
    }
}

/// A tool that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Its server.
    pub server: Arc<ServerCatalog>,
    /// Its place among the server's tools.
    pub place: usize,
    /// In (0, 1]; 1 if the query only filtered.
    pub score: f32,
}

impl Hit {
    /// The tool.
    pub fn tool(&self) -> &Tool {
        &self.server.tools[self.place]
    }
}

/// What was found, best first. Sorted as far as it is read.
pub struct Hits<'a> {
    tools: &'a [Indexed],
    heap: BinaryHeap<Ranked>,
}

/// A term of the query.
struct Wanted {
    text: String,
    times: usize,
    /// Which required terms it stands for, as bits.
    covers: u64,
}

impl Searcher {
    /// Over an opened index. `known` tells a tool's number and lengths.
    pub(super) fn new(
        snapshot: Arc<Snapshot>,
        searcher: tantivy::Searcher,
        fields: &Fields,
        known: impl Fn(&ServerName, &Tool) -> Option<(u64, [u16; FIELDS])>,
    ) -> Result<Self, IndexError> {
        let (mut tools, mut by_number) = (Vec::new(), HashMap::new());
        for server in snapshot.servers.values() {
            for (place, tool) in server.tools.iter().enumerate() {
                if let Some((number, lengths)) = known(&server.server, tool) {
                    by_number.insert(number, u32::try_from(tools.len()).unwrap_or(GONE));
                    tools.push(Indexed {
                        server: server.clone(),
                        place,
                        lengths,
                    });
                }
            }
        }
        let places = places(&searcher, &by_number).map_err(IndexError::new("open the index"))?;
        Ok(Self {
            means: Means::of(tools.iter().map(|tool| &tool.lengths)),
            snapshot,
            tools,
            index: Some(Opened {
                searcher,
                texts: fields.texts,
                places,
            }),
        })
    }

    /// What this is the index of.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Searches. What the query filters by is never relaxed; [`Query::attempts`] is for that.
    pub fn search(&self, query: &Query, matching: Matching) -> Result<Hits<'_>, IndexError> {
        Ok(Hits {
            tools: &self.tools,
            heap: self.ranked(query, matching)?.into(),
        })
    }

    fn ranked(&self, query: &Query, matching: Matching) -> Result<Vec<Ranked>, IndexError> {
        let Some(index) = &self.index else {
            return Ok(Vec::new());
        };
        if query.is_empty() {
            return Ok(Vec::new());
        }
        let failed = IndexError::new("search the index");
        let phrases = self.with_phrases(index, query).map_err(&failed)?;
        let allowed = |place: usize| {
            let tool = &self.tools[place];
            let passes = |name: &str| {
                query.filters.is_empty()
                    || query
                        .filters
                        .iter()
                        .any(|filter| filter.passes(tool.server.server.as_str(), name))
            };
            phrases
                .as_ref()
                .is_none_or(|phrases| phrases.contains(&place))
                && passes(&tool.tool().name)
        };
        let (wanted, required) = wanted(&query.words);
        if wanted.is_empty() {
            let all = (0..self.tools.len()).filter(|place| allowed(*place));
            return Ok(all.map(|place| Ranked { score: 1.0, place }).collect());
        }
        let scores = self.scores(index, &wanted).map_err(&failed)?;
        let most = scores.most * bm25f::all_words();
        let ranked = scores
            .of
            .iter()
            .zip(&scores.covered)
            .enumerate()
            .filter_map(|(place, (score, covered))| {
                let has_all = *covered == required;
                if *score <= 0.0 || (matching == Matching::All && !has_all) || !allowed(place) {
                    return None;
                }
                let factor = if has_all { bm25f::all_words() } else { 1.0 };
                Some(Ranked {
                    score: (score * factor / most).clamp(f32::MIN_POSITIVE, 1.0),
                    place,
                })
            });
        Ok(ranked.collect())
    }

    /// Every tool's score, term after term.
    fn scores(&self, index: &Opened, wanted: &[Wanted]) -> tantivy::Result<Scores> {
        let n_tools = self.tools.len();
        let mut scores = Scores {
            of: vec![0.0; n_tools],
            covered: vec![0; n_tools],
            most: 0.0,
        };
        let mut weights = vec![0.0_f32; n_tools];
        let mut having = Vec::new();
        for wanted in wanted {
            index.each_posting(&wanted.text, |field, place, frequency| {
                if weights[place] == 0.0 {
                    having.push(place);
                }
                weights[place] +=
                    self.means
                        .weigh(field, self.tools[place].lengths[field], frequency);
            })?;
            let factor = bm25f::repeated(wanted.times) * bm25f::rarity(having.len(), n_tools);
            scores.most += factor * bm25f::most();
            for place in having.drain(..) {
                let weight = std::mem::take(&mut weights[place]);
                scores.of[place] += factor * bm25f::saturated(weight);
                scores.covered[place] |= wanted.covers;
            }
        }
        Ok(scores)
    }

    /// The tools that have every phrase of the query; `None` if it has none.
    fn with_phrases(
        &self,
        index: &Opened,
        query: &Query,
    ) -> tantivy::Result<Option<HashSet<usize>>> {
        let mut all: Option<HashSet<usize>> = None;
        for phrase in &query.phrases {
            let mut having = index.with_stemmed(phrase)?;
            having.retain(|place| {
                let tool = &self.tools[*place];
                let texts = texts::texts_of(&tool.server.server, tool.tool());
                texts.iter().any(|text| {
                    words_of(text)
                        .windows(phrase.len())
                        .any(|words| words == phrase)
                })
            });
            all = Some(match all {
                None => having,
                Some(all) => all.intersection(&having).copied().collect(),
            });
        }
        Ok(all)
    }
}

/// What the postings of a query come to.
struct Scores {
    of: Vec<f32>,
    covered: Vec<u64>,
    /// No tool's score is higher.
    most: f32,
}

impl Opened {
    /// Every place that has a term: the field, the tool's place and how often.
    fn each_posting(
        &self,
        text: &str,
        mut see: impl FnMut(usize, usize, u32),
    ) -> tantivy::Result<()> {
        for (segment, places) in self.searcher.segment_readers().iter().zip(&self.places) {
            for (i, field) in self.texts.iter().enumerate() {
                let inverted = segment.inverted_index(*field)?;
                let found =
                    inverted.read_postings(&term(*field, text), IndexRecordOption::WithFreqs)?;
                let Some(mut postings) = found else { continue };
                while postings.doc() != TERMINATED {
                    let place = places[postings.doc() as usize];
                    if place != GONE {
                        see(i, place as usize, postings.term_freq());
                    }
                    postings.advance();
                }
            }
        }
        Ok(())
    }

    /// The tools that have the stems of a phrase side by side in one field.
    fn with_stemmed(&self, phrase: &[String]) -> tantivy::Result<HashSet<usize>> {
        let mut having = HashSet::new();
        let tokens = tokens_of(&phrase.join(" "));
        let stems: Vec<&str> = tokens
            .iter()
            .filter(|token| token.kind.is_in_phrases())
            .map(|token| &*token.text)
            .collect();
        for field in self.texts {
            let terms: Vec<Term> = stems.iter().map(|stem| term(field, stem)).collect();
            let query: Box<dyn IndexQuery> = match &terms[..] {
                [] => continue,
                [one] => Box::new(TermQuery::new(one.clone(), IndexRecordOption::Basic)),
                _ => Box::new(PhraseQuery::new(terms)),
            };
            for address in self.searcher.search(&*query, &DocSetCollector)? {
                let place = self.places[address.segment_ord as usize][address.doc_id as usize];
                if place != GONE {
                    having.insert(place as usize);
                }
            }
        }
        Ok(having)
    }
}

/// For each segment the place of each of its documents.
fn places(
    searcher: &tantivy::Searcher,
    by_number: &HashMap<u64, u32>,
) -> tantivy::Result<Vec<Vec<u32>>> {
    let of_segment = |segment: &tantivy::SegmentReader| {
        let numbers = segment.fast_fields().u64("number")?;
        let place = |document| {
            let number = numbers
                .first(document)
                .filter(|_| !segment.is_deleted(document));
            number
                .and_then(|number| by_number.get(&number).copied())
                .unwrap_or(GONE)
        };
        Ok((0..segment.max_doc()).map(place).collect())
    };
    searcher.segment_readers().iter().map(of_segment).collect()
}

/// The terms of a query, each once, and the bits of those that a tool must have to have all words.
fn wanted(words: &str) -> (Vec<Wanted>, u64) {
    let mut tokens = tokens_of(words);
    if tokens.iter().any(|token| token.kind.ranks()) {
        tokens.retain(|token| token.kind.ranks());
    } else {
        // All that was typed are common words: they have to do.
        for token in &mut tokens {
            token.kind = Kind::Word;
        }
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut places = HashMap::new();
    for token in &tokens {
        let place = *places.entry(&*token.text).or_insert_with(|| {
            wanted.push(Wanted {
                text: token.text.clone(),
                times: 0,
                covers: 0,
            });
            wanted.len() - 1
        });
        wanted[place].times += 1;
    }
    let bit = |text: &str| {
        places
            .get(text)
            .and_then(|place| 1_u64.checked_shl(u32::try_from(*place).ok()?))
            .unwrap_or(0)
    };
    let mut required = 0;
    for (i, token) in tokens.iter().enumerate() {
        let covers = match token.kind {
            Kind::Word | Kind::Pair => bit(&token.text),
            // The word at its place and the one after that.
            Kind::Joined => tokens[i + 1..]
                .iter()
                .take_while(|part| part.position <= token.position + 1)
                .filter(|part| part.kind == Kind::Word)
                .fold(0, |bits, part| bits | bit(&part.text)),
            Kind::Common | Kind::Piece | Kind::Character => 0,
        };
        wanted[places[&*token.text]].covers |= covers;
        if token.kind.is_required() {
            required |= covers;
        }
    }
    (wanted, required)
}

impl Iterator for Hits<'_> {
    type Item = Hit;

    fn next(&mut self) -> Option<Hit> {
        let ranked = self.heap.pop()?;
        let tool = &self.tools[ranked.place];
        Some(Hit {
            server: tool.server.clone(),
            place: tool.place,
            score: ranked.score,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.heap.len(), Some(self.heap.len()))
    }
}

impl ExactSizeIterator for Hits<'_> {}

/// A tool's place and score. The greatest is the best; of equals the one that stands first.
struct Ranked {
    score: f32,
    place: usize,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score
            .total_cmp(&other.score)
            .then_with(|| Reverse(self.place).cmp(&Reverse(other.place)))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

//! Reads the inverted index of tantivy: postings of terms, and phrases. Document ids are translated into positions in the list of
//! tools here; no other file knows of segments.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tantivy::{
    DocSet, InvertedIndexReader, TERMINATED, Term,
    collector::DocSetCollector,
    postings::Postings as _,
    query::{PhraseQuery, Query, TermQuery},
    schema::{Field, IndexRecordOption},
};

use super::texts::FIELDS;
use crate::catalog::tokenizer::tokens_of;

/// The fields of an indexed tool.
pub(super) struct IndexFields {
    /// The tool's number in the writer.
    pub(super) number: Field,
    /// The texts, in the order of [`texts::NAMES`].
    pub(super) texts: [Field; FIELDS],
}

/// The postings of one state of the index.
pub(super) struct Postings {
    searcher: tantivy::Searcher,
    texts: [Field; FIELDS],
    segments: Vec<Segment>,
}

/// A part of the index.
struct Segment {
    /// Opened once: a search asks each for many terms.
    fields: Vec<Arc<InvertedIndexReader>>,
    /// For each document, the position of its tool; [`GONE`] if it was deleted.
    places: Vec<u32>,
    /// Whether none was deleted.
    is_whole: bool,
}

impl Segment {
    /// How many tools have a term in a field.
    fn having(&self, field: usize, term: &Term) -> tantivy::Result<u64> {
        let having = u64::from(self.fields[field].doc_freq(term)?);
        if having == 0 || self.is_whole {
            return Ok(having);
        }
        let found = self.fields[field].read_postings(term, IndexRecordOption::Basic)?;
        let (mut having, Some(mut postings)) = (0, found) else {
            return Ok(0);
        };
        while postings.doc() != TERMINATED {
            having += u64::from(self.places[postings.doc() as usize] != GONE);
            postings.advance();
        }
        Ok(having)
    }
}

/// The position of a tool that was removed.
const GONE: u32 = u32::MAX;

impl Postings {
    /// Reads which document is which tool; `by_number` has the position of each tool by its number in the writer.
    pub(super) fn new(
        searcher: tantivy::Searcher,
        fields: &IndexFields,
        by_number: &HashMap<u64, u32>,
    ) -> tantivy::Result<Self> {
        let open = |segment: &tantivy::SegmentReader| {
            let texts = fields.texts.iter();
            let opened: Result<_, _> = texts.map(|field| segment.inverted_index(*field)).collect();
            Ok(Segment {
                fields: opened?,
                is_whole: segment.num_deleted_docs() == 0,
                places: places(segment, by_number)?,
            })
        };
        let segments: tantivy::Result<_> = searcher.segment_readers().iter().map(open).collect();
        Ok(Self {
            segments: segments?,
            searcher,
            texts: fields.texts,
        })
    }

    /// Calls `see` for every posting of a term, with the field, the position of the tool and the frequency.
    pub(super) fn each_posting(
        &self,
        text: &str,
        mut see: impl FnMut(usize, usize, u32),
    ) -> tantivy::Result<()> {
        for (i, field) in self.texts.iter().enumerate() {
            let term = Term::from_field_text(*field, text);
            for segment in &self.segments {
                let found = segment.fields[i].read_postings(&term, IndexRecordOption::WithFreqs)?;
                let Some(mut postings) = found else { continue };
                while postings.doc() != TERMINATED {
                    let place = segment.places[postings.doc() as usize];
                    if place != GONE {
                        see(i, place as usize, postings.term_freq());
                    }
                    postings.advance();
                }
            }
        }
        Ok(())
    }

    /// In how many fields of tools a term stands.
    pub(super) fn having(&self, text: &str) -> tantivy::Result<u64> {
        let mut having = 0;
        for (i, field) in self.texts.iter().enumerate() {
            let term = Term::from_field_text(*field, text);
            for segment in &self.segments {
                having += segment.having(i, &term)?;
            }
        }
        Ok(having)
    }

    /// The tools that have the stems of a phrase next to each other in one field.
    pub(super) fn with_stemmed(&self, phrase: &[String]) -> tantivy::Result<HashSet<usize>> {
        let mut having = HashSet::new();
        let tokens = tokens_of(&phrase.join(" "));
        let tokens = tokens.iter().filter(|token| token.kind.is_in_phrases());
        for field in self.texts {
            let terms = tokens.clone();
            let terms = terms.map(|token| Term::from_field_text(field, &token.text));
            let terms: Vec<Term> = terms.collect();
            let query: Box<dyn Query> = match &terms[..] {
                [] => continue,
                [one] => Box::new(TermQuery::new(one.clone(), IndexRecordOption::Basic)),
                _ => Box::new(PhraseQuery::new(terms)),
            };
            for address in self.searcher.search(&*query, &DocSetCollector)? {
                let segment = &self.segments[address.segment_ord as usize];
                let place = segment.places[address.doc_id as usize];
                if place != GONE {
                    having.insert(place as usize);
                }
            }
        }
        Ok(having)
    }
}

/// The positions of the documents of a segment.
fn places(
    segment: &tantivy::SegmentReader,
    by_number: &HashMap<u64, u32>,
) -> tantivy::Result<Vec<u32>> {
    let numbers = segment.fast_fields().u64("number")?;
    let place = |document| {
        let number = numbers.first(document);
        let number = number.filter(|_| !segment.is_deleted(document));
        let place = number.and_then(|number| by_number.get(&number));
        place.copied().unwrap_or(GONE)
    };
    Ok((0..segment.max_doc()).map(place).collect())
}

//! Reads the inverted index of tantivy: postings of terms, and phrases. Document ids are translated into positions in the list of
//! tools here; no other file knows of segments.

use std::collections::{HashMap, HashSet};

use tantivy::{
    DocSet, TERMINATED, Term,
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
    /// For each segment and document, the position of its tool; [`GONE`] if it was deleted.
    places: Vec<Vec<u32>>,
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
        Ok(Self {
            places: places(&searcher, by_number)?,
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
        for (segment, places) in self.searcher.segment_readers().iter().zip(&self.places) {
            for (i, field) in self.texts.iter().enumerate() {
                let inverted = segment.inverted_index(*field)?;
                let found = inverted.read_postings(
                    &Term::from_field_text(*field, text),
                    IndexRecordOption::WithFreqs,
                )?;
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

    /// In how many fields of tools a term stands.
    pub(super) fn having(&self, text: &str) -> tantivy::Result<u64> {
        let of_field = |field: &Field| self.searcher.doc_freq(&Term::from_field_text(*field, text));
        self.texts.iter().map(of_field).sum()
    }

    /// The tools that have the stems of a phrase next to each other in one field.
    pub(super) fn with_stemmed(&self, phrase: &[String]) -> tantivy::Result<HashSet<usize>> {
        let mut having = HashSet::new();
        let tokens = tokens_of(&phrase.join(" "));
        let stems: Vec<&str> = tokens
            .iter()
            .filter(|token| token.kind.is_in_phrases())
            .map(|token| &*token.text)
            .collect();
        for field in self.texts {
            let terms: Vec<Term> = stems
                .iter()
                .map(|stem| Term::from_field_text(field, stem))
                .collect();
            let query: Box<dyn Query> = match &terms[..] {
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

/// For each segment, the positions of its documents.
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

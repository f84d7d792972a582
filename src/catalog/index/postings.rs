//! Reads what tantivy keeps: who has a term how often, and who has some side by side. Documents become places among the tools of the
//! published state here; nothing above knows of segments.

use std::collections::{HashMap, HashSet};

use tantivy::{
    DocSet, TERMINATED, Term,
    collector::DocSetCollector,
    postings::Postings,
    query::{PhraseQuery, Query, TermQuery},
    schema::{Field, IndexRecordOption},
};

use super::texts::FIELDS;
use crate::catalog::tokenizer::tokens_of;

/// The fields of an indexed tool.
pub(super) struct Fields {
    /// The tool's number in the writer.
    pub(super) number: Field,
    /// The texts, in the order of [`texts::NAMES`].
    pub(super) texts: [Field; FIELDS],
}

/// The index as it was opened.
pub(super) struct Opened {
    searcher: tantivy::Searcher,
    texts: [Field; FIELDS],
    /// For each segment the place of the tool of each of its documents; [`GONE`] where it was deleted.
    places: Vec<Vec<u32>>,
}

/// The place of a tool that is not there any more.
const GONE: u32 = u32::MAX;

impl Opened {
    /// Reads which document is which tool; `by_number` gives the place of each tool of the writer.
    pub(super) fn new(
        searcher: tantivy::Searcher,
        fields: &Fields,
        by_number: &HashMap<u64, u32>,
    ) -> tantivy::Result<Self> {
        Ok(Self {
            places: places(&searcher, by_number)?,
            searcher,
            texts: fields.texts,
        })
    }

    /// Every place that has a term: the field, the tool's place and how often.
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

    /// The tools that have the stems of a phrase side by side in one field.
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

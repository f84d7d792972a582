//! The one writer: updates the index to a snapshot, rewriting only the tools whose fingerprint changed.

use std::{collections::HashMap, sync::Arc};

use tantivy::{
    Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyDocument, Term,
    indexer::{IndexWriterOptions, NoMergePolicy},
    schema::{FAST, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions},
    store::Compressor,
};

use super::{
    IndexError, Searcher,
    analyser::{self, Analyser},
    postings::IndexFields,
    texts::{self, Measures},
};
use crate::{
    catalog::{Snapshot, Tool},
    text::names::ServerName,
    trust::{approvals::ThingKind, fingerprint::Fingerprint},
};

/// Memory in bytes before the writer flushes a segment; the least that tantivy accepts.
const BUDGET: usize = 15_000_000;

/// More segments make each search slower, so they are merged.
const SEGMENTS: usize = 6;

/// Builds the index. Its methods block; call them on a blocking thread.
pub struct Writer {
    index: Index,
    documents: IndexWriter,
    reader: IndexReader,
    fields: IndexFields,
    known: HashMap<Key, Known>,
    /// Numbers of removed tools, to be used again.
    free: Vec<u64>,
}

type Key = (ServerName, Box<str>);

/// An indexed tool.
struct Known {
    number: u64,
    fingerprint: Fingerprint,
    /// Whether it is found by its name alone.
    is_hidden: bool,
    measures: Measures,
}

/// What an update did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexChanges {
    /// Tools that were indexed, for the first time or anew.
    pub indexed: usize,
    /// Tools that were taken out.
    pub removed: usize,
}

impl Writer {
    /// An empty index in memory.
    pub fn new() -> Result<Self, IndexError> {
        let failed = IndexError::new("create the index");
        let mut schema = Schema::builder();
        let number = schema.add_u64_field("number", INDEXED | FAST);
        let positions = TextFieldIndexing::default()
            .set_index_option(IndexRecordOption::WithFreqsAndPositions)
            .set_tokenizer(analyser::NAME)
            // Ranking uses exact lengths of our own.
            .set_fieldnorms(false);
        let options = TextOptions::default().set_indexing_options(positions);
        let texts = texts::NAMES.map(|name| schema.add_text_field(name, options.clone()));
        let settings = IndexSettings {
            docstore_compression: Compressor::None,
            ..IndexSettings::default()
        };
        let index = Index::builder()
            .schema(schema.build())
            .settings(settings)
            .create_in_ram()
            .map_err(&failed)?;
        index.tokenizers().register(analyser::NAME, Analyser);
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(BUDGET)
            .build();
        let writer = index.writer_with_options(options).map_err(&failed)?;
        // `update` merges, so that merging is done before the searcher is published.
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .map_err(&failed)?;
        Ok(Self {
            index,
            documents: writer,
            reader,
            fields: IndexFields { number, texts },
            known: HashMap::new(),
            free: Vec::new(),
        })
    }

    /// Updates the index to the snapshot.
    pub fn update(
        &mut self,
        snapshot: Arc<Snapshot>,
    ) -> Result<(Searcher, IndexChanges), IndexError> {
        let mut changes = IndexChanges::default();
        self.remove_unknown(&snapshot, &mut changes);
        for server in snapshot.servers.values() {
            for tool in &server.tools {
                let is_hidden = snapshot.hides(server.server.as_str(), ThingKind::Tool, &tool.name);
                self.put(&server.server, tool, is_hidden, &mut changes)
                    .map_err(IndexError::new("index a tool"))?;
            }
        }
        if changes != IndexChanges::default() {
            self.commit().map_err(IndexError::new("commit the index"))?;
        }
        let known = |server: &ServerName, tool: &Tool| {
            let known = self.known.get(&(server.clone(), tool.name.clone()));
            known.map(|known| (known.number, known.measures))
        };
        let searcher = Searcher::new(snapshot, self.reader.searcher(), &self.fields, known)?;
        Ok((searcher, changes))
    }

    fn remove_unknown(&mut self, snapshot: &Snapshot, changes: &mut IndexChanges) {
        let (writer, number, free) = (&self.documents, self.fields.number, &mut self.free);
        self.known.retain(|(server, tool), known| {
            let kept = snapshot.tool(server.as_str(), tool).is_some();
            if !kept {
                writer.delete_term(Term::from_field_u64(number, known.number));
                free.push(known.number);
                changes.removed += 1;
            }
            kept
        });
    }

    fn put(
        &mut self,
        server: &ServerName,
        tool: &Tool,
        is_hidden: bool,
        changes: &mut IndexChanges,
    ) -> tantivy::Result<()> {
        let key = (server.clone(), tool.name.clone());
        let number = match self.known.get(&key) {
            Some(known)
                if known.fingerprint == tool.fingerprint && known.is_hidden == is_hidden =>
            {
                return Ok(());
            }
            Some(known) => {
                // Deletes what was added before, not what follows.
                self.documents
                    .delete_term(Term::from_field_u64(self.fields.number, known.number));
                known.number
            }
            None => self.free.pop().unwrap_or(self.known.len() as u64),
        };
        let texts = if is_hidden {
            texts::name_alone(tool)
        } else {
            texts::texts_of(server, tool)
        };
        let measures = Measures {
            lengths: texts::lengths(&texts),
            is_deprecated: !is_hidden && texts::is_deprecated(tool),
        };
        let mut document = TantivyDocument::new();
        document.add_u64(self.fields.number, number);
        for (field, text) in self.fields.texts.iter().zip(&texts) {
            document.add_text(*field, text);
        }
        self.documents.add_document(document)?;
        self.known.insert(
            key,
            Known {
                number,
                fingerprint: tool.fingerprint,
                is_hidden,
                measures,
            },
        );
        changes.indexed += 1;
        Ok(())
    }

    fn commit(&mut self) -> tantivy::Result<()> {
        self.documents.commit()?;
        let segments = self.index.searchable_segment_ids()?;
        if segments.len() > SEGMENTS {
            self.documents.merge(&segments).wait()?;
        }
        self.reader.reload()
    }
}

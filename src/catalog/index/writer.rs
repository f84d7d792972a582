//! The one writer: updates the index to a snapshot, rewriting only the tools whose fingerprint changed.

use std::{collections::HashMap, sync::Arc};

use tantivy::{
    Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, SingleSegmentIndexWriter,
    TantivyDocument, Term,
    directory::RamDirectory,
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

/// The same where there is no index yet. By it tantivy chooses how large its table of words begins, all of which is gone through in the
/// end: of the least above that is half a million words.
const FIRST_BUDGET: usize = 1_000_000;

/// More segments make each search slower, so they are merged.
const SEGMENTS: usize = 6;

/// Builds the index. Its methods block; call them on a blocking thread.
pub struct Writer {
    index: Index,
    /// While the first documents are put in, which become an index of their own.
    first: Option<SingleSegmentIndexWriter>,
    /// While something changes later: three threads, and 2.4 MiB for documents on their way.
    documents: Option<IndexWriter>,
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
        Ok(Self {
            reader: reader(&index).map_err(&failed)?,
            index,
            first: None,
            documents: None,
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
        if self.first.take().is_some() {
            // The update that put them in failed.
            self.known.clear();
            self.free.clear();
        }
        self.remove_unknown(&snapshot, &mut changes)
            .map_err(IndexError::new("remove tools from the index"))?;
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

    fn remove_unknown(
        &mut self,
        snapshot: &Snapshot,
        changes: &mut IndexChanges,
    ) -> tantivy::Result<()> {
        let is_unknown = |(server, tool): &Key| snapshot.tool(server.as_str(), tool).is_none();
        let removed = self.known.extract_if(|key, _| is_unknown(key));
        for (_, known) in removed {
            let term = Term::from_field_u64(self.fields.number, known.number);
            writer(&mut self.documents, &self.index)?.delete_term(term);
            self.free.push(known.number);
            changes.removed += 1;
        }
        Ok(())
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
                let term = Term::from_field_u64(self.fields.number, known.number);
                writer(&mut self.documents, &self.index)?.delete_term(term);
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
        self.add(document)?;
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

    fn add(&mut self, document: TantivyDocument) -> tantivy::Result<()> {
        if self.known.is_empty() && self.documents.is_none() {
            let empty = Index::builder()
                .schema(self.index.schema())
                .settings(self.index.settings().clone())
                .tokenizers(self.index.tokenizers().clone());
            let first = empty.single_segment_index_writer(RamDirectory::default(), FIRST_BUDGET);
            self.first = Some(first?);
        }
        match &mut self.first {
            Some(first) => first.add_document(document),
            None => writer(&mut self.documents, &self.index)?
                .add_document(document)
                .map(drop),
        }
    }

    fn commit(&mut self) -> tantivy::Result<()> {
        if let Some(first) = self.first.take() {
            self.index = first.finalize()?;
            self.reader = reader(&self.index)?;
        }
        let Some(mut documents) = self.documents.take() else {
            return Ok(());
        };
        documents.commit()?;
        let segments = self.index.searchable_segment_ids()?;
        if segments.len() > SEGMENTS {
            documents.merge(&segments).wait()?;
        }
        self.reader.reload()
    }
}

fn reader(index: &Index) -> tantivy::Result<IndexReader> {
    let builder = index.reader_builder();
    builder.reload_policy(ReloadPolicy::Manual).try_into()
}

/// The writer of documents, which begins with the first.
fn writer<'w>(
    documents: &'w mut Option<IndexWriter>,
    index: &Index,
) -> tantivy::Result<&'w mut IndexWriter> {
    let open = if let Some(open) = documents.take() {
        open
    } else {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(BUDGET)
            .build();
        let begun = index.writer_with_options(options)?;
        // `update` merges, so that merging is done before the searcher is published.
        begun.set_merge_policy(Box::new(NoMergePolicy));
        begun
    };
    Ok(documents.insert(open))
}

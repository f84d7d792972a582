//! Keeps the file within its bounds: the oldest rows go when there are too many records, too many bytes, or when they are too old.

use redb::ReadableTable;

use super::{block, failures::StoreError};

/// How much more than is needed is removed at once, as a part of all.
const BATCH: u64 = 20;

/// What a row takes beside its bytes.
const ROW: u64 = 32;

/// What is in the file, and what may be.
pub(super) struct Excess {
    pub(super) records: u64,
    pub(super) bytes: u64,
    pub(super) most: u64,
    pub(super) most_bytes: u64,
    /// In milliseconds.
    pub(super) oldest: u64,
}

impl Excess {
    /// Removes the oldest rows until the bounds hold, and some more, so that not every batch has to. Gives what is left.
    pub(super) fn remove(
        mut self,
        table: &mut redb::Table<'_, u64, &[u8]>,
    ) -> Result<Self, StoreError> {
        if self.records > self.most {
            self.most -= self.most / BATCH;
        }
        if self.bytes > self.most_bytes {
            self.most_bytes -= self.most_bytes / BATCH;
        }
        loop {
            let is_over = self.records > self.most || self.bytes > self.most_bytes;
            let row = table.first().map_err(StoreError::of)?;
            let Some((first, size, count, newest)) = row.map(|(first, row)| {
                let entries = block::entries(row.value());
                let newest = entries.last().map_or(0, |(millis, _)| *millis);
                (
                    first.value(),
                    size_of_row(row.value()),
                    entries.len(),
                    newest,
                )
            }) else {
                return Ok(self);
            };
            if !is_over && newest >= self.oldest {
                return Ok(self);
            }
            table.remove(first).map_err(StoreError::of)?;
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            self.records = self.records.saturating_sub(count);
            self.bytes = self.bytes.saturating_sub(size);
        }
    }
}

/// What a row takes.
pub(super) fn size_of_row(row: &[u8]) -> u64 {
    u64::try_from(row.len())
        .unwrap_or(u64::MAX)
        .saturating_add(ROW)
}

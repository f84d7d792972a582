//! Keeps the file within its bounds: removes the oldest rows when there are too many records or bytes, or when they are too old.

use redb::ReadableTable;

use super::{block, failures::StoreError};

/// A twentieth of the bound is removed beyond what is needed, so that not every write has to remove rows.
const BATCH: u64 = 20;

/// Bytes of a row beside its content, about.
const ROW: u64 = 32;

/// The content of the file, and the bounds.
pub(super) struct Excess {
    pub(super) records: u64,
    pub(super) bytes: u64,
    pub(super) most: u64,
    pub(super) most_bytes: u64,
    /// The oldest time that is kept, in milliseconds since 1970.
    pub(super) oldest: u64,
}

impl Excess {
    /// Removes the oldest rows until the bounds hold, and some more. Gives what is left.
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

/// The bytes that a row takes in the file, about.
pub(super) fn size_of_row(row: &[u8]) -> u64 {
    u64::try_from(row.len())
        .unwrap_or(u64::MAX)
        .saturating_add(ROW)
}

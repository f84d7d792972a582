//! Rows of the file. A row holds records that were written together, because a row for each record would take a multiple of the space.
//!
//! Of each record a row has the time in milliseconds (8 bytes, little endian), the length of its JSON (4 bytes, little endian), and the JSON.

use std::iter;

use super::record::ActivityRecord;
use crate::wire::Raw;

/// Limit: records of one row, because rows are removed as a whole.
const MOST: usize = 64;

/// Limit: bytes of a row of several records. redb gives it pages whose sizes are powers of two, so a row that is slightly larger than a page
/// would take twice the space. 64 bytes are left for the key and the header of the page.
const LARGEST: usize = (32 << 10) - 64;

/// Bytes before the JSON of a record.
const HEAD: usize = 12;

/// A record that waits to be written.
#[derive(Debug)]
pub(super) struct NewRecord {
    pub(super) millis: u64,
    /// The run of the daemon, as the JSON has it.
    run: u64,
    pub(super) json: Vec<u8>,
}

/// Bytes of the JSON of most records without arguments and result.
const USUAL: usize = 512;

impl NewRecord {
    /// A record whose JSON is made already, and names this run.
    pub(super) fn written(millis: u64, run: u64, json: Vec<u8>) -> Self {
        Self { millis, run, json }
    }

    /// Writes a record as JSON. `None` if that fails.
    pub(super) fn of(millis: u64, mut record: ActivityRecord) -> Option<Self> {
        let bodies = [
            (",\"arguments\":", record.arguments.take()),
            (",\"result\":", record.result.take()),
        ];
        let length = |body: &Option<Raw>| body.as_ref().map_or(0, |raw| raw.as_bytes().len());
        let bytes = bodies.iter().map(|(_, body)| length(body)).sum::<usize>();
        let mut json = Vec::with_capacity(USUAL + bytes);
        serde_json::to_writer(&mut json, &record).ok()?;
        // Appended as they are: serde_json would parse them again.
        for (name, body) in bodies {
            if let Some(body) = body {
                json.pop();
                json.extend(name.as_bytes());
                json.extend(body.as_bytes());
                json.push(b'}');
            }
        }
        Some(Self {
            millis,
            run: record.run,
            json,
        })
    }

    /// Sets the run of the daemon, whose number is known once the file is open.
    pub(super) fn set_run(&mut self, run: u64) {
        if self.run == run {
            return;
        }
        let record = serde_json::from_slice(&self.json).ok();
        let anew = record.and_then(|of| Self::of(self.millis, ActivityRecord { run, ..of }));
        if let Some(anew) = anew {
            *self = anew;
        }
    }
}

/// Puts records into rows, each with its number of records. If few records are kept in all, each row has one.
pub(super) fn rows(
    records: &[NewRecord],
    kept_in_all: usize,
) -> impl Iterator<Item = (usize, Vec<u8>)> {
    let most = (kept_in_all / 100).clamp(1, MOST);
    let mut left = records;
    iter::from_fn(move || {
        let (count, length) = size_of_next(left, most);
        let (of_row, rest) = left.split_at(count);
        left = rest;
        let mut row = Vec::with_capacity(length);
        for record in of_row {
            let length = u32::try_from(record.json.len()).unwrap_or(u32::MAX);
            row.extend(record.millis.to_le_bytes());
            row.extend(length.to_le_bytes());
            row.extend(&record.json);
        }
        (count > 0).then_some((count, row))
    })
}

/// The number of records in the next row, at least one if there are any, and the bytes of the row.
fn size_of_next(records: &[NewRecord], most: usize) -> (usize, usize) {
    let (mut count, mut length) = (0, 0);
    for record in records.iter().take(most) {
        let with = length + HEAD + record.json.len();
        if count > 0 && with > LARGEST {
            break;
        }
        (count, length) = (count + 1, with);
    }
    (count, length)
}

/// The times and the JSON of the records of a row, up to the first damaged one.
pub(super) fn entries(mut row: &[u8]) -> Vec<(u64, &[u8])> {
    let mut entries = Vec::new();
    while let Some((millis, rest)) = row.split_first_chunk::<8>()
        && let Some((length, rest)) = rest.split_first_chunk::<4>()
        && let Ok(length) = usize::try_from(u32::from_le_bytes(*length))
        && let Some((json, rest)) = rest.split_at_checked(length)
    {
        entries.push((u64::from_le_bytes(*millis), json));
        row = rest;
    }
    entries
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::any, proptest};

    use super::*;

    #[test]
    fn rows_have_the_records_that_were_put_into_them() {
        let record = |millis: u64| NewRecord {
            millis,
            run: 0,
            json: millis.to_string().into_bytes(),
        };
        let records: Vec<NewRecord> = (0..150).map(record).collect();
        for (kept_in_all, sizes) in [
            (1_000_000, vec![64, 64, 22]),
            (5_000, vec![50, 50, 50]),
            (7, vec![1; 150]),
        ] {
            let rows: Vec<_> = rows(&records, kept_in_all).collect();
            assert_eq!(
                rows.iter().map(|(count, _)| *count).collect::<Vec<_>>(),
                sizes
            );
            let found = rows.iter().flat_map(|(_, row)| entries(row));
            let found: Vec<(u64, String)> = found
                .map(|(millis, json)| (millis, String::from_utf8_lossy(json).into_owned()))
                .collect();
            let expected: Vec<_> = (0..150)
                .map(|millis| (millis, millis.to_string()))
                .collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_row_of_several_fits_its_page() {
        let record = |length: usize| NewRecord {
            millis: 1,
            run: 0,
            json: vec![b'1'; length],
        };
        let records: Vec<NewRecord> = [500; 100]
            .into_iter()
            .chain([40_000, 500, 40_000])
            .map(record)
            .collect();
        let rows: Vec<_> = rows(&records, 1_000_000).collect();
        let counts: Vec<usize> = rows.iter().map(|(count, _)| *count).collect();
        assert_eq!(counts, [63, 37, 1, 1, 1]);
        assert!(
            rows.iter()
                .all(|(count, row)| *count == 1 || row.len() <= LARGEST)
        );
        let found: usize = rows.iter().map(|(_, row)| entries(row).len()).sum();
        assert_eq!(found, records.len());
    }

    #[test]
    fn a_record_becomes_one_of_the_run_that_the_file_counts() {
        let raw = |text: &str| Raw::parse(&text.to_owned().into()).ok();
        let record = ActivityRecord {
            arguments: raw(r#"{"a": 1}"#),
            result: raw("[]"),
            ..ActivityRecord::of_daemon("start", "version 1".to_owned())
        };
        let mut new = NewRecord::of(5, record.clone()).expect("it is JSON");
        new.set_run(7);
        let read: ActivityRecord = serde_json::from_slice(&new.json).expect("a record");
        assert_eq!(read, ActivityRecord { run: 7, ..record });
    }

    proptest! {
        #[test]
        fn no_row_panics(row in vec(any::<u8>(), 0..200)) {
            entries(&row);
        }
    }
}

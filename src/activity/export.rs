//! Writes records as lines of a file: JSON Lines, or CSV for spreadsheets.

use super::record::ActivityRecord;
use crate::{
    text::{
        spelt,
        visible::{layout_escape, push_json, visible_json},
    },
    wire::Raw,
};

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExportFormat {
    /// A JSON object a line, as `GET /api/v1/activity` has it.
    #[default]
    Jsonl,
    /// A line a record, after one with the names of the columns (RFC 4180).
    Csv,
}

const COLUMNS: &str = "id,time,kind,run,call,parent,caller,client,endpoint,method,server,thing,variant,data_sensitivity,reason,action,detail,outcome,code,error,duration_us,request_bytes,answer_bytes,arguments,result,missing,times";

spelt!(ExportFormat { Jsonl = "jsonl", Csv = "csv" });

impl ExportFormat {
    /// The lines before the records.
    pub fn header(self) -> String {
        match self {
            Self::Jsonl => String::new(),
            Self::Csv => format!("{COLUMNS}\r\n"),
        }
    }

    /// The line of a record, with its end.
    pub fn line(self, record: &ActivityRecord) -> String {
        match self {
            Self::Jsonl => {
                let mut line = visible_json(&serde_json::to_string(record).unwrap_or_default());
                line.push('\n');
                line
            }
            Self::Csv => {
                let cells: Vec<String> = cells(record).map(|cell| quoted(&cell)).collect();
                format!("{}\r\n", cells.join(","))
            }
        }
    }
}

/// The value of a record in each column, from its JSON.
fn cells(record: &ActivityRecord) -> impl Iterator<Item = String> {
    let json = Raw::author(record);
    COLUMNS
        .split(',')
        .map(move |column| match (column, json.get(column)) {
            ("thing", _) => record.thing().unwrap_or_default(),
            (_, None) => String::new(),
            ("arguments" | "result", Some(value)) => value.as_str().to_owned(),
            (_, Some(value)) => value.string().unwrap_or_else(|| value.as_str().to_owned()),
        })
}

/// A cell on one line: line ends, control characters and invisible characters are escaped as in JSON.
fn on_one_line(cell: &str) -> String {
    let mut shown = String::with_capacity(cell.len());
    for character in cell.chars() {
        match layout_escape(character) {
            Some(escape) => shown.push_str(escape),
            None => push_json(character, &mut shown),
        }
    }
    shown
}

/// A cell in quotes, if it needs them. An apostrophe keeps a spreadsheet from reading it as a formula.
fn quoted(cell: &str) -> String {
    let cell = &on_one_line(cell);
    let is_formula = cell.starts_with(['=', '+', '-', '@']);
    let guard = if is_formula { "'" } else { "" };
    if is_formula || cell.contains([',', '"']) {
        format!("\"{guard}{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_line_and_reads_back() {
        let record = ActivityRecord {
            id: 7,
            kind: "call".to_owned(),
            server: Some("up".to_owned()),
            tool: Some("a\"b,c\nd".to_owned()),
            reason: Some("=1+1".to_owned()),
            result: Some(Raw::author(&serde_json::json!({"content": [1, 2]}))),
            ..ActivityRecord::default()
        };
        let line = ExportFormat::Jsonl.line(&record);
        assert_eq!(line.lines().count(), 1);
        assert_eq!(
            serde_json::from_str::<ActivityRecord>(&line).expect("JSON"),
            record
        );
        let csv = ExportFormat::Csv.line(&record);
        assert!(csv.starts_with("7,,call,0,"), "{csv}");
        assert!(
            csv.contains(r#""up:a""b,c\nd""#) && csv.contains("\"'=1+1\""),
            "{csv}"
        );
        assert!(csv.contains(r#","{""content"":[1,2]}","#), "{csv}");
        let header = ExportFormat::Csv.header();
        assert_eq!(header.trim_end(), COLUMNS);
        for &(format, name) in ExportFormat::ALL {
            assert_eq!(ExportFormat::parse(name), Some(format));
        }
    }

    #[test]
    fn nothing_in_an_export_ends_a_line_or_steers_a_terminal() {
        let text = "a\u{1b}[2J\u{7}\u{85}\u{9b}\u{202e}\u{2028}\u{2029}\n\r\tü";
        let record = ActivityRecord {
            error: Some(text.to_owned()),
            result: Some(Raw::author(&[text])),
            ..ActivityRecord::default()
        };
        for &(format, name) in ExportFormat::ALL {
            let line = format.line(&record);
            let line = line.trim_end_matches(['\r', '\n']);
            assert!(
                !line.chars().any(crate::text::visible::is_invisible),
                "{name}: {line}"
            );
            assert!(
                line.contains(r"a\u001b[2J\u0007\u0085\u009b\u202e\u2028\u2029\n\r\tü"),
                "{line}"
            );
        }
        let line = ExportFormat::Jsonl.line(&record);
        let read: ActivityRecord = serde_json::from_str(&line).expect("JSON");
        assert_eq!(read.error.as_deref(), Some(text));
    }
}

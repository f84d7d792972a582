//! What the scanner says of any definition: the same each time, bounded, and in characters that do nothing.

use std::sync::LazyLock;

use bytes::Bytes;
use mcpproxy::{
    trust::scanner::{Finding, Neighbours, Scanner},
    wire::Raw,
};

use super::ways::Ways;

/// Limit: findings of one definition, and bytes of a place and of an excerpt.
const FINDINGS: usize = 24;
const BYTES: usize = 2 << 10;

static NEIGHBOURS: LazyLock<Neighbours> = LazyLock::new(|| {
    Neighbours::new([
        ("mail", "send_email"),
        ("disk", "read_file"),
        ("bank", "transfer_money"),
    ])
});

/// Reads an input as something; nothing if it cannot be read so.
type Reading = fn(&[u8]) -> Option<Vec<Finding>>;

/// As instructions, as a text at every place of a definition, and as a definition.
const READINGS: [Reading; 4] = [
    |input| {
        let text = Raw::author(&String::from_utf8_lossy(input));
        Some(Scanner::default().instructions("s", &text, &NEIGHBOURS))
    },
    |input| Some(tool(&quoted(&String::from_utf8_lossy(input)))),
    |input| Some(tool(&parsed(input)?)),
    |input| Some(Scanner::default().thing(&parsed(input)?)),
];

/// Any bytes, in every way and twice.
pub fn check(input: &[u8]) {
    check_in(Ways::All, input);
}

/// A scan is slow: in a search a reading is seldom repeated.
pub fn check_in(ways: Ways, input: &[u8]) {
    for read in ways.among(&READINGS) {
        let found = read(input);
        bounded(found.as_deref().unwrap_or_default());
        if ways.beyond(READINGS.len()).seldom(8) {
            assert_eq!(read(input), found);
        }
    }
}

fn parsed(input: &[u8]) -> Option<Raw> {
    Raw::parse(&Bytes::copy_from_slice(input)).ok()
}

/// A definition with a text at every place.
fn quoted(text: &str) -> Raw {
    Raw::author(&serde_json::json!({
        "name": text,
        "description": text,
        "inputSchema": {"properties": {text: {"default": text}}},
    }))
}

fn tool(definition: &Raw) -> Vec<Finding> {
    Scanner::default().tool("files", definition, &NEIGHBOURS)
}

fn bounded(findings: &[Finding]) {
    assert!(findings.len() <= FINDINGS);
    for finding in findings {
        assert!(
            finding.place.len() <= BYTES && finding.excerpt.len() <= BYTES,
            "{finding:?}"
        );
        let mut shown = finding.place.chars().chain(finding.excerpt.chars());
        assert!(shown.all(|c| !c.is_control() && c != '<'), "{finding:?}");
    }
}

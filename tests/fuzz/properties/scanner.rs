//! What the scanner says of any definition: the same each time, bounded, and in characters that do nothing.

use bytes::Bytes;
use mcpproxy::{
    scanner::{Finding, Neighbours, scan_instructions, scan_prompt, scan_resource, scan_tool},
    wire::Raw,
};

/// Limit: findings of one definition, and bytes of a place and of an excerpt.
const FINDINGS: usize = 24;
const BYTES: usize = 2 << 10;

/// Reads any bytes as a definition, and as instructions.
pub fn check(input: &[u8]) {
    let neighbours = Neighbours::new([
        ("mail", "send_email"),
        ("disk", "read_file"),
        ("bank", "transfer_money"),
    ]);
    let text = String::from_utf8_lossy(input);
    let instructions = scan_instructions(&text);
    bounded(&instructions);
    assert_eq!(instructions, scan_instructions(&text));
    let key = text.to_string();
    let quoted = Raw::author(&serde_json::json!({
        "name": text,
        "description": text,
        "inputSchema": {"properties": {key: {"default": text}}},
    }));
    let parsed = Raw::parse(&Bytes::copy_from_slice(input));
    for definition in [Some(quoted), parsed.ok()].into_iter().flatten() {
        let found = scan_tool("files", &definition, &neighbours);
        bounded(&found);
        assert_eq!(found, scan_tool("files", &definition, &neighbours));
        bounded(&scan_prompt(&definition));
        bounded(&scan_resource(&definition));
    }
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

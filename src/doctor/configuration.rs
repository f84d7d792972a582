//! What `config check` finds, as findings.

use std::{iter, path::Path};

use super::DoctorFinding;
use crate::{
    config::{self, Settings},
    management::ConfigReport,
    text::count,
};

const CONFIGURATION: &str = "configuration";

/// Whether credentials stand in the file itself. `known` is what it says with its references filled in.
pub(super) fn has_secrets(file: &Path, known: &Settings) -> bool {
    let secrets = known.secrets();
    // A reference that leads to nothing stands for itself.
    let without_references = |text: String| text.replace("${", "$ {");
    let text = config::read_text(file).map(without_references);
    text.is_ok_and(|text| *secrets.redacted(&text) != *text)
}

/// The file, and whether the daemon takes it as it stands.
pub(super) fn check(report: &ConfigReport) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let fail = |what: &str, fix: &str| DoctorFinding::fail(CONFIGURATION, what, fix);
    if let Some(error) = &report.error {
        let step = report.error_step.as_deref().unwrap_or_default();
        findings.push(fail(error, step));
    }
    let fixes = iter::once(report.fault_step()).chain(iter::repeat(report.fix().to_owned()));
    let faults = report.faults.iter().zip(fixes);
    findings.extend(faults.map(|(fault, fix)| fail(fault, &fix)));
    for broken in &report.broken {
        let (what, step) = (&broken.reason, broken.step());
        let fix = step.at_terminal(&broken.name);
        let finding = DoctorFinding::of_server(CONFIGURATION, what, &step, fix);
        findings.push(finding.at(&broken.name));
    }
    for warning in &report.warnings {
        let fix = if report.has_file() {
            "if that is not intended: `mcpproxy config edit`"
        } else {
            "`mcpproxy setup`"
        };
        findings.push(DoctorFinding::warn(CONFIGURATION, warning.to_string(), fix));
    }
    if findings.is_empty() {
        let what = format!("no mistakes, {}", count(report.servers, "server"));
        findings.push(DoctorFinding::ok(CONFIGURATION, what));
    }
    for finding in &mut findings {
        let file = || report.config_file.clone();
        finding.place.get_or_insert_with(file);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Surroundings, parse};

    #[test]
    fn references_are_no_secrets_of_the_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("mcp_config.json");
        for (token, is_on, expected) in [
            ("${A_TOKEN}", true, false),
            // Nothing is filled in there.
            ("${A_TOKEN}", false, false),
            ("s3cret-value", true, true),
            ("s3cret-value", false, true),
        ] {
            let text = format!(
                r#"{{ "mcpServers": {{ "a": {{ "url": "https://x.example/mcp", "enabled": {is_on}, "headers": {{ "Authorization": "Bearer {token}" }} }} }} }}"#
            );
            std::fs::write(&file, &text).expect("writable");
            let surroundings = Surroundings {
                lookup: &|name| (name == "A_TOKEN").then(|| "an0ther-value".to_owned()),
                folder: folder.path(),
            };
            let known = parse(&text, &surroundings).expect("it is sound");
            assert!(!known.secrets().is_empty());
            assert_eq!(has_secrets(&file, &known), expected, "{token}");
        }
    }
}

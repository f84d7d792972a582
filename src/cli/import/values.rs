//! Values that are asked for before servers are imported.

use clap::ValueEnum;

use super::super::{failure::CommandFailure, output::Output, secret};
use crate::{
    clients::ImportReport,
    management::{Management, OverFiles},
};

/// Where secrets go that an entry has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum SecretsPlace {
    /// The keyring; the entry refers to them
    Keyring,
    /// The configuration file, as they are
    File,
}

/// Asks for what pages have in place of the reader's own values. A server that lacks one is not imported.
pub(in crate::cli) fn fill_placeholders(report: &mut ImportReport, out: Output) {
    report.fill_placeholders(|name, one| {
        let question = format!("{name}: `{}` (now {}):", one.place, one.text);
        secret::hidden_answer(&question, out)
    });
}

/// Puts secrets into the keyring, if that is said or wanted.
pub(in crate::cli) fn keep_secrets(
    files: &Management<OverFiles>,
    report: &mut ImportReport,
    place: Option<SecretsPlace>,
    out: Output,
) -> Result<(), CommandFailure> {
    let n = report.secrets_to_keep();
    let is_wanted = if let Some(place) = place {
        place == SecretsPlace::Keyring
    } else {
        let secrets = super::super::output::count(n, "secret");
        n > 0 && out.agrees(&format!("{secrets}: store in the keyring?"))
    };
    if n == 0 || !is_wanted {
        return Ok(());
    }
    report.keep_secrets(|name, value| files.add_secret(name, value).map(|_| ()))?;
    Ok(())
}

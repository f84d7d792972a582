//! Questions for values before servers are imported: placeholders, secrets, and where to store secrets.

use clap::ValueEnum;

use super::super::{CommandFailure, Done, Output, output};
use crate::{
    clients::{ImportReport, NeededKind, NeededValue, is_placeholder},
    management::Files,
    text::Secret,
};

/// Where the secrets of entries are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum SecretsPlace {
    /// The keyring, or a private file if there is none; the entry refers to it
    Keyring,
    /// The configuration file, in plain text
    File,
}

/// Questions the person for the values of placeholders such as `YOUR_API_KEY`, and for secrets that entries refer to. A server whose
/// placeholder gets no value is not imported.
pub(in crate::cli) fn fill_placeholders(files: &Files, report: &mut ImportReport, out: Output) {
    report.fill_placeholders(|name, one| {
        let hidden = if one.is_path() {
            ""
        } else {
            "hidden as you type, "
        };
        let (place, now) = (&one.place, &one.text);
        let question =
            format!("{name}: value for `{place}`, now {now} ({hidden}Enter skips {name}):");
        loop {
            let given = if hidden.is_empty() {
                out.answer_to(&question)?.trim().to_owned()
            } else {
                out.hidden_answer_to(&question)?
            };
            if !is_placeholder(&given) {
                return Some(given);
            }
            out.warning("that is a placeholder, not your value");
        }
    });
    for server in report.servers.iter_mut().filter(|server| server.chosen) {
        let name = server.new_name().unwrap_or_default().to_owned();
        let secrets = server.needs.iter_mut();
        let lacks = |need: &&mut NeededValue| need.kind == NeededKind::Secret && !need.is_set;
        for need in secrets.filter(lacks) {
            let about = need.about.as_ref().map(|about| format!(" ({about})"));
            let question = format!(
                "{name}: value for the secret {}{} (hidden as you type, Enter leaves it for later):",
                need.name,
                about.unwrap_or_default()
            );
            let given = out.hidden_answer_to(&question);
            let Some(given) = given.filter(|given| !given.trim().is_empty()) else {
                continue;
            };
            match files.add_secret(&need.name, &Secret::new(given.trim())) {
                Ok(_) => need.is_set = true,
                Err(failure) => out.warning(&CommandFailure::from(failure).in_words()),
            }
        }
    }
}

/// Stores the secrets of chosen entries in the keyring, if `place` says so or the person agrees.
pub(in crate::cli) fn keep_secrets(
    files: &Files,
    report: &mut ImportReport,
    place: Option<SecretsPlace>,
    out: Output,
) -> Done {
    let names = report.secrets_to_keep();
    let (n, names) = (names.len(), names.join(", "));
    let asks = place.is_none() && out.is_interactive();
    if n == 0 || place == Some(SecretsPlace::File) || place.is_none() && !asks {
        return Ok(());
    }
    let secrets = output::count(n, "secret");
    let stored = files.secrets()?;
    let Some(store) = stored.store else {
        let why = stored.fault.unwrap_or_default();
        out.warning(&format!("{secrets} will be stored in plain text: {why}"));
        return Ok(());
    };
    let it_stays = if n == 1 { "it stays" } else { "they stay" };
    // A private file is plain text, too.
    let (own, plain) = if stored.is_file {
        (" (plain text that only you can read)", "")
    } else {
        ("", ", in plain text")
    };
    let otherwise =
        format!("Otherwise {it_stays} in the configuration file (--secrets file){plain}.");
    if asks && !out.agrees(&format!("Store {names} in {store}{own}? {otherwise}")) {
        return Ok(());
    }
    if let Some(why) = stored.fault.filter(|_| stored.is_file && !asks) {
        out.note(&format!("no keyring: {why}"));
    }
    report.keep_secrets(|name, value| files.add_secret(name, value).map(|_| ()))?;
    out.done(&format!("stored {secrets} in {store}"));
    Ok(())
}

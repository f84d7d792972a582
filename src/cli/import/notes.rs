//! Prints found servers as a table, with notes: unreadable files, values that servers need, secrets in plain text, keys that were left out.

use std::path::Path;

use super::super::{
    Done, Output, output,
    table::{name, text},
};
use crate::{
    clients::{FoundServer, ImportReport, NeededKind, may_lower_protection},
    failure::NextStep,
    storage,
    text::names::shell_word,
};

/// Prints a row for each server. Those that can be imported are numbered from 1.
pub(in crate::cli) fn show_table(report: &ImportReport) -> Done {
    if report.servers.is_empty() {
        return Ok(());
    }
    let mut n = 0;
    let rows = report.servers.iter().map(|server| {
        let number = server.new_name().map(|_| {
            n += 1;
            n.to_string()
        });
        [
            number.unwrap_or_else(|| "-".to_owned()),
            server.written_name.clone(),
            place(server),
            server.starts.clone(),
            server.summary(),
        ]
    });
    let rows: Vec<[String; 5]> = rows.collect();
    let columns = [
        name("#"),
        name("SERVER"),
        text("FROM", 2),
        text("COMMAND OR URL", 2),
        text("RESULT", 4),
    ];
    output::print_table(columns, rows)
}

fn place(server: &FoundServer) -> String {
    let (client, file) = (server.client.name(), &server.file);
    match &server.project {
        _ if file == "-" => "stdin".to_owned(),
        Some(project) if !Path::new(&server.file).starts_with(project) => {
            format!("{client}: {file}, for {project}")
        }
        _ => format!("{client}: {file}"),
    }
}

/// Says which files could not be read, which have a key twice, and which have no servers.
pub(in crate::cli) fn say_faults(report: &ImportReport, out: Output) {
    for fault in report.faults.iter().filter(|fault| !fault.is_named) {
        let (file, error, step) = (&fault.file, &fault.error, &fault.next_step);
        out.warning(&format!("{file} is left out: {error}"));
        out.next(step);
    }
    for twice in &report.repeated {
        let (file, key, step) = (&twice.file, &twice.key, &twice.next_step);
        out.warning(&format!("{file} has `{key}` twice; the last value is used"));
        out.next(step);
    }
    for file in &report.empty {
        out.note(&format!("{file} has no servers"));
    }
}

/// Says what the imported servers need. Before the import (`is_taken` is false), this is about the chosen ones.
pub(in crate::cli) fn say_needs(report: &ImportReport, is_taken: bool, out: Output) {
    let servers = report.servers.iter();
    let is_meant = |server: &&FoundServer| server.chosen && (server.imported || !is_taken);
    for server in servers.filter(is_meant) {
        say_missing(server, is_taken, out);
        say_rest(server, is_taken, out);
    }
}

/// The same without missing values, which a setup lists at its end.
pub(in crate::cli) fn say_beside_missing(report: &ImportReport, out: Output) {
    let servers = report.servers.iter();
    for server in servers.filter(|server| server.imported) {
        say_rest(server, true, out);
    }
}

/// Warns if imported entries have secrets in plain text in a file that other users can read.
pub(in crate::cli) fn say_readable(file: &Path, report: &ImportReport, out: Output) {
    let mut taken = report.taken();
    let has_secrets = taken.any(|server| !server.literal_secrets.is_empty());
    if has_secrets && storage::is_open_to_others(file) {
        let file = file.display();
        out.warning(&format!(
            "{file} has secrets, and its mode lets other users read it: `chmod 600 {file}`"
        ));
    }
}

fn say_missing(server: &FoundServer, is_taken: bool, out: Output) {
    let name = server.new_name().unwrap_or_default();
    let say = |what: &str, step: &str| {
        // Before the import there is no step: a secret that is stored then would not be given to the server.
        let step = Some(format!(": {step}")).filter(|_| is_taken);
        out.note(&format!(
            "{name} needs the {what}{}",
            step.unwrap_or_default()
        ));
    };
    let missing = server.needs.iter().filter(|need| !need.is_set);
    let (secrets, variables): (Vec<_>, Vec<_>) =
        missing.partition(|need| need.kind == NeededKind::Secret);
    let variables: Vec<&str> = variables.iter().map(|need| &*need.name).collect();
    let s = if variables.len() == 1 { "" } else { "s" };
    if !variables.is_empty() {
        let what = format!("variable{s} {}", variables.join(", "));
        say(&what, &NextStep::set_variables(variables));
    }
    for need in secrets {
        let about = need.about.as_ref().map(|about| format!(" ({about})"));
        let other = need.not_given.as_ref();
        let other = other.map(|name| format!("; {name} is stored for something else"));
        let [about, other] = [about, other].map(Option::unwrap_or_default);
        let what = format!("secret {}{about}{other}", need.name);
        say(&what, &need.next_step);
    }
}

/// The notes on secrets in plain text in an entry, each with its step.
pub(in crate::cli) fn plain_secrets(server: &FoundServer, is_taken: bool) -> Vec<String> {
    let name = server.new_name().unwrap_or_default();
    let secrets = server.literal_secrets.iter().zip(&server.secret_steps);
    let notes = secrets.map(|(secret, step)| {
        let place = &secret.place;
        let step = match secret.key() {
            _ if is_taken => format!(": {step}"),
            Some(_) => "; --secrets keyring stores it outside the configuration file".to_owned(),
            None => ", and --secrets keyring leaves it there".to_owned(),
        };
        format!("{name}: `{place}` contains a secret in plain text{step}")
    });
    notes.collect()
}

fn say_rest(server: &FoundServer, is_taken: bool, out: Output) {
    let name = server.new_name().unwrap_or_default();
    for note in plain_secrets(server, is_taken) {
        out.note(&note);
    }
    let left_out = server.left_behind.iter().map(String::as_str);
    let (lowering, unused): (Vec<&str>, Vec<&str>) =
        left_out.partition(|key| may_lower_protection(key));
    let values = lowering
        .iter()
        .map(|key| shell_word(&format!("{key}=VALUE")));
    let values = values.collect::<Vec<_>>().join(" ");
    let step = is_taken.then(|| format!(": `mcpproxy upstream patch {name} {values}`"));
    let only_you = "; only you can lower the protection".to_owned() + &step.unwrap_or_default();
    for (keys, why) in [
        (lowering, &*only_you),
        (unused, ", which mcpproxy does not use"),
    ] {
        if !keys.is_empty() {
            out.note(&format!("{name}: left out {}{why}", keys.join(", ")));
        }
    }
}

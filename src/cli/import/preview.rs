//! What was found, as a table for people.

use super::super::{
    failure::CommandFailure,
    output,
    table::{name, text},
};
use crate::{
    client_files::PlannedServer,
    client_setup::{Gathered, outcome_of},
};

/// Prints a row for each server; those that can be taken are numbered.
pub(in crate::cli) fn show_table(gathered: &Gathered) -> Result<(), CommandFailure> {
    if gathered.plan.is_empty() {
        return Ok(());
    }
    let mut n = 0;
    let rows: Vec<[String; 5]> = gathered
        .plan
        .iter()
        .map(|server| {
            let number = if server.new_name().is_some() {
                n += 1;
                n.to_string()
            } else {
                "-".to_owned()
            };
            [
                number,
                server.written_name.clone(),
                place(gathered, server),
                server.starts.clone(),
                outcome_of(server),
            ]
        })
        .collect();
    let columns = [
        name("#"),
        name("SERVER"),
        text("FROM", 2),
        text("STARTS", 2),
        text("WHAT HAPPENS", 4),
    ];
    output::table(columns, rows)
}

fn place(gathered: &Gathered, server: &PlannedServer) -> String {
    let file = gathered.shown(&server.file);
    let client = server.client.name();
    match &server.project {
        Some(project) if !server.file.starts_with(project) => {
            format!("{client}: {file}, for {}", gathered.shown(project))
        }
        _ => format!("{client}: {file}"),
    }
}

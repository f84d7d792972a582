//! `mcpproxy connect` without arguments: lists the installed clients, and whether they are connected.

use super::super::{
    Done, Output, output,
    table::{name, text},
};
use crate::clients::{ClientList, ClientRow};

pub(super) fn print(list: &ClientList, is_running: bool, out: Output) -> Done {
    if out.is_json() {
        return output::print_value(list);
    }
    let rows = &list.clients;
    let found: Vec<&ClientRow> = rows.iter().filter(|row| row.found).collect();
    let cells: Vec<[String; 4]> = found
        .iter()
        .map(|row| {
            let state = match (&row.name, &row.error) {
                (_, Some(error)) => error.clone(),
                (Some(name), None) => format!("connected as {name:?}"),
                (None, None) => "not connected".to_owned(),
            };
            let step = match &row.next_step {
                Some(step) => step.clone(),
                None if row.connected => "-".to_owned(),
                None => format!("`mcpproxy connect {}`", row.client.id()),
            };
            let step = output::as_typed(&step);
            [row.client.name().to_owned(), state, row.file.clone(), step]
        })
        .collect();
    if cells.is_empty() {
        out.note("no known client found");
        out.next("`mcpproxy connect cursor` creates Cursor's file; `mcpproxy connect --help` lists all clients");
        return Ok(());
    }
    let columns = [
        name("CLIENT"),
        text("STATE", 3),
        text("FILE", 2),
        text("NEXT", usize::MAX),
    ];
    output::print_table(columns, cells)?;
    let absent = rows.iter().filter(|row| !row.found);
    let absent: Vec<&str> = absent.map(|row| row.client.id()).collect();
    if !absent.is_empty() {
        out.note(&format!("not found here: {}", absent.join(", ")));
    }
    if !is_running {
        out.note("the daemon is not running");
        out.next("`mcpproxy start`");
    }
    Ok(())
}

//! `mcpproxy secret`: stores, lists and removes the values of `${keyring:NAME}`. A value is read from the terminal or from stdin, and never
//! printed.

use std::io::{self, IsTerminal, Read};

use clap::{Args, Subcommand};
use http::Method;

use super::{
    CommandFailure, Done, Location, OrUndone, Output, connection, output,
    questions::read_hidden,
    table::{name, text},
};
use crate::{
    config::is_secret_name,
    daemon_client::{DaemonClient, DaemonError},
    gate::Standing,
    keyring::LONGEST_VALUE,
    management::{Files, SECRET_NAMES, SecretRow, ServerList, ServerRow, secret_value},
    storage::in_words,
    text::{names::as_argument, secret::Secret},
};

/// Store secrets outside the configuration file
#[derive(Debug, Subcommand)]
pub(super) enum SecretCommand {
    Set(SetSecret),
    /// List secrets, their locations and the servers that use them
    #[command(visible_alias = "ls")]
    List,
    #[command(visible_alias = "rm", alias = "delete")]
    Remove(RemoveSecret),
}

/// Store a secret, read from the terminal or stdin
///
/// By default, the secret goes to the desktop's keyring or, if there is none, to a private file in the data folder. Running servers get it
/// at their next start.
#[derive(Debug, Args)]
pub(super) struct SetSecret {
    /// The secret's name: letters, digits, `.`, `_`, `-` and `/`
    name: String,
}

/// Remove a secret
#[derive(Debug, Args)]
pub(super) struct RemoveSecret {
    /// The secret's name
    name: String,
}

impl SecretCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        match self {
            Self::Set(set) => set.run(&files, out).await,
            Self::List => list(&files, out),
            Self::Remove(remove) => remove.run(&files, out).await,
        }
    }
}

impl SetSecret {
    async fn run(self, files: &Files, out: Output) -> Done {
        // An unusable keyring is reported before the question for the value.
        let undone = format!("{} was not stored", self.name);
        let keyring = files.keyring().or_undone(&undone)?;
        let before = keyring.stored().map(|stored| stored.names);
        let name = checked(self.name, "nothing was stored")?;
        let value = value_for(&name)?;
        let is_replaced = before.is_ok_and(|names| names.contains_key(&name));
        let lacked_by = lacking(files, out).await;
        let row = files.set_secret(&name, &value)?;
        let place = row.stored_in.as_deref().unwrap_or_default();
        let instead = if is_replaced {
            ", replacing the old value"
        } else {
            ""
        };
        out.done(&format!("stored {name} in {place}{instead}"));
        let daemon = put_in_force(files, out).await;
        if row.used_by.is_empty() {
            out.next(&format!(
                "`mcpproxy upstream patch SERVER 'env.VARIABLE=${{keyring:{name}}}'` gives it to a server"
            ));
        } else {
            out.note(&format!("used by {}", row.used_by.join(", ")));
        }
        if let Some(mut daemon) = daemon {
            say_to_users(&mut daemon, &row.used_by, &lacked_by, out).await;
        }
        shown(&row, out)
    }
}

impl RemoveSecret {
    async fn run(self, files: &Files, out: Output) -> Done {
        let name = checked(self.name, "nothing was removed")?;
        let referred = files.secret_uses().unwrap_or_default();
        let users = referred.get(&name).map(|users| users.join(", "));
        if let Some(users) = users.filter(|_| out.is_interactive())
            && !out.asks(&format!(
                "Remove {name}? {users} cannot be used without it."
            ))
        {
            out.done(&format!("{name} was not removed"));
            return Err(CommandFailure::refused("").shown());
        }
        let row = files.remove_secret(&name)?;
        out.done(&format!("removed {}", row.name));
        let _ = put_in_force(files, out).await;
        if !row.used_by.is_empty() {
            let users = row.used_by.join(", ");
            out.note(&format!("{users} cannot be used without it"));
        }
        shown(&row, out)
    }
}

fn list(files: &Files, out: Output) -> Done {
    let listing = files.secrets()?;
    if out.is_json() {
        return output::print_value(&listing);
    }
    if let Err(error) = files.secret_uses() {
        out.note(&format!(
            "the servers that use secrets are not known: {error}"
        ));
    }
    out.note(&match (listing.store, listing.fault) {
        (Some(store), None) => format!("new secrets go into {store}"),
        (Some(store), Some(fault)) => format!("new secrets go into {store}, because {fault}"),
        (None, fault) => {
            let fault = fault.unwrap_or_default();
            let failure = CommandFailure::failed(fault).undone("the secrets were not listed");
            return Err(failure.next(listing.next_step.unwrap_or_default()));
        }
    });
    if listing.secrets.is_empty() {
        out.note("there are no secrets; `mcpproxy secret set NAME` stores one");
        return Ok(());
    }
    let columns = [name("NAME"), text("STORED IN", 2), text("USED BY", 2)];
    let cells = listing.secrets.into_iter().map(|row| {
        let kept_in = row.stored_in.unwrap_or_else(|| "(missing)".to_owned());
        let used_by = if row.used_by.is_empty() {
            "-".to_owned()
        } else {
            row.used_by.join(", ")
        };
        [row.name, kept_in, used_by]
    });
    output::print_table(columns, cells)
}

/// Prints the row for programs. People have read messages.
fn shown(row: &SecretRow, out: Output) -> Done {
    if out.is_json() {
        output::print_value(row)?;
    }
    Ok(())
}

/// The names of the stored secrets; none if they cannot be read, which `secret list` reports.
pub(super) fn stored(files: &Files) -> Vec<String> {
    let listed = files.secrets().map(|listed| listed.secrets);
    let listed = listed.unwrap_or_default().into_iter();
    let stored = listed.filter(|secret| secret.stored_in.is_some());
    stored.map(|secret| secret.name).collect()
}

/// The servers that the daemon cannot use, such as those that lack a secret.
async fn lacking(files: &Files, out: Output) -> Vec<String> {
    let Ok(Some(mut daemon)) = connection::open_if_running(files, out.quietly()).await else {
        return Vec::new();
    };
    let rows = servers(&mut daemon).await.into_iter();
    rows.filter(|row| row.unusable)
        .map(|row| row.name)
        .collect()
}

/// Has a running daemon read its secrets again, and returns the connection. If that fails, the secret is stored all the same.
async fn put_in_force(files: &Files, out: Output) -> Option<DaemonClient> {
    let reloaded = async {
        let Some(mut daemon) = connection::open_if_running(files, out).await? else {
            return Ok(None);
        };
        daemon.ask(Method::POST, connection::RELOAD, "").await?;
        Ok::<_, DaemonError>(Some(daemon))
    };
    reloaded.await.unwrap_or_else(|error| {
        out.note(&format!(
            "the daemon does not know of this change yet: {error}"
        ));
        out.next("`mcpproxy restart`");
        None
    })
}

fn checked(name: String, outcome: &str) -> Done<String> {
    if is_secret_name(&name) {
        return Ok(name);
    }
    let what = format!("{name:?} cannot be the name of a secret");
    let failure = CommandFailure::usage(what).undone(outcome);
    Err(failure.next(SECRET_NAMES))
}

/// The servers of a daemon; none if it does not list them.
async fn servers(daemon: &mut DaemonClient) -> Vec<ServerRow> {
    let list = daemon.fetch::<ServerList>("/api/v1/servers").await;
    list.map_or_else(|_| Vec::new(), |list| list.servers)
}

/// Says when each server that uses a secret gets its value. `lacked_by` are the servers that needed one before.
async fn say_to_users(
    daemon: &mut DaemonClient,
    used_by: &[String],
    lacked_by: &[String],
    out: Output,
) {
    let mut run = Vec::new();
    let rows = servers(daemon).await.into_iter();
    for row in rows.filter(|row| used_by.contains(&row.name)) {
        let name = &row.name;
        if let Some(step) = row.next_step.as_ref().filter(|_| row.unusable) {
            out.note(&format!("{name} cannot be used yet: {step}"));
            continue;
        }
        match row.standing() {
            Standing::Disabled => (),
            Standing::Quarantined => out.note(&format!(
                "{name} is quarantined: `mcpproxy upstream inspect {name}`"
            )),
            Standing::Usable if lacked_by.contains(name) => {
                out.note(&format!("{name} can be used now"));
            }
            Standing::Usable => run.push(row.name),
        }
    }
    if !run.is_empty() {
        let names = run.join(" ");
        out.note("running servers get the new value at their next start");
        out.next(&format!("`mcpproxy upstream restart {names}`"));
    }
}

fn value_for(name: &str) -> Done<Secret> {
    let undone = |failure: CommandFailure, step: &str| {
        let outcome = format!("{name} was not stored");
        failure.undone(&outcome).next(step)
    };
    let typed = as_argument(name);
    let paste = format!("`mcpproxy secret set {typed}`, then paste the value");
    let of_a_file = "if the server can read it from a file, store that file's path instead";
    let failed = |error: io::Error| undone(CommandFailure::failed(in_words(&error)), &paste);
    let wrong = |why: &str, step: &str| {
        let why = format!("its value {why}");
        undone(CommandFailure::usage(why), step)
    };
    let text = if io::stdin().is_terminal() {
        read_hidden(&format!("value of {name} (hidden as you type):")).map_err(failed)?
    } else {
        let mut bytes = Vec::new();
        let most = LONGEST_VALUE as u64 + 3;
        io::stdin()
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(|error| {
                let why = format!("stdin cannot be read: {}", in_words(&error));
                undone(CommandFailure::failed(why), &paste)
            })?;
        // The error would have the bytes in it.
        let text = String::from_utf8(bytes);
        text.map_err(|_| wrong("is not UTF-8 text", of_a_file))?
    };
    let step = if text.len() > LONGEST_VALUE {
        of_a_file
    } else {
        &paste
    };
    value_in(&text).map_err(|why| wrong(why, step))
}

/// The secret in a typed or piped text, without the end of its line.
fn value_in(text: &str) -> Result<Secret, &'static str> {
    let line = text.strip_suffix('\n').unwrap_or(text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    secret_value(line)?;
    Ok(Secret::new(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_is_not_the_values() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let value = value_in(text);
            assert_eq!(
                value.as_ref().map(Secret::reveal).map_err(|why| *why),
                expected
            );
        };
        check("value\n", Ok("value"));
        check("value\r\n", Ok("value"));
        check(" two\nlines\n\n", Ok(" two\nlines\n"));
        check("\n", Err("is empty"));
        check("", Err("is empty"));
        check("a\0b", Err("contains a NUL character"));
        check(&"x".repeat(LONGEST_VALUE + 1), Err("is longer than 64 KiB"));
    }
}

//! The servers in a TOML file of Codex: the tables `mcp_servers.NAME` with `url`, `command` and `args`. No TOML parser: what it
//! does not understand it passes over.

use super::entries::ClientEntry;

/// The servers, in the order of the file.
pub(super) fn entries(text: &str) -> Vec<ClientEntry> {
    let mut entries: Vec<ClientEntry> = Vec::new();
    let mut is_inside = false;
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if line.starts_with('[') {
            let name = table(line);
            is_inside = name.is_some();
            entries.extend(name.map(|name| ClientEntry {
                name,
                ..ClientEntry::default()
            }));
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_inside) else {
            continue;
        };
        let mut value = value.to_owned();
        // An array may go on over several lines; each is read up to its comment.
        if value.trim_start().starts_with('[') {
            while !closes(&value) {
                let Some(more) = lines.next() else { break };
                value.push('\n');
                value.push_str(more);
            }
        }
        let Some(entry) = entries.last_mut() else {
            continue;
        };
        let mut strings = strings(&value).0;
        match key.trim() {
            "args" => entry.args = strings,
            "url" => entry.url = strings.drain(..).next(),
            "command" => entry.command = strings.drain(..).next(),
            _ => (),
        }
    }
    entries
}

/// The name in `[mcp_servers.NAME]`; nothing for any other table, and for tables inside of such a one.
fn table(line: &str) -> Option<String> {
    let inside = line.strip_prefix("[mcp_servers.")?;
    let (quoted, rest) = strings(inside.split_once(']')?.0);
    match quoted.into_iter().next() {
        Some(name) => rest.trim().is_empty().then_some(name),
        None => (!rest.contains('.')).then(|| rest.trim().to_owned()),
    }
}

/// Whether the array has ended.
fn closes(value: &str) -> bool {
    strings(value).1.contains(']')
}

/// The strings in a value, and what stands around them, without comments.
fn strings(value: &str) -> (Vec<String>, String) {
    let (mut found, mut around) = (Vec::new(), String::new());
    let mut rest = value.chars();
    while let Some(c) = rest.next() {
        match c {
            '#' => {
                // To the end of the line.
                let _ = rest.by_ref().find(|c| *c == '\n');
            }
            '\'' => found.push(rest.by_ref().take_while(|c| *c != '\'').collect()),
            '"' => found.push(basic(&mut rest)),
            c => around.push(c),
        }
    }
    (found, around)
}

/// The rest of a string in double quotes.
fn basic(rest: &mut std::str::Chars<'_>) -> String {
    let mut text = String::new();
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' => match rest.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(c) => text.push(c),
                None => break,
            },
            c => text.push(c),
        }
    }
    text
}

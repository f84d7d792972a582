//! The list of callable tools in the definition of `code_execution`: a line for each, as many as there is room for, a share for each server.
//! Leaves out what the caller may not call.

use std::fmt::Write as _;

use crate::{
    access::Caller,
    gate::{Moment, Variant},
    router::search::signature,
    wire::Target,
};

/// Bytes of the whole list. Clients put it before every conversation.
const ROOM: usize = 8 << 10;

/// How many servers are named.
const SERVERS: usize = 60;

const HEADING: &str = "\n\nTools by server. \"TOOL(arguments) → data\" means that call_tool(SERVER, TOOL, {arguments}).value is the data:";

struct ListedServer {
    name: String,
    lines: Vec<String>,
    /// How many of them are shown.
    shown: usize,
}

/// The list; empty if there is nothing to call.
pub(super) fn described(now: &Moment, caller: &Caller) -> String {
    let rules = now.rules();
    let mut servers = Vec::new();
    for (name, server) in &now.snapshot().servers {
        let callable = server.tools.iter().filter(|tool| {
            let target = Target::tool(&tool.name);
            rules.allows(caller, name.as_str(), &target)
        });
        let lines: Vec<String> = callable
            .map(|tool| {
                let input = tool.definition.get("inputSchema");
                let output = tool.definition.get("outputSchema");
                let signature = signature(&tool.name, input.as_ref(), output.as_ref());
                let is_destructive = rules.call_with(name.as_str(), tool) == Variant::Destructive;
                let mark = if is_destructive { " [destructive]" } else { "" };
                format!("\n  {signature}{mark}")
            })
            .collect();
        if !lines.is_empty() {
            servers.push(ListedServer {
                name: name.to_string(),
                lines,
                shown: 0,
            });
        }
    }
    written(servers)
}

fn written(mut servers: Vec<ListedServer>) -> String {
    if servers.is_empty() {
        return String::new();
    }
    let left_out = servers.len().saturating_sub(SERVERS);
    servers.truncate(SERVERS);
    // Each server has a heading, and a line with the number of tools that are left out.
    let headings = servers.iter().map(|server| server.name.len() + 40);
    let mut room = ROOM.saturating_sub(HEADING.len() + headings.sum::<usize>());
    // In turns, so that a server with many tools leaves room for the others.
    let mut is_full = false;
    for turn in 0.. {
        let mut shows_more = false;
        for server in &mut servers {
            let Some(line) = server.lines.get(turn).filter(|_| !is_full) else {
                continue;
            };
            is_full = line.len() > room;
            if !is_full {
                room -= line.len();
                server.shown += 1;
                shows_more = true;
            }
        }
        if !shows_more {
            break;
        }
    }
    let mut text = HEADING.to_owned();
    for server in &servers {
        // Writing into a text cannot fail.
        let _ = write!(text, "\n{}:", server.name);
        text.extend(server.lines.iter().take(server.shown).map(String::as_str));
        let more = server.lines.len() - server.shown;
        if more > 0 {
            let _ = write!(text, "\n  … {more} more: use retrieve_tools");
        }
    }
    if left_out > 0 {
        let _ = write!(text, "\n… {left_out} more servers: use retrieve_tools");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, tools: usize) -> ListedServer {
        ListedServer {
            name: name.to_owned(),
            lines: (0..tools).map(|n| format!("\n  tool_{n}()")).collect(),
            shown: 0,
        }
    }

    #[test]
    fn every_server_has_its_lines() {
        assert_eq!(written(vec![]), "");
        let text = written(vec![server("a", 2), server("b", 1)]);
        assert_eq!(
            text,
            format!("{HEADING}\na:\n  tool_0()\n  tool_1()\nb:\n  tool_0()")
        );
    }

    #[test]
    fn a_server_with_many_tools_leaves_room_for_others() {
        let text = written(vec![server("large", 5000), server("small", 3)]);
        assert!(text.len() <= ROOM, "{}", text.len());
        assert!(text.ends_with("small:\n  tool_0()\n  tool_1()\n  tool_2()"));
        assert!(text.contains(" more: use retrieve_tools\nsmall:"), "{text}");
        let many = (0..500).map(|n| server(&format!("server-{n:060}"), 100));
        let text = written(many.collect());
        assert!(text.len() <= ROOM + 100, "{}", text.len());
        assert!(text.ends_with("… 440 more servers: use retrieve_tools"));
    }
}

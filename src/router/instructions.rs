//! The instructions for a client's model: how to use mcpproxy, then as much of each server's instructions as there is room for.

use crate::{
    access::Caller,
    config::{AgentManagement, RoutingMode},
    gate::Moment,
};

/// Characters. Clients cut longer instructions.
const MAX: usize = 2_047;

/// Characters. If fewer are left for a server's instructions, none of them are given.
const LEAST: usize = 40;

/// Marks where a server's instructions were cut.
const CUT: &str = " …";

/// How to use the mode that lists tools.
const DIRECT: &str = "mcpproxy offers the tools of several MCP servers. The tool \"tool\" of the server \"server\" is listed as \
    server__tool, and its description begins with [server]; prompts are named the same way. A server that sleeps is started by the \
    first call, which may take a few seconds. Errors of mcpproxy itself are JSON with error, code and hint; the hint names the \
    next step.";

/// How to use the mode for scripts.
const SCRIPTS: &str = "mcpproxy is in front of several MCP servers, whose tools are called by scripts: write JavaScript for \
    code_execution that calls them with call_tool(server, tool, args), takes from the results what is needed, and returns that. The description of \
    code_execution names tools and their arguments; retrieve_tools finds others by a few words, and describe_tool gives their whole \
    definition. Do in one script what belongs together. A server that sleeps is started by the first call, which may take a few seconds. \
    Errors of mcpproxy itself are JSON with error, code and hint; those of a script are in \"error\" of its result.";

/// How to use the mode `proxy`, which has one tool for everything.
const PROXY: &str = "mcpproxy is in front of several MCP servers, whose tools, resources and prompts are reached by the tool proxy: \
    {\"action\": \"list\", \"type\": \"tool\"} lists the tools (or \"resource\", \"prompt\"), {\"action\": \"info\", \"type\": \"tool\", \"path\": \
    \"server__tool\"} gives the definition of one, and {\"action\": \"call\", \"type\": \"tool\", \"path\": \"server__tool\", \"args\": {…}} calls \
    it. A server that sleeps is started by the first call, which may take a few seconds. Errors of mcpproxy itself are JSON with error, \
    code and hint; the hint names the next step.";

/// Added where the caller may search as well.
const PROXY_SEARCH: &str = " To search many tools by words, call the path \"retrieve_tools\" with \
    {\"query\": \"…\"} in \"args\".";

/// Added where the caller may not use it.
const NO_PROXY: &str =
    "mcpproxy is in front of several MCP servers. None of their tools can be called here.";

/// How to use the mode of the one tool, by a caller who may use these built-in tools.
fn proxy(permits: impl Fn(&str) -> bool) -> String {
    match (permits("proxy"), permits("retrieve_tools")) {
        (true, true) => [PROXY, PROXY_SEARCH].concat(),
        (true, false) => PROXY.to_owned(),
        (false, _) => NO_PROXY.to_owned(),
    }
}

/// The built-in tools that call others, the mildest first.
const CALL_TOOLS: [&str; 3] = ["call_tool_read", "call_tool_write", "call_tool_destructive"];

/// How to use the mode that finds tools by search, by a caller who may use these built-in tools. Denied ones are not named.
fn search(permits: impl Fn(&str) -> bool) -> String {
    let mut text = String::from(
        "mcpproxy is in front of several MCP servers, whose tools are not listed here but found by search.",
    );
    let may_search = permits("retrieve_tools");
    let mut calls = CALL_TOOLS.to_vec();
    calls.retain(|tool| permits(tool));
    if may_search {
        text.push_str(
            " To do something: (1) call retrieve_tools with a few words that describe the task, English ones if the tools are described \
             in English; each result has a \"name\" (server:tool), its input schema or a short signature, and call_with.",
        );
    }
    let step = if may_search { " (2)" } else { "" };
    let how = match &calls[..] {
        [] if may_search => " (2) You cannot use the call_tool tools; call a result by its listed name, server__tool.".to_owned(),
        [] => " None of their tools can be called here.".to_owned(),
        [first @ .., last] if !first.is_empty() && may_search => format!(
            "{step} Call the tool that call_with names, {} or {last}, with that \"name\" and the arguments in \"args\".{}",
            first.join(", "),
            others_denied(&calls)
        ),
        [only] if may_search => format!(
            "{step} Where call_with names {only}, call that with the \"name\" and the arguments in \"args\".{}",
            others_denied(&calls)
        ),
        calls => format!(
            "{step} If you know a tool's name, server:tool, call it with {}: the name in \"name\" and the arguments in \"args\".",
            calls.join(" or ")
        ),
    };
    text.push_str(&how);
    if permits("describe_tool") {
        text.push_str(" describe_tool gives whole definitions by name.");
    }
    if may_search {
        text.push_str(
            " Search again with other words, a tool's or a server's name for example, when nothing fits.",
        );
    }
    text.push_str(
        " A server that sleeps is started by the first call, which may take a few seconds. Errors of mcpproxy itself are JSON with error, \
         code and hint; the hint names the next step.",
    );
    text
}

fn others_denied(calls: &[&str]) -> &'static str {
    if calls.len() == CALL_TOOLS.len() {
        ""
    } else {
        " You cannot use other values of call_with."
    }
}

/// Added where the caller may change servers.
const MANAGE: &str = " upstream_servers lists, adds and changes servers; added ones are quarantined until the user approves them.";

/// The instructions of an endpoint that shows many servers in this mode, without those of servers that the caller may not use.
pub(super) fn of_servers(mode: RoutingMode, now: &Moment, caller: &Caller) -> String {
    let permits = |tool: &str| now.rules().permits_built_in(caller, tool);
    let runs_scripts = || now.settings().code_execution.is_on && permits("code_execution");
    let own = match mode {
        RoutingMode::Direct => DIRECT.to_owned(),
        RoutingMode::CodeExecution if runs_scripts() => SCRIPTS.to_owned(),
        RoutingMode::CodeExecution => search(permits) + " Scripts are disabled.",
        RoutingMode::Proxy => proxy(permits),
        RoutingMode::RetrieveTools => {
            let mut own = search(permits);
            if now.settings().management == AgentManagement::Full && permits("upstream_servers") {
                own.push_str(MANAGE);
            }
            own
        }
    };
    let names = now.settings().servers.keys();
    let usable = names.filter(|name| now.rules().offers(caller, name.as_str()));
    let servers: Vec<(&str, String)> = usable
        .map(|name| {
            let words = now.rules().instructions(name.as_str());
            (name.as_str(), words.unwrap_or_default())
        })
        .collect();
    aggregated(&own, &servers)
}

/// Our own text, the servers' names, and a paragraph for each server that says something.
fn aggregated(own: &str, servers: &[(&str, String)]) -> String {
    let mut text = own.to_owned();
    let names: Vec<&str> = servers.iter().map(|(name, _)| *name).collect();
    let names = format!(" Servers: {}.", names.join(", "));
    if !servers.is_empty() && length(&text) + length(&names) <= MAX {
        text.push_str(&names);
    }
    let described = servers.iter().map(|(name, words)| (*name, words.trim()));
    let described: Vec<(&str, &str)> = described.filter(|(_, words)| !words.is_empty()).collect();
    let lengths: Vec<usize> = described
        .iter()
        .map(|(name, words)| length(&heading(name)) + length(words))
        .collect();
    let room = fair_shares(&lengths, MAX.saturating_sub(length(&text)));
    for ((name, words), room) in described.iter().zip(room) {
        let heading = heading(name);
        if let Some(words) = cut(words, room.saturating_sub(length(&heading))) {
            text.push_str(&heading);
            text.push_str(&words);
        }
    }
    text
}

fn heading(server: &str) -> String {
    format!("\n\n[{server}] ")
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Divides `room`: each share is what it needs, or as large as every other share that is cut.
fn fair_shares(needs: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|i| needs[*i]);
    let (mut shares, mut left) = (vec![0; needs.len()], room);
    for (done, i) in order.iter().enumerate() {
        shares[*i] = needs[*i].min(left / (needs.len() - done));
        left -= shares[*i];
    }
    shares
}

/// The words that fit, none of them cut; `None` if too few do.
fn cut(words: &str, room: usize) -> Option<String> {
    if length(words) <= room {
        return Some(words.to_owned());
    }
    let fitting = room
        .checked_sub(length(CUT))
        .filter(|room| *room >= LEAST)?;
    let end = words.char_indices().nth(fitting).map(|(at, _)| at)?;
    let kept = words.get(..end)?;
    let whole = kept.rsplit_once(char::is_whitespace);
    let kept = whole.map_or(kept, |(whole, _)| whole.trim_end());
    Some(format!("{kept}{CUT}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(words: &[(&'static str, usize)]) -> Vec<(&'static str, String)> {
        let text = |length: usize| {
            "wörd "
                .repeat(length / 5 + 1)
                .chars()
                .take(length)
                .collect()
        };
        words
            .iter()
            .map(|(name, length)| (*name, text(*length)))
            .collect()
    }

    #[test]
    fn the_long_make_room_for_the_short() {
        let check = |needs: &[usize], room, expected: &[usize]| {
            assert_eq!(fair_shares(needs, room), expected, "{needs:?} in {room}");
        };
        check(&[], 10, &[]);
        check(&[3, 4], 10, &[3, 4]);
        check(&[30, 4], 10, &[6, 4]);
        check(&[30, 40, 1], 11, &[5, 5, 1]);
        check(&[30, 40], 0, &[0, 0]);
    }

    #[test]
    fn every_server_has_its_say_and_the_whole_stays_short() {
        for mode in [DIRECT, SCRIPTS, &proxy(|_| true), &search(|_| true)] {
            for servers in [
                described(&[]),
                described(&[("a", 20), ("b", 0)]),
                described(&[("a", 5_000), ("b", 20), ("c", 5_000)]),
                described(&[("a", 5_000); 100]),
            ] {
                let text = aggregated(mode, &servers);
                assert!(text.starts_with(mode), "our own comes first");
                assert!(length(&text) <= MAX, "{}", length(&text));
                let silent = |name: &str| !text.contains(&format!("[{name}] "));
                let says = |(name, words): &(&str, String)| words.is_empty() == silent(name);
                assert!(servers.len() > 9 || servers.iter().all(says), "{text}");
            }
        }
        let text = aggregated("Own.", &described(&[("a", 9)]));
        assert_eq!(text, "Own. Servers: a.\n\n[a] wörd wörd");
    }

    #[test]
    fn only_tools_that_the_caller_may_have_are_named() {
        let all = search(|_| true);
        let read = search(|tool| tool != "call_tool_write" && tool != "call_tool_destructive");
        let none = search(|tool| !tool.starts_with("call_tool"));
        let blind = search(|tool| tool == "call_tool_read");
        for (text, named) in [
            (
                &all,
                &[
                    "retrieve_tools",
                    "describe_tool",
                    "call_tool_read",
                    "call_tool_write",
                    "call_tool_destructive",
                ][..],
            ),
            (
                &read,
                &["retrieve_tools", "describe_tool", "call_tool_read"],
            ),
            (&none, &["retrieve_tools", "describe_tool"]),
            (&blind, &["call_tool_read"]),
        ] {
            for tool in CALL_TOOLS
                .iter()
                .chain(&["retrieve_tools", "describe_tool"])
            {
                assert_eq!(text.contains(tool), named.contains(tool), "{tool}: {text}");
            }
        }
        assert!(
            all.contains("call_tool_read, call_tool_write or call_tool_destructive, with that"),
            "{all}"
        );
    }

    #[test]
    fn words_are_cut_between_words() {
        let words = "one two three four five six seven eight nine ten";
        assert_eq!(cut(words, 100).as_deref(), Some(words));
        assert_eq!(
            cut(words, 45).as_deref(),
            Some("one two three four five six seven eight …")
        );
        assert_eq!(cut(words, 20), None);
    }
}

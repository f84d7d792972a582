//! A call declared as reading, writing or destroying, held against the tool's hints.

use serde::{Deserialize, Serialize};

use super::classify::{Effect, effect};
use crate::{
    catalog::Tool,
    config::ServerEntry,
    failure::{ErrorCode, Failure, NextStep},
    text::spelt,
};

/// How a caller declares a call. A client can approve each separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// It changes nothing.
    Read,
    /// It changes something.
    Write,
    /// It may destroy something.
    Destructive,
}

spelt!(Variant { Read = "read", Write = "write", Destructive = "destructive" });

/// Whether a tool may be called as declared: destructive always; otherwise no milder than its server says, or than our own
/// classification is sure of. A hint that is milder than plain words does not count.
pub(super) fn declared(
    variant: Variant,
    entry: Option<&ServerEntry>,
    tool: &Tool,
) -> Result<(), (Variant, &'static str)> {
    if variant == Variant::Destructive {
        return Ok(());
    }
    let says = |by_person, by_text| {
        let is_classified = entry.is_some_and(|entry| entry.tool_acl.class(&tool.name).is_some());
        if is_classified { by_person } else { by_text }
    };
    let read_only = tool.hints.read_only;
    let needed = match effect(entry, tool) {
        _ if tool.hints.destructive == Some(true) => (Variant::Destructive, "its server says so"),
        Effect::Deletes => {
            let by_text = "its name or description says that it deletes";
            let why = says("tool_acl says that it deletes", by_text);
            (Variant::Destructive, why)
        }
        Effect::Reads => return Ok(()),
        _ if read_only == Some(false) => (Variant::Write, "its server declares it not read-only"),
        Effect::Writes => {
            let by_text = "its name or description says that it writes";
            let why = says("tool_acl says that it writes", by_text);
            (Variant::Write, why)
        }
        Effect::Executes if read_only == Some(true) => {
            (Variant::Write, "its name says that it runs commands")
        }
        Effect::Executes | Effect::Unsure => return Ok(()),
    };
    if needed.0 == variant {
        Ok(())
    } else {
        Err(needed)
    }
}

/// The refusal of a call that was declared too mild.
pub(super) fn too_mild(needed: (Variant, &str), server: &str, tool: &str) -> Failure {
    let (needed, why) = needed;
    let can = match needed {
        Variant::Destructive => "is destructive",
        _ => "can change data",
    };
    let error = format!("{server}:{tool} {can}: {why}");
    let needed = needed.as_str();
    // Models read it, so it names no way round what a person approves.
    let hint = format!("If the user wants this, use call_tool_{needed}.");
    let step = NextStep::CallAs {
        variant: needed.into(),
        tool: tool.into(),
    };
    Failure::for_agents(ErrorCode::WrongVariant, error, hint, step)
        .of_server(server)
        .of_tool(tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalog::{Listing, ServerCatalog},
        text::names::ServerName,
        wire::{Raw, Revision},
    };

    fn server(name: &str, annotations: &str) -> ServerCatalog {
        let tool = format!(r#"{{"name":"{name}","inputSchema":{{}},"annotations":{annotations}}}"#);
        let listing = Listing {
            initialize: Raw::empty_object(),
            revision: Revision::NEWEST_LEGACY,
            tools: vec![Raw::parse_str(&tool).expect("JSON")],
            prompts: vec![],
            resources: vec![],
            templates: vec![],
        };
        ServerCatalog::ingest(&ServerName::parse("s").expect("a name"), "e", listing)
    }

    #[track_caller]
    fn check(name: &str, annotations: &str, allowed: [bool; 3]) {
        let server = server(name, annotations);
        let tool = server.tool(name).expect("listed");
        let found = [Variant::Read, Variant::Write, Variant::Destructive]
            .map(|v| declared(v, None, tool).is_ok());
        assert_eq!(found, allowed, "{name} {annotations}");
    }

    #[test]
    fn a_call_may_be_declared_no_milder_than_its_server_says() {
        check("t", "{}", [true, true, true]);
        check("t", r#"{"readOnlyHint":true}"#, [true, true, true]);
        check("t", r#"{"readOnlyHint":false}"#, [false, true, true]);
        check("t", r#"{"destructiveHint":true}"#, [false, false, true]);
        check("t", r#"{"destructiveHint":false}"#, [true, true, true]);
        check(
            "t",
            r#"{"readOnlyHint":false,"destructiveHint":true}"#,
            [false, false, true],
        );
        check(
            "t",
            r#"{"readOnlyHint":true,"destructiveHint":true}"#,
            [false, false, true],
        );
    }

    #[test]
    fn where_the_server_is_silent_the_name_speaks_if_it_is_sure() {
        check("delete_repo", "{}", [false, false, true]);
        check("create_issue", "{}", [false, true, true]);
        check("list_repos", "{}", [true, true, true]);
        check("frobnicate", "{}", [true, true, true]);
        check("execute_sql", "{}", [true, true, true]);
        check(
            "delete_repo",
            r#"{"readOnlyHint":false}"#,
            [false, false, true],
        );
    }

    #[test]
    fn plain_words_win_over_a_milder_hint() {
        let read_only = r#"{"readOnlyHint":true}"#;
        check("delete_repo", read_only, [false, false, true]);
        check("drop_table", read_only, [false, false, true]);
        check("transfer_funds", read_only, [false, true, true]);
        check("execute_command", read_only, [false, true, true]);
        check("create_issue", read_only, [false, true, true]);
        check("add", read_only, [true, true, true]);
        check("run_query", read_only, [true, true, true]);
        check("get_deleted", read_only, [true, true, true]);
        let mild = r#"{"destructiveHint":false}"#;
        check("delete_repo", mild, [false, false, true]);
    }
}

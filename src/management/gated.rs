//! What the gate says to an operator: the only place of this room that asks it, and the operator's next step for each refusal.
//! Agents get the gate's own hints.

use crate::{
    access::Access,
    catalog::Snapshot,
    config::Settings,
    error_code::{ErrorCode, Failure},
    gate::Rules,
    wire::{Target, method},
};

/// Why nothing may be asked of a server.
pub(super) fn server_refusal(
    settings: &Settings,
    lists: &Snapshot,
    server: &str,
) -> Option<Failure> {
    refusal(
        settings,
        lists,
        server,
        &Target::method_alone(method::TOOLS_LIST),
    )
}

/// Why a tool may not be called.
pub(super) fn tool_refusal(
    settings: &Settings,
    lists: &Snapshot,
    server: &str,
    tool: &str,
) -> Option<Failure> {
    refusal(settings, lists, server, &Target::tool(tool))
}

fn refusal(
    settings: &Settings,
    lists: &Snapshot,
    server: &str,
    target: &Target<'_>,
) -> Option<Failure> {
    let operator = Access::default().terminal();
    let decided = Rules::new(settings, lists).decide(&operator, server, target);
    let mut failure = decided.err()?;
    if let Some(step) = next_step(failure.code, server) {
        failure.hint = step;
    }
    Some(failure)
}

/// What a person does about a server that the gate keeps closed.
fn next_step(code: ErrorCode, server: &str) -> Option<String> {
    match code {
        ErrorCode::ServerDisabled => Some(format!(
            "`mcpproxy upstream enable {server}` switches it on"
        )),
        ErrorCode::ServerQuarantined => {
            Some("review it and set \"quarantined\": false in the configuration file".to_owned())
        }
        _ => None,
    }
}

//! Keys of the top level that belong together: of scripts, of what agents may manage, of how often something is looked at.

use std::{ops::RangeInclusive, time::Duration};

use super::{
    fields::{BadField, ObjectFields},
    settings::{AgentManagement, CodeExecution, Settings},
};

/// Limit: a script that may make more calls than this may make as many as it likes.
const MOST_CALLS: usize = 1_000_000;

/// Whether agents may run scripts, and how much one may take.
pub(super) fn read_code_execution(
    fields: &mut ObjectFields<'_>,
) -> Result<CodeExecution, BadField> {
    let mut read = CodeExecution::default();
    if let Some(is_on) = fields.flag("enable_code_execution")? {
        read.is_on = is_on;
    }
    if let Some(timeout) = fields.count("code_execution_timeout_ms", CodeExecution::TIMEOUT_MS)? {
        read.timeout_ms = timeout;
    }
    let calls = fields.count("code_execution_max_tool_calls", 0..=MOST_CALLS)?;
    read.max_tool_calls = calls.unwrap_or(read.max_tool_calls);
    Ok(read)
}

/// Limit: fewer characters would leave too little of a text beside the words on how to go on; more than this no result has.
const RESPONSE_LIMIT: RangeInclusive<usize> = 1_000..=100_000_000;

/// Above how many characters the text of a tool's result is cut; 0 for never.
pub(super) fn read_response_limit(
    fields: &mut ObjectFields<'_>,
    warnings: &mut Vec<String>,
) -> Result<usize, BadField> {
    let (least, most) = RESPONSE_LIMIT.into_inner();
    let written = fields.count("tool_response_limit", 0..=most)?;
    let limit = written.unwrap_or(0);
    if (1..least).contains(&limit) {
        warnings.push(format!(
            "`tool_response_limit` is {limit}; {least} counts, which is the least (0: off)"
        ));
        return Ok(least);
    }
    Ok(limit)
}

/// `management`; the Go program's words for the same restrictions count too, and the strictest wins.
pub(super) fn read_management(fields: &mut ObjectFields<'_>) -> Result<AgentManagement, BadField> {
    let choices = [
        ("full", AgentManagement::Full),
        ("read", AgentManagement::Read),
        ("off", AgentManagement::Off),
    ];
    let written = fields
        .choice("management", &choices)?
        .unwrap_or(AgentManagement::Full);
    let read_only = fields.flag("read_only_mode")?.unwrap_or(false);
    let disabled = fields.flag("disable_management")?.unwrap_or(false);
    Ok(match written {
        _ if disabled => AgentManagement::Off,
        AgentManagement::Full if read_only => AgentManagement::Read,
        written => written,
    })
}

pub(super) fn read_intervals(
    fields: &mut ObjectFields<'_>,
    settings: &mut Settings,
) -> Result<(), BadField> {
    // Limit: anything more often than this is load without use.
    const SHORTEST: Duration = Duration::from_millis(100);
    if let Some(interval) = fields.duration("tool_discovery_interval", Duration::ZERO)? {
        if !interval.is_zero() && interval < SHORTEST {
            return Err(fields.bad(
                "tool_discovery_interval",
                "must be 0s (off) or at least 100ms",
            ));
        }
        settings.tool_discovery_interval = (!interval.is_zero()).then_some(interval);
    }
    if let Some(interval) = fields.duration("idle_check_interval", SHORTEST)? {
        settings.idle_check_interval = interval;
    }
    if let Some(interval) = fields.duration("health_check_interval", SHORTEST)? {
        settings.health_check_interval = interval;
    }
    Ok(())
}

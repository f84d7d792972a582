//! Records as rows of a table: which are shown, and their cells. Pure.

use std::collections::{HashMap, HashSet};

use crate::{
    activity::{ActivityRecord, program},
    cli::output,
    config::ANONYMOUS,
};

/// Begins the names of the built-in tools that make one call.
const CALLS_ONE: &str = "call_tool";

/// A record with the tool behind it.
#[derive(Clone, Copy)]
pub(super) struct ShownRecord<'a> {
    pub(super) record: &'a ActivityRecord,
    /// The built-in tool that made the call.
    through: Option<&'a str>,
}

/// The records that have a row. The record of `call_tool` or one of its variants is left out if the call that it made is among the records
/// with the same outcome, unless `all` is set.
pub(super) fn shown(
    records: &[ActivityRecord],
    all: bool,
) -> impl Iterator<Item = ShownRecord<'_>> {
    let tools = records.iter().filter_map(|record| {
        let is_ours = record.server.is_none();
        let tool = record.tool.as_deref().filter(|_| is_ours)?;
        Some(((record.run, record.call.as_deref()?), tool))
    });
    let tools: HashMap<(u64, &str), &str> = tools.collect();
    let made = records.iter().filter_map(|record| {
        let parent = record.parent.as_deref()?;
        is_made_by_tool(record).then_some(())?;
        Some((record.run, parent, record.outcome.as_str()))
    });
    let made: HashSet<(u64, &str, &str)> = if all { HashSet::new() } else { made.collect() };
    let is_left_out = move |record: &ActivityRecord| {
        let call = record.call.as_deref().filter(|_| calls_one(record));
        call.is_some_and(|call| made.contains(&(record.run, call, record.outcome.as_str())))
    };
    let shown = records.iter().filter(move |record| !is_left_out(record));
    shown.map(move |record| {
        let parent = record.parent.as_deref();
        let through = parent.and_then(|parent| tools.get(&(record.run, parent)).copied());
        ShownRecord { record, through }
    })
}

/// Whether the record is of `call_tool` or one of its variants.
fn calls_one(record: &ActivityRecord) -> bool {
    let tool = record.tool.as_ref().filter(|_| record.server.is_none());
    tool.is_some_and(|tool| tool.starts_with(CALLS_ONE))
}

/// Whether a built-in tool made the call.
fn is_made_by_tool(record: &ActivityRecord) -> bool {
    record.parent.is_some() && record.server.is_some() && record.tool.is_some()
}

pub(super) fn row(shown: ShownRecord<'_>, today: &str) -> [String; 6] {
    let record = shown.record;
    let absent = || "-".to_owned();
    let outcome = match (&record.code, record.outcome.as_str()) {
        (Some(code), "refused" | "failed") => code.clone(),
        // The number of a JSON-RPC error says less than the word.
        (Some(code), "invalid") if !code.starts_with('-') => code.clone(),
        (_, outcome) => outcome.to_owned(),
    };
    [
        record.id.to_string(),
        time(&record.time, today),
        who(record).unwrap_or_else(absent),
        output::shortened(&what(shown)),
        outcome,
        record.duration_us.map_or_else(absent, took),
    ]
}

/// The caller. An anonymous one is shown with its client's name.
fn who(record: &ActivityRecord) -> Option<String> {
    let caller = record.caller.as_deref()?;
    match &record.client {
        Some(client) if caller == ANONYMOUS => Some(output::shortened(&format!(
            "{caller} ({})",
            program(client)
        ))),
        _ => Some(caller.to_owned()),
    }
}

/// `20:44:19` of today, `11-20 20:44` of this year, and otherwise the date.
pub(super) fn time(time: &str, today: &str) -> String {
    const YEAR: usize = "2026-".len();
    let (date, in_day) = time.split_once('T').unwrap_or((time, ""));
    let this_year = today.get(..YEAR).unwrap_or(today);
    if today.starts_with(date) {
        in_day.split('.').next().unwrap_or_default().to_owned()
    } else if let Some(day) = date.strip_prefix(this_year) {
        format!("{day} {}", in_day.get(..5).unwrap_or_default())
    } else {
        date.to_owned()
    }
}

/// The action or method of a record, and the things that it is about.
pub(super) fn what(ShownRecord { record, through }: ShownRecord<'_>) -> String {
    let method = record.method.as_deref();
    // Why a server failed is the news of its record.
    let error = record.error.as_deref().filter(|_| record.kind == "server");
    let (detail, endpoint) = match method {
        None => (
            record.detail.as_deref().or(error),
            record.endpoint.as_deref(),
        ),
        Some(_) => (None, None),
    };
    let kind = match record.kind.as_str() {
        "call" => None,
        kind => Some(kind),
    };
    let thing = record.thing().map(|thing| {
        if is_made_by_tool(record) {
            let declared = record.variant.as_ref();
            let declared = declared.map(|variant| format!("{CALLS_ONE}_{variant}"));
            return match declared.as_deref().or(through) {
                Some(tool) => format!("{tool} → {thing}"),
                None => format!("→ {thing}"),
            };
        }
        match target(record) {
            Some(target) => format!("{thing} → {target}"),
            None => thing,
        }
    });
    let times = record.times.filter(|times| *times > 1);
    let times = times.map(|times| format!("({times} times)"));
    let parts = [
        kind,
        record.action.as_deref(),
        method.filter(|method| *method != "tools/call"),
        thing.as_deref(),
        detail,
        endpoint,
        times.as_deref(),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    parts.join(" ")
}

/// The tool that a call of `call_tool` names in its arguments, if those are kept.
fn target(record: &ActivityRecord) -> Option<String> {
    let arguments = record.arguments.as_ref().filter(|_| calls_one(record))?;
    let text = |key| arguments.get(key).and_then(|text| text.string());
    let apart = || Some(format!("{}:{}", text("server")?, text("tool")?));
    text("name").or_else(apart)
}

pub(super) fn took(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros}µs"),
        1_000..1_000_000 => format!("{}ms", micros / 1_000),
        _ => format!("{}.{}s", micros / 1_000_000, micros / 100_000 % 10),
    }
}

//! What a tool does to the world where its server does not say: the person's `tool_acl` first, then what its words say. Pure; decides
//! nothing.

use crate::{
    catalog::Tool,
    config::{ServerEntry, ToolClass},
    trust::scanner::WordedEffect,
};

/// mcpproxy's own classification of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// A person says that it only looks.
    Reads,
    /// It surely changes something.
    Writes,
    /// It surely deletes something.
    Deletes,
    /// It runs what it is given, and that may be anything: what its server says counts, unless that is that it only looks.
    Executes,
    /// It may be anything.
    Unsure,
}

/// Our own classification.
pub fn effect(entry: Option<&ServerEntry>, tool: &Tool) -> Effect {
    match entry.and_then(|entry| entry.tool_acl.class(&tool.name)) {
        Some(ToolClass::Read) => return Effect::Reads,
        Some(ToolClass::Write) => return Effect::Writes,
        Some(ToolClass::Destructive) => return Effect::Deletes,
        None => (),
    }
    match tool.worded_effect() {
        WordedEffect::Writes => Effect::Writes,
        WordedEffect::Deletes => Effect::Deletes,
        WordedEffect::Executes => Effect::Executes,
        WordedEffect::Unsure => Effect::Unsure,
    }
}

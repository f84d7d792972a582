//! The ways in through scripts.

use super::ways::{House, Outcome, Way, refused};
use crate::support::prelude::*;

impl House {
    /// What a script sees of its call.
    pub(super) async fn script_call(&self, way: Way, server: &str, tool: &str) -> Outcome {
        let code = match way {
            Way::ScriptBatch => "call_tools([input])[0].error?.reason ?? 'passed'",
            _ => "call_tool(input.server, input.tool).error?.reason ?? 'passed'",
        };
        let arguments = json!({
            "code": code,
            "input": { "server": server, "tool": tool },
            "options": { "allow_destructive": true },
        });
        let answer = if way == Way::ScriptRest {
            let answer = self.daemon.rest("POST", "/api/v1/code", &arguments);
            answer.await.json()
        } else {
            let reply = self.all.call("code_execution", &arguments).await;
            reply.value()["structuredContent"].clone()
        };
        match answer["value"].as_str() {
            Some("passed") => Outcome::Passed,
            Some(reason) => refused(reason),
            None => panic!("{way:?}: {answer}"),
        }
    }
}

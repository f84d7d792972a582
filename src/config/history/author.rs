//! The author of the changes that the current task makes. Set where a request arrives, and read where the file is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::OPERATOR;

tokio::task_local! {
    static AUTHOR: ChangeAuthor;
}

/// Who changes the configuration, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ChangeAuthor {
    /// `operator`, or the name of an agent's caller.
    pub by: String,
    /// How the change was made.
    pub way: ChangeWay,
}

/// How the configuration was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ChangeWay {
    /// A command.
    Terminal,
    /// The web UI.
    Page,
    /// A program with the API key.
    Rest,
    /// An agent, by a tool.
    Agent,
    /// Any other program that writes the file.
    File,
}

impl ChangeAuthor {
    /// The operator, by this way.
    pub fn operator(way: ChangeWay) -> Self {
        Self {
            by: OPERATOR.to_owned(),
            way,
        }
    }

    /// An agent whose caller has this subject.
    pub fn agent(subject: &str) -> Self {
        Self {
            by: subject.to_owned(),
            way: ChangeWay::Agent,
        }
    }

    /// The author of the current task; the operator at a terminal where none was set.
    pub fn of_this_task() -> Self {
        let author = AUTHOR.try_with(Clone::clone);
        author.unwrap_or_else(|_| Self::operator(ChangeWay::Terminal))
    }

    /// Runs `work`, whose changes are by this author.
    pub async fn during<T>(self, work: impl Future<Output = T>) -> T {
        AUTHOR.scope(self, work).await
    }
}

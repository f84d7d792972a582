//! The definitions of a server that are left out because they cannot be read, and why. For operators only, because the reasons have words
//! of the server.

use serde::{Deserialize, Serialize};

use crate::{
    catalog::ServerCatalog,
    text::{count, secret::Secrets},
};

/// How many reasons are shown. The log of the daemon has more.
const SHOWN: usize = 3;

/// Characters of a reason, in which names of the server stand.
const LONGEST: usize = 300;

/// What to do about definitions that are left out.
pub const LEFT_OUT_STEP: &str = "report this to the server's authors";

/// Definitions that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeftOut {
    /// The number of definitions.
    pub count: usize,
    /// The first reasons.
    pub why: Vec<String>,
}

impl LeftOut {
    /// The definitions that were left out of these lists, if there are any.
    pub fn of(listed: &ServerCatalog, secrets: &Secrets) -> Option<Self> {
        let left_out = listed.problems.iter().filter(|problem| problem.is_left_out);
        let count = left_out.clone().count();
        let why = left_out.take(SHOWN);
        let why = why.map(|problem| {
            let problem = problem.to_string();
            let why = secrets.redacted(&problem);
            why.chars().take(LONGEST).collect()
        });
        (count > 0).then(|| Self {
            count,
            why: why.collect(),
        })
    }

    /// `1 left out`.
    pub fn short(&self) -> String {
        format!("{} left out", self.count)
    }
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let definitions = count(self.count, "definition");
        write!(f, "{definitions} left out: {}", self.why.join("; "))?;
        match self.count.saturating_sub(self.why.len()) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LeftOut;

    #[test]
    fn it_is_said_how_many_and_why() {
        let said = |count: usize, why: &[&str]| {
            let why = why.iter().map(|&why| why.to_owned()).collect();
            LeftOut { count, why }.to_string()
        };
        assert_eq!(said(1, &["a"]), "1 definition left out: a");
        let many = "7 definitions left out: a; b; and 5 more";
        assert_eq!(said(7, &["a", "b"]), many);
    }
}

//! Which of the running processes belong to a child: the members of its group, and those that have its mark in their environment, whatever
//! their group and session.

use std::collections::HashMap;

use super::{
    ledger::MARK,
    process_table::{self, Seen},
};

/// The living processes of this group or with this mark. Blocks for some milliseconds.
pub(super) fn living(group: Option<u32>, mark: Option<&str>) -> Vec<Seen> {
    let running = process_table::all();
    let (mut members, others): (Vec<Seen>, Vec<Seen>) = running
        .into_iter()
        .filter(|process| process.living)
        .partition(|process| Some(process.group) == group);
    if let Some(mark) = mark {
        let marks = process_table::values_of(MARK, &others.iter().collect::<Vec<_>>());
        let is_marked = |process: &Seen| marks.get(&process.pid).is_some_and(|found| found == mark);
        members.extend(others.into_iter().filter(is_marked));
    }
    members
}

/// The running processes of one moment, with their marks.
pub(super) struct Running {
    /// Zombies too.
    pub(super) processes: Vec<Seen>,
    marks: HashMap<u32, String>,
}

impl Running {
    /// Looks at every process that we may see. Blocks for some milliseconds.
    pub(super) fn look() -> Self {
        let processes = process_table::all();
        let living: Vec<&Seen> = processes.iter().filter(|process| process.living).collect();
        let marks = process_table::values_of(MARK, &living);
        Self { processes, marks }
    }

    /// Whether that process has this mark in its environment.
    pub(super) fn bears(&self, process: &Seen, mark: &str) -> bool {
        self.marks
            .get(&process.pid)
            .is_some_and(|found| found == mark)
    }
}

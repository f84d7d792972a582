//! What every task stands on: locks that survive a panic, wakes, long computations, a budget of memory, tables that each call looks into,
//! waits without end.

pub mod accepting;
pub mod long_work;
pub mod memory_budget;
pub mod quick_map;
pub mod self_wakes;
pub mod sync;
pub mod text_index;
pub mod waits;

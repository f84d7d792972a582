//! Tables that every call looks something up in. Their hash is quicker than the standard library's by a multiple, seeded at random for
//! each process, but not made to withstand somebody who watches how long things take for hours: so it is for keys that are ours, or of
//! which a stranger can have only so many.

use std::collections::HashMap;

/// The hash.
pub type QuickHash = foldhash::fast::RandomState;

/// A table with it.
pub type QuickMap<K, V> = HashMap<K, V, QuickHash>;

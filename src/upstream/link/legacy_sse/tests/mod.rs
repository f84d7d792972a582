//! The link against a hand-written server that does what servers do on good and bad days.

//! The Target trait, its conformance suite and the in-memory target

//! The state machine of accept and hold

//! Messages to receivers on loopback that fail and recover.

mod delivering;
mod receiver;

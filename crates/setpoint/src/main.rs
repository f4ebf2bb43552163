//! The binary.

use std::process::ExitCode;

/// How the allocator keeps house: few pools, because few threads work at a time, and a second until
/// what is free is given back. It asks for this by name when it starts.
#[expect(unsafe_code, reason = "a symbol that the allocator looks for; nothing else has its name")]
#[unsafe(export_name = "_rjem_malloc_conf")]
static HOUSEKEEPING: &[u8] = b"narenas:2,dirty_decay_ms:1000,muzzy_decay_ms:0\0";

fn main() -> ExitCode {
    setpoint::run()
}

//! The binary.

use std::process::ExitCode;

/// The settings of the allocator: few arenas, because few threads work at a time, and one second
/// until free memory is returned. The allocator reads this symbol by name when it starts.
#[expect(unsafe_code, reason = "a symbol that the allocator looks for; nothing else has its name")]
#[unsafe(export_name = "_rjem_malloc_conf")]
static HOUSEKEEPING: &[u8] = b"narenas:2,dirty_decay_ms:1000,muzzy_decay_ms:0\0";

fn main() -> ExitCode {
    setpoint::run()
}

//! How long the program may run and how much it may use, and the part of it that the kernel holds
//! it to.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What one render may take. Going over any of it ends the render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// By the clock on the wall.
    pub time: Duration,
    /// Bytes of memory that can be written to. A program in Go takes 100 MB to begin with, most of
    /// which it never touches.
    pub memory: u64,
    /// Bytes on standard output.
    pub output: usize,
    /// Bytes on standard error.
    pub errors: usize,
    /// Descriptors open at once.
    pub files: u64,
    /// Threads at once. Other processes there are none.
    pub threads: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            memory: 1 << 30,
            output: 64 << 20,
            errors: 256 << 10,
            files: 256,
            threads: 512,
        }
    }
}

/// Address space beyond what may be written to. Go reserves far more than it uses, so this is wide;
/// it bounds what page tables of memory that is only read can take, which no other limit counts.
const RESERVED: u64 = 16 << 30;

/// The limit of a stack, which no limit on data counts.
const STACK: u64 = 8 << 20;

/// Sets the limits of this process and of what it becomes.
///
/// `RLIMIT_AS` alone does not suit Go, which reserves address space by the gigabyte. `RLIMIT_DATA`
/// counts private writable memory, which is what a heap is made of; what it does not count (shared
/// mappings, mappings that grow as stacks do, files in memory) `calls` refuses. `RLIMIT_NPROC`
/// counts all processes of a user, and none of root's: threads are counted by whoever watches.
pub(crate) fn impose(limits: &Limits) -> io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    for (resource, limit) in [
        (Resource::As, limits.memory.saturating_add(RESERVED)),
        (Resource::Data, limits.memory),
        (Resource::Stack, STACK),
        (Resource::Nofile, limits.files),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
        // Should the one who watches be killed, this ends what it would have ended.
        (Resource::Cpu, limits.time.as_secs().saturating_add(1).saturating_mul(cores)),
    ] {
        let ceiling = getrlimit(resource).maximum.map_or(limit, |ceiling| ceiling.min(limit));
        setrlimit(resource, Rlimit { current: Some(ceiling), maximum: Some(ceiling) })?;
    }
    Ok(())
}

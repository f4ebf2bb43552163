//! The limits on the program's time and resources, and the part of them that the kernel enforces.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limits of one render. Exceeding any of them ends the render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The elapsed time.
    pub time: Duration,
    /// The bytes of writable memory. A Go program reserves 100 MB at its start, most of which it
    /// never touches.
    pub memory: u64,
    /// The bytes on standard output.
    pub output: usize,
    /// The bytes on standard error.
    pub errors: usize,
    /// The descriptors open at once.
    pub files: u64,
    /// The threads at once. There are no other processes.
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

/// The address space in addition to writable memory. Go reserves far more than it uses, so this is
/// wide. It bounds the page tables of read-only memory, which no other limit counts.
const RESERVED: u64 = 16 << 30;

/// The limit of a stack, which no limit on data counts.
const STACK: u64 = 8 << 20;

/// Sets the limits of this process and of the program it becomes.
///
/// `RLIMIT_AS` alone does not suit Go, which reserves gigabytes of address space. `RLIMIT_DATA`
/// counts private writable memory, which heaps consist of. It does not count shared mappings,
/// mappings that grow like stacks, and files in memory; `calls` refuses these. `RLIMIT_NPROC`
/// counts all processes of a user, and none of root's: the watching process counts threads instead.
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
        // If the watching process is killed, this still ends the program.
        (Resource::Cpu, limits.time.as_secs().saturating_add(1).saturating_mul(cores)),
    ] {
        let ceiling = getrlimit(resource).maximum.map_or(limit, |ceiling| ceiling.min(limit));
        setrlimit(resource, Rlimit { current: Some(ceiling), maximum: Some(ceiling) })?;
    }
    Ok(())
}

//! Seccomp: the system calls that this process and the program it becomes can still make.
//!
//! This is a list of allowed calls. A list of forbidden calls would be complete only until the
//! kernel's next release: `io_uring` bypassed every rule about sockets, and the 32-bit numbers of
//! x86-64 are another bypass. A Go program without network and children needs few calls, and they
//! change rarely. A call missing here fails with `EPERM`, and a test with a real kustomize reveals
//! it.
//!
//! There are three filters, and the strictest result counts. Calls that only an attacker makes end
//! the program (`HOSTILE`). Calls that a program tries first and can do without fail as on an older
//! kernel (`UNKNOWN`). All calls that are not on the list are refused.
//!
//! `execve` stays allowed, because the program has yet to be started, and a filter cannot count. It
//! is of no use to an attacker: Landlock allows no file to be executed, another file in memory
//! cannot be created (`memfd_create`), and the only process to call it in is the program's own,
//! which would restart itself.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Is, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// The calls of Go's runtime, of its files and of a C library's start, with any arguments.
const ALLOWED: &[libc::c_long] = &[
    // Files: Landlock decides which ones may be opened. `fcntl` is below.
    libc::SYS_openat,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    // Waiting for files.
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    // Memory; `mmap` is below.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mincore,
    // Threads and signals of its own; `clone` and `tgkill` are below.
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Time, random numbers and identity.
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_uname,
    libc::SYS_execve,
    // The location of threads on x86-64.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
];

/// Calls that lead out of a sandbox, or into another process or the kernel. No program makes them
/// by mistake.
const HOSTILE: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
];

/// Calls whose arguments a filter cannot read, and which have an older alternative that it can
/// filter.
const UNKNOWN: &[libc::c_long] = &[libc::SYS_clone3];

/// A new thread, without a new process or namespace.
const THREAD: u64 = libc::CLONE_THREAD as u64;
const NEW_SPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// Memory that `RLIMIT_DATA` counts: private, and not growing like a stack.
const PRIVATE: u64 = libc::MAP_PRIVATE as u64;
const KINDS: u64 = (libc::MAP_TYPE | libc::MAP_GROWSDOWN | libc::MAP_HUGETLB) as u64;

/// The allowed operations on a descriptor. One of the others sets the receiver of signals about the
/// descriptor, which would be a way to end other processes.
const OF_DESCRIPTORS: [libc::c_int; 6] =
    [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL];

/// Drops every other call permanently.
pub(crate) fn give_up() -> io::Result<()> {
    let this = u64::from(std::process::id());
    let refused = u32::try_from(libc::EPERM).unwrap_or(1);
    let unknown = u32::try_from(libc::ENOSYS).unwrap_or(refused);
    // The last filter allows neither `seccomp` nor `prctl`.
    for (rules, others, these) in [
        (all(HOSTILE), SeccompAction::Allow, SeccompAction::KillProcess),
        (all(UNKNOWN), SeccompAction::Allow, SeccompAction::Errno(unknown)),
        (allowed(this)?, SeccompAction::Errno(refused), SeccompAction::Allow),
    ] {
        let filter = SeccompFilter::new(rules, others, these, architecture()?).map_err(unusable)?;
        let program = BpfProgram::try_from(filter).map_err(unusable)?;
        seccompiler::apply_filter(&program).map_err(unusable)?;
    }
    Ok(())
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn all(calls: &[libc::c_long]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

fn allowed(this: u64) -> io::Result<Rules> {
    let mut rules = all(ALLOWED);
    // The filter for `UNKNOWN` answers these calls.
    rules.extend(all(UNKNOWN));
    rules.insert(libc::SYS_clone, vec![rule(0, Width::Qword, Is::MaskedEq(THREAD | NEW_SPACES), THREAD)?]);
    rules.insert(libc::SYS_mmap, vec![rule(3, Width::Qword, Is::MaskedEq(KINDS), PRIVATE)?]);
    let asked = OF_DESCRIPTORS.iter().map(|command| rule(1, Width::Dword, Is::Eq, *command as u64));
    rules.insert(libc::SYS_fcntl, asked.collect::<io::Result<_>>()?);
    // Go interrupts its own threads by signals, and reads its own limits. Both are allowed only for
    // itself.
    rules.insert(libc::SYS_tgkill, vec![rule(0, Width::Dword, Is::Eq, this)?]);
    rules.insert(libc::SYS_prlimit64, vec![rule(0, Width::Dword, Is::Eq, 0)?, rule(0, Width::Dword, Is::Eq, this)?]);
    Ok(rules)
}

/// Builds the condition for one argument of a call. Where the kernel reads an argument as 32 bits,
/// the upper ones are ignored.
fn rule(argument: u8, width: Width, is: Is, value: u64) -> io::Result<SeccompRule> {
    let condition = SeccompCondition::new(argument, width, is, value).map_err(unusable)?;
    SeccompRule::new(vec![condition]).map_err(unusable)
}

fn architecture() -> io::Result<TargetArch> {
    TargetArch::try_from(std::env::consts::ARCH).map_err(unusable)
}

fn unusable(error: impl std::fmt::Display) -> io::Error {
    let text =
        format!("system calls cannot be filtered ({error}); use a kernel with seccomp filters on x86-64 or arm64");
    io::Error::new(io::ErrorKind::Unsupported, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_both_allowed_and_hostile() {
        let allowed = allowed(1).unwrap();
        assert!(HOSTILE.iter().all(|call| !allowed.contains_key(call)));
    }

    #[test]
    fn sockets_processes_and_files_in_memory_are_not_on_the_list() {
        let allowed = allowed(1).unwrap();
        for call in [
            libc::SYS_socket,
            libc::SYS_connect,
            libc::SYS_socketpair,
            libc::SYS_kill,
            libc::SYS_memfd_create,
            libc::SYS_execveat,
        ] {
            assert!(!allowed.contains_key(&call), "{call}");
        }
    }
}

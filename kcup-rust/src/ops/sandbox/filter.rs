//! The system calls that the sandbox allows: conformance/vectors/system_calls.toml, which a test compares.

use std::collections::BTreeMap;
use std::mem::offset_of;
use std::{io, process};

use libc::*;
use rustix::thread::set_no_new_privs;

/// A condition under which a call is allowed: this argument (from 0) masked with the second number equals the third.
type Where = (u32, u32, u32);

/// The calls that are allowed with any arguments.
#[rustfmt::skip]
const WHOLE: &[c_long] = &[
    // What is open: files, connections, memory files.
    SYS_read, SYS_write, SYS_writev, SYS_pread64, SYS_lseek, SYS_close, SYS_fstat, SYS_getdents64, SYS_sendfile,
    SYS_memfd_create, SYS_ftruncate,
    // Paths, which Landlock judges.
    SYS_newfstatat, SYS_statx,
    // Connections.
    SYS_accept4, SYS_recvfrom, SYS_shutdown, SYS_getsockname, SYS_getpeername, SYS_getsockopt, SYS_setsockopt,
    // Events.
    SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_ppoll,
    // Memory.
    SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk,
    // Threads.
    SYS_futex, SYS_set_robust_list, SYS_rseq, SYS_sched_yield, SYS_sched_getaffinity, SYS_getpid, SYS_gettid, SYS_exit,
    SYS_exit_group,
    // Signals that come.
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
    // Clocks, chance and limits.
    SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep, SYS_getrandom, SYS_getrlimit,
    #[cfg(target_arch = "x86_64")] SYS_stat,
    #[cfg(target_arch = "x86_64")] SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")] SYS_poll,
];

const ALL: u32 = u32::MAX;
const WRITING: u32 = (O_ACCMODE | O_CREAT | O_TRUNC) as u32;

/// The calls that are allowed with some arguments.
#[rustfmt::skip]
fn parts(tls: bool) -> Vec<(c_long, Where)> {
    let mut parts = vec![
        #[cfg(target_arch = "x86_64")] (SYS_open, (1, WRITING, 0)),
        (SYS_openat, (2, WRITING, 0)),
        (SYS_sendto, (5, ALL, 0)), // the length of an address
        (SYS_mmap, (2, PROT_EXEC as u32, 0)),
        (SYS_mprotect, (2, PROT_EXEC as u32, 0)),
        (SYS_clone, (0, CLONE_THREAD as u32, CLONE_THREAD as u32)),
        (SYS_tgkill, (0, ALL, process::id())),
        (SYS_prlimit64, (0, ALL, 0)),
        (SYS_prctl, (0, ALL, PR_SET_NAME as u32)),
        (SYS_fcntl, (1, !7, 0)), // F_DUPFD to F_SETLKW
        (SYS_fcntl, (1, ALL, F_DUPFD_CLOEXEC as u32)),
        (SYS_fcntl, (1, ALL, F_ADD_SEALS as u32)),
        (SYS_ioctl, (1, ALL, TIOCOUTQ as u32)),
        (SYS_ioctl, (1, ALL, FIONREAD as u32)),
    ];
    parts.extend(tls.then_some((SYS_socketpair, (0, ALL, AF_UNIX as u32))));
    parts
}

/// Restricts this thread, and those that it starts from now on, to the calls above. Sets `no_new_privs`, which is required.
pub fn enter(tls: bool) -> io::Result<()> {
    set_no_new_privs(true)?;
    let mut program = program(tls);
    let program = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // Before Linux 5.16 a filter would turn mitigations on that protect from untrusted code; there is none here.
    let flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    // SAFETY: the kernel copies the program, which lives until then.
    let done = unsafe { syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xC000_00B7;
const REFUSE: u32 = SECCOMP_RET_ERRNO | ENOSYS as u32;
/// The number of calls that are compared one after the other. The kernel runs a new filter for every call there is.
const FEW: usize = 8;

/// The filter as a program of the kernel's BPF. Other calls fail with ENOSYS: a runtime then falls back to an older call,
/// which it would not after EPERM.
fn program(tls: bool) -> Vec<sock_filter> {
    let mut program = vec![
        load(offset_of!(seccomp_data, arch)),
        skip(BPF_JEQ, AUDIT_ARCH, 1, 0),
        end(SECCOMP_RET_KILL_PROCESS),
        load(offset_of!(seccomp_data, nr)),
    ];
    let calls = Vec::from_iter(calls(tls));
    for few in calls.chunks(FEW) {
        let guard = program.len();
        program.push(skip(BPF_JGT, few[few.len() - 1].0, 0, 0));
        few.iter().for_each(|(call, parts)| judge(&mut program, *call, parts));
        program.push(end(REFUSE));
        program[guard].jt = (program.len() - guard - 1) as u8;
    }
    program.push(end(REFUSE));
    program
}

/// The allowed calls by number; each without conditions unless it has a `Where`.
fn calls(tls: bool) -> BTreeMap<u32, Vec<Where>> {
    let mut calls: BTreeMap<_, Vec<_>> = WHOLE.iter().map(|call| (*call as u32, Vec::new())).collect();
    for (call, part) in parts(tls) {
        calls.entry(call as u32).or_default().push(part);
    }
    calls
}

/// Adds the instructions that decide on this call, and go on for others.
fn judge(program: &mut Vec<sock_filter>, call: u32, parts: &[Where]) {
    let guard = program.len();
    program.push(skip(BPF_JEQ, call, 0, 0));
    for &(argument, mask, value) in parts {
        // The low half of 64 bits.
        program.push(load(offset_of!(seccomp_data, args) + 8 * argument as usize));
        program.push(code(BPF_ALU | BPF_AND, mask));
        program.push(skip(BPF_JEQ, value, 0, 1));
        program.push(end(SECCOMP_RET_ALLOW));
    }
    program.push(end(if parts.is_empty() { SECCOMP_RET_ALLOW } else { REFUSE }));
    program[guard].jf = (program.len() - guard - 1) as u8;
}

fn load(at: usize) -> sock_filter {
    code(BPF_LD | BPF_W | BPF_ABS, at as u32)
}

fn end(how: u32) -> sock_filter {
    code(BPF_RET, how)
}

fn skip(compare: u32, value: u32, if_so: u8, if_not: u8) -> sock_filter {
    sock_filter { jt: if_so, jf: if_not, ..code(BPF_JMP | compare, value) }
}

fn code(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;
    use serde::Deserialize;
    use std::thread;

    #[derive(Deserialize)]
    struct Vectors {
        call: Vec<Row>,
    }

    #[derive(Deserialize)]
    struct Row {
        x86_64: Option<u32>,
        aarch64: Option<u32>,
        argument: Option<u32>,
        mask: Option<u32>,
        value: Option<u32>,
        #[serde(default)]
        tls: bool,
    }

    #[test]
    fn what_is_left_is_what_the_vectors_say() {
        for tls in [false, true] {
            assert_eq!(calls(tls), listed(tls));
        }
    }

    fn listed(tls: bool) -> BTreeMap<u32, Vec<Where>> {
        let mut vectors = BTreeMap::<_, Vec<_>>::new();
        for row in conformance::file::<Vectors>("system_calls").call {
            if row.tls && !tls {
                continue;
            }
            let Some(number) = (if cfg!(target_arch = "x86_64") { row.x86_64 } else { row.aarch64 }) else {
                continue;
            };
            let part = row.argument.zip(row.mask).map(|(a, m)| (a, m, row.value.unwrap_or_else(process::id)));
            vectors.entry(number).or_default().extend(part);
        }
        vectors
    }

    /// Whether a call is not there. These arguments do nothing where it is.
    fn is_missing(call: u32, argument: u32, value: u32) -> bool {
        let mut a = [-1; 6];
        a[argument as usize] = c_long::from(value);
        // SAFETY: no descriptor, address or length is valid, and a call without arguments changes nothing for long.
        let done = unsafe { syscall(c_long::from(call), a[0], a[1], a[2], a[3], a[4], a[5]) };
        done < 0 && io::Error::last_os_error().raw_os_error() == Some(ENOSYS)
    }

    /// Threads can be sealed one by one, so the other tests are not.
    fn sealed(inside: impl FnOnce() + Send + 'static) {
        let thread = thread::spawn(|| {
            enter(false).unwrap();
            inside();
        });
        thread.join().unwrap();
    }

    #[test]
    fn no_call_is_there_that_is_not_left() {
        sealed(|| {
            let left = calls(false);
            // x86_64's uretprobe and uprobe are the kernel's own: it lets them past any filter, and kills us.
            let others = (0..1024).filter(|call| !left.contains_key(call) && ![335, 336].contains(call));
            for call in others {
                assert!(is_missing(call, 0, ALL), "{call}");
            }
            for (call, (argument, mask, value)) in parts(false) {
                assert!(is_missing(call as u32, argument, value ^ mask), "{call}");
            }
        });
    }

    #[test]
    fn every_call_is_there_that_is_left() {
        // Three never return, and one calls what it does not know ENOSYS itself.
        let untold = [SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_futex];
        sealed(move || {
            for &call in WHOLE.iter().filter(|call| !untold.contains(call)) {
                assert!(!is_missing(call as u32, 0, ALL), "{call}");
            }
            for (call, (argument, _, value)) in parts(false) {
                assert!(!is_missing(call as u32, argument, value), "{call}");
            }
        });
    }
}

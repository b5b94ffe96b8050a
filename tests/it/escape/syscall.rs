//! System calls that no safe crate offers, because nobody but an intruder wants them.

#![expect(unsafe_code, reason = "a probe asks the kernel for what it must not get")]

use std::io;

/// Makes one call with up to six arguments; pointers travel as numbers.
pub(super) fn call<const COUNT: usize>(number: libc::c_long, arguments: [usize; COUNT]) -> io::Result<i64> {
    let [a, b, c, d, e, f] = std::array::from_fn(|at| arguments.get(at).copied().unwrap_or(0));
    // SAFETY: the probes pass pointers to values that outlive the call, or null.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Clones this process with flags that a thread library would not use. The clone ends at once.
pub(super) fn clone(flags: i32) -> io::Result<()> {
    let child = call(libc::SYS_clone, [(flags | libc::SIGCHLD) as usize])?;
    if child == 0 {
        // SAFETY: only ends the process; nothing of the parent's state is touched.
        unsafe { libc::_exit(0) }
    }
    Ok(())
}

/// Asks for the process id by the old gate, which knows other numbers for all calls.
#[cfg(target_arch = "x86_64")]
pub(super) fn i386_getpid() -> i64 {
    let answer: i64;
    // SAFETY: `getpid` reads and writes no memory; the gate clobbers the listed registers at most.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("rax") 20_i64 => answer, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    answer
}

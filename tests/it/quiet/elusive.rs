//! Processes that are hard to stop: a chain whose links start the next one and end at once, one that waits in `vfork`, and
//! one that a timer continues.

#![expect(unsafe_code, reason = "the standard library starts no process that shares memory, and sets no timer")]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

const STACKS: u64 = 256;
const STACK: u64 = 16 * 1024;
/// They make a list of processes long, and so a look at it slow.
const DECOYS: u64 = 100;
const SHARED: libc::c_int = libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::SIGCHLD;

static COUNTER: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
static STACK_AREA: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// Counts its links in a file of the work tree, without end. Nobody waits for a link, so it is gone as soon as it ends.
pub(super) fn run_chain(tree: &Path) {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(tree.join("links")).unwrap();
    file.set_len(4096).unwrap();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let size = usize::try_from((STACKS + DECOYS + 1) * STACK).unwrap();
    // SAFETY: the mappings stay until the process ends; a chain has one link at a time, so two never share a stack.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        let map = |size, flags, file| {
            let both = libc::PROT_READ | libc::PROT_WRITE;
            let area = libc::mmap(ptr::null_mut(), size, both, libc::MAP_SHARED | flags, file, 0);
            assert_ne!(area, libc::MAP_FAILED);
            area
        };
        COUNTER.store(map(4096, 0, file.as_raw_fd()).cast(), Ordering::SeqCst);
        STACK_AREA.store(map(size, libc::MAP_ANONYMOUS, -1).cast(), Ordering::SeqCst);
        for number in 0..DECOYS {
            libc::clone(sleep_on, stack(STACKS + number), SHARED, ptr::null_mut());
        }
        libc::clone(start_next, stack(0), SHARED, ptr::null_mut());
    }
    loop {
        std::thread::park();
    }
}

fn stack(number: u64) -> *mut libc::c_void {
    let end = usize::try_from((number + 1) * STACK).unwrap();
    STACK_AREA.load(Ordering::Relaxed).wrapping_add(end).cast()
}

extern "C" fn sleep_on(_: *mut libc::c_void) -> libc::c_int {
    loop {
        // SAFETY: it waits for a signal.
        unsafe { libc::pause() };
    }
}

extern "C" fn start_next(_: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the counter is mapped before the first link starts. The next link has another stack than this one, and
    // nothing is unwound or dropped here.
    unsafe {
        let number = (*COUNTER.load(Ordering::Relaxed)).fetch_add(1, Ordering::Relaxed) + 1;
        libc::clone(start_next, stack(number % STACKS), SHARED, ptr::null_mut());
        libc::syscall(libc::SYS_exit, 0);
    }
    0
}

/// Waits for a child that shares its memory, and writes to the file `child` without end instead of executing a program.
pub(super) fn wait_in_vfork(tree: &Path) {
    let file = File::options().create(true).append(true).open(tree.join("child")).unwrap();
    let mut stack = vec![0_u128; usize::try_from(STACK).unwrap() / size_of::<u128>()];
    let shared = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child has a stack of its own, and the file stays open while this thread waits for it.
    unsafe {
        let file = ptr::without_provenance_mut(usize::try_from(file.as_raw_fd()).unwrap());
        libc::clone(append, stack.as_mut_ptr_range().end.cast(), shared, file);
    }
}

extern "C" fn append(file: *mut libc::c_void) -> libc::c_int {
    let Ok(file) = libc::c_int::try_from(file.addr()) else { return 1 };
    loop {
        // SAFETY: the byte is there, and the file is open.
        unsafe { libc::write(file, c"x".as_ptr().cast(), 1) };
        std::thread::yield_now();
    }
}

/// Makes the file `ready`, waits for the file `quiet`, although it is stopped, makes the file `ran` and is gone.
pub(super) fn wake_by_timer(tree: &Path) {
    // SAFETY: the structures are plain numbers, for which zeroes stand for nothing, and outlive the calls.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        (event.sigev_notify, event.sigev_signo) = (libc::SIGEV_SIGNAL, libc::SIGCONT);
        let mut timer = ptr::null_mut();
        assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer), 0);
        let often = libc::timespec { tv_sec: 0, tv_nsec: 300_000_000 };
        let times = libc::itimerspec { it_interval: often, it_value: often };
        assert_eq!(libc::timer_settime(timer, 0, &raw const times, ptr::null_mut()), 0);
    }
    std::fs::write(tree.join("ready"), "").unwrap();
    while !tree.join("quiet").exists() {}
    std::fs::write(tree.join("ran"), "").unwrap();
    std::process::exit(0);
}

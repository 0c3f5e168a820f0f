//! Many ask for the same at once, and some do not wait.

use super::here::{Folder, is_same, kernel, memory_only, nvrtc, slow};
use std::sync::{Arc, Barrier};
use std::time::Duration;
use windlass::Error;
use windlass::nvrtc::{Emit, Source};

#[test]
fn the_same_asked_for_at_once_is_compiled_once_whoever_asks_how() {
    if !nvrtc() {
        return;
    }
    // On a machine that has others to run it may be compiled before most have come to ask.
    let joined = [1, 4, 5, 6].into_iter().any(|n| ask_for_the_same_at_once(n) >= 6);
    assert!(joined, "hardly anybody joined");
}

/// How many joined the compilation that another began.
fn ask_for_the_same_at_once(n: u32) -> u64 {
    let compiler = memory_only();
    let start = Arc::new(Barrier::new(12));
    let threads: Vec<_> = (0..12)
        .map(|i| {
            let (compiler, start) = (compiler.clone(), start.clone());
            std::thread::spawn(move || {
                let program = slow(n, Emit::Ptx); // a program of its own, equal to the others
                start.wait();
                match i % 2 {
                    0 => compiler.compile(&program).unwrap(),
                    _ => compiler.compile_pending(&program).unwrap().await_result().unwrap(),
                }
            })
        })
        .collect();
    let images: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    assert!(images.iter().all(|image| is_same(image, &images[0])));
    let stats = compiler.stats();
    assert_eq!(stats.compiled, 1);
    assert_eq!(stats.joined + stats.memory_hits, 11, "{stats:?}");
    stats.joined
}

#[test]
fn a_failure_reaches_all_who_wait_for_it() {
    if !nvrtc() {
        return;
    }
    let compiler = memory_only();
    let bad = Source::new(slow(2, Emit::Ptx).source().to_owned() + "nonsense\n");
    let pendings: Vec<_> = (0..6).map(|_| compiler.compile_pending(&bad).unwrap()).collect();
    for pending in pendings {
        match pending.await_result() {
            Err(Error::Compile { log, .. }) => assert!(log.contains("(12): error"), "{log}"),
            other => panic!("{other:?}"),
        }
    }
    let stats = compiler.stats();
    assert_eq!((stats.failed + stats.joined, stats.compiled), (6, 0));
    assert!(stats.joined >= 1, "{stats:?}");
}

#[test]
fn a_pending_does_not_wait_and_comes_back_from_a_timeout() {
    if !nvrtc() {
        return;
    }
    let compiler = memory_only();
    compiler.version().unwrap();
    // The thread may be held up for as long as it takes to compile one.
    let (mut compiled, mut programs) = (0, [3, 7, 8, 9].into_iter().map(|n| slow(n, Emit::Cubin)));
    let (program, pending) = loop {
        let program = programs.next().expect("each was compiled before it was asked for, or in a millisecond");
        compiled += 1;
        let pending = compiler.compile_pending(&program).unwrap();
        if let Err(pending) = pending.await_timeout(Duration::from_millis(1)) {
            break (program, pending);
        }
    };
    let image = match pending.await_timeout(Duration::from_secs(300)) {
        Ok(answer) => answer.unwrap(),
        Err(pending) => panic!("{pending:?}"),
    };
    // What is in memory is there at once.
    let pending = compiler.compile_pending(&program).unwrap();
    assert!(pending.is_ready());
    assert!(is_same(&pending.await_timeout(Duration::ZERO).unwrap().unwrap(), &image));
    assert_eq!(compiler.stats().compiled, compiled);
}

#[test]
fn a_dropped_pending_still_fills_the_caches() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    let compiler = folder.compiler();
    drop(compiler.compile_pending(&kernel()).unwrap());
    compiler.compile(&kernel()).unwrap();
    let stats = compiler.stats();
    assert_eq!((stats.compiled, stats.disk_stored), (1, 1));
}

#[test]
fn different_programs_at_once_do_not_mix() {
    if !nvrtc() {
        return;
    }
    let compiler = memory_only();
    let program = |i: u32| Source::new(format!("extern \"C\" __global__ void k(int* x) {{ *x = {}; }}", 1000 + i));
    let threads: Vec<_> = (0..8u32)
        .map(|t| {
            let compiler = compiler.clone();
            std::thread::spawn(move || {
                for i in 0..16 {
                    let i = (i * 5 + t) % 16;
                    let image = compiler.compile(&program(i)).unwrap();
                    let wanted = format!(", {};", 1000 + i);
                    assert!(image.text().unwrap().contains(&wanted), "{wanted} {}", image.text().unwrap());
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let stats = compiler.stats();
    assert_eq!(stats.compiled, 16);
    assert_eq!(stats.memory_hits + stats.joined + stats.compiled, 128);
}

/// Deep templates need more stack than a thread of a pool has.
#[test]
fn a_thread_with_a_small_stack_may_compile() {
    if !nvrtc() {
        return;
    }
    let deep = Source::new(
        "template <int N> struct Deep { static __device__ int f(int x) { return Deep<N - 1>::f(x) + N; } };\n\
         template <> struct Deep<0> { static __device__ int f(int x) { return x; } };\n\
         extern \"C\" __global__ void k(int* x) { *x = Deep<190>::f(*x); }\n",
    );
    let small = std::thread::Builder::new().stack_size(128 << 10).spawn(move || memory_only().compile(&deep)).unwrap();
    assert!(small.join().unwrap().is_ok());
}

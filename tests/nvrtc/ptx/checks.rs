//! What the checks find, and that they find nothing where nothing is.

use super::Case;
use windlass::error::FindingKind;
use windlass::ptx::{Checks, Fault};

/// Sums a block's words in shared memory: eight rounds, a barrier before each and one at the end.
const TREE: &str = "
    add.u64 %x, %x, %at; ld.global.u64 %q1, [%x];
    mul.wide.u32 %q2, %t, 8; cvt.u32.u64 %r1, %q2; mov.u32 %r2, tree; add.u32 %r1, %r1, %r2;
    st.shared.u64 [%r1], %q1;
    mov.u32 %r3, 128;
ROUND:
    bar.sync 0;
    setp.ge.u32 %p1, %t, %r3;
    @%p1 bra NEXT;
    shl.b32 %r4, %r3, 3; add.u32 %r4, %r4, %r1;
    ld.shared.u64 %q3, [%r1]; ld.shared.u64 %q4, [%r4]; add.u64 %q3, %q3, %q4; st.shared.u64 [%r1], %q3;
NEXT:
    shr.u32 %r3, %r3, 1;
    setp.ne.u32 %p2, %r3, 0;
    @%p2 bra ROUND;
    bar.sync 0;
    ld.shared.u64 %q5, [tree];
    add.u64 %y, %y, %at; st.global.u64 [%y], %q5;";

fn tree(body: &str) -> Case {
    Case { head: ".shared .align 8 .b8 tree[2048];\n", block: 256, ..Case::new(body) }
}

#[test]
fn a_sum_in_shared_memory_is_clean_and_each_barrier_is_needed() {
    let (x, mut y) = ((0..256).collect::<Vec<u64>>(), vec![0u64; 256]);
    tree(TREE).run(&x, &mut y).unwrap();
    assert!(y.iter().all(|sum| *sum == 255 * 128));
    for nth in 0..2 {
        let (at, _) = TREE.match_indices("bar.sync 0;").nth(nth).unwrap();
        let mutant = format!("{}{}", &TREE[..at], &TREE[at + "bar.sync 0;".len()..]);
        // What comes too early is not ordered, or not written yet.
        let fault = tree(&mutant).run(&x, &mut y).unwrap_err();
        let Fault::Found(finding) = &fault else { panic!("{fault}") };
        assert!(
            matches!(finding.kind, FindingKind::Race | FindingKind::Uninitialised) && finding.detail.contains("`tree`"),
            "{fault}"
        );
    }
}

#[test]
fn accesses_outside_are_found_by_the_thread_that_makes_them() {
    let finding = Case { block: 64, ..Case::new("add.u64 %y, %y, %at; st.global.u64 [%y+1600], %at;") }.found();
    assert_eq!((finding.kind, finding.thread), (FindingKind::OutOfBounds, [56, 0, 0]), "{finding}");
    assert!(finding.detail.contains("2048 bytes after the start of y (2048 bytes)"), "{finding}");
    Case::new("ld.global.u64 %q1, [%x+-8];").finds(FindingKind::OutOfBounds, &["8 bytes before x", "read of 8 bytes"]);
    Case::new("ld.global.u64 %q1, [16];").finds(FindingKind::OutOfBounds, &["at 0x10"]);
    Case::new("ld.global.u32 %r1, [%x+2];").finds(FindingKind::Misaligned, &["4 bytes"]);
    Case::new("ld.global.v2.u64 {%q1, %q2}, [%x+8];").module().unwrap();
    Case::new("st.global.u64 [%x], %at;").finds(FindingKind::ReadOnly, &["byte 0 of x"]);
    Case { head: ".shared .u32 word;\n", ..Case::new("st.shared.u32 [word+4], %t;") }
        .finds(FindingKind::OutOfBounds, &["shared address 0x4", "there are 4 bytes"]);
    Case::new(".local .u32 own[2]; st.local.u32 [own+8], %t;").finds(FindingKind::OutOfBounds, &["local"]);
    // A generic address of shared memory is as far as that reaches.
    let generic = "mov.u64 %q1, word; cvta.shared.u64 %q2, %q1; st.u32 [%q2], %t; st.u32 [%q2+4], %t;";
    Case { head: ".shared .u32 word;\n", block: 1, ..Case::new(generic) }.finds(FindingKind::OutOfBounds, &["shared"]);
}

#[test]
fn memory_that_nothing_wrote_is_not_read() {
    let head = ".shared .align 8 .b8 room[512];\n";
    let read = "mul.wide.u32 %q2, %t, 8; mov.u64 %q3, room; add.u64 %q2, %q2, %q3; ld.shared.u64 %q4, [%q2];";
    Case { head, ..Case::new(read) }.finds(FindingKind::Uninitialised, &["byte 0 of `room`"]);
    let (x, mut y) = (vec![1; 256], vec![0; 256]);
    let unchecked = Case { head, checks: Checks::BOUNDS, ..Case::new(read) };
    unchecked.run(&x, &mut y).unwrap();
    // An output, and one that is not written whole.
    let own = "add.u64 %y, %y, %at; ld.global.u64 %q1, [%y];";
    Case { output: true, ..Case::new(own) }.finds(FindingKind::Uninitialised, &["byte 0 of y"]);
    Case::new(own).run(&x, &mut y).unwrap();
    Case { output: true, block: 128, ..Case::new("add.u64 %y, %y, %at; st.global.u64 [%y], %at;") }
        .finds(FindingKind::NotWritten, &["byte 1024 of y"]);
}

#[test]
fn races_are_found_in_global_memory_and_within_a_warp() {
    // Two blocks, two warps, two lanes.
    let write = "st.global.u64 [%y], %i;";
    Case { grid: 2, block: 1, ..Case::new(write) }.finds(FindingKind::Race, &["of y", "of block"]);
    Case { block: 64, ..Case::new("setp.eq.u32 %p1, %t, 5; @%p1 st.global.u64 [%y], %i; setp.eq.u32 %p2, %t, 40; @%p2 ld.global.u64 %q1, [%y];") }
        .finds(FindingKind::Race, &["written by thread [5, 0, 0]"]);
    let lanes = "setp.eq.u32 %p1, %t, 5; @%p1 st.global.u64 [%y], %i; BAR setp.eq.u32 %p2, %t, 9; @%p2 ld.global.u64 %q1, [%y];";
    Case::new(&lanes.replace("BAR", "")).finds(FindingKind::Race, &["thread [5, 0, 0]"]);
    let (x, mut y) = (vec![1; 256], vec![0; 256]);
    for ordered in ["bar.warp.sync 0xffffffff;", "bar.sync 0;"] {
        Case::new(&lanes.replace("BAR", ordered)).run(&x, &mut y).unwrap();
    }
    // A barrier of other lanes orders nothing.
    let others = "setp.gt.u32 %p3, %t, 15; @%p3 bra OFF; bar.warp.sync 0x0000fdff; OFF: ";
    let kept = "setp.eq.u32 %p4, %t, 9; @%p4 bra ON; BAR ON: ".replace("BAR", others);
    let fault = Case::new(&lanes.replace("BAR", &kept)).run(&x, &mut y);
    assert!(matches!(&fault, Err(Fault::Found(found)) if found.kind == FindingKind::Race), "{fault:?}");
    // The same value twice is no race; atomic additions are none.
    Case { grid: 4, ..Case::new("mov.u64 %q1, 7; st.global.u64 [%y], %q1;") }.run(&x, &mut y).unwrap();
    y[0] = 0;
    Case { grid: 4, ..Case::new("atom.global.add.u64 %q1, [%y], 3;") }.run(&x, &mut y).unwrap();
    assert_eq!(y[0], 4 * 32 * 3);
}

/// The last block to come adds up what the others left: ordered by fences and an atomic counter.
#[test]
fn a_fence_and_a_counter_order_blocks() {
    let body = "
        mul.wide.u32 %q1, %b, 8; add.u64 %q1, %q1, %y; add.u64 %q2, %i, 100;
        st.global.u64 [%q1+8], %q2;
        FENCE
        atom.global.add.u64 %q3, [%y], 1;
        setp.ne.u64 %p1, %q3, 7; @%p1 ret;
        mov.u64 %q4, 0; mov.u32 %r1, 0;
    SUM:
        mul.wide.u32 %q5, %r1, 8; add.u64 %q5, %q5, %y; ld.global.u64 %q6, [%q5+8]; add.u64 %q4, %q4, %q6;
        add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 8; @%p2 bra SUM;
        st.global.u64 [%y+80], %q4;";
    let (x, mut y) = (vec![1; 256], vec![0; 256]);
    Case { grid: 8, block: 1, ..Case::new(&body.replace("FENCE", "membar.gl;")) }.run(&x, &mut y).unwrap();
    assert_eq!(y[10], (0..8).map(|i| 100 + i).sum::<u64>());
}

#[test]
fn barriers_that_not_all_reach_are_found() {
    let half = "setp.lt.u32 %p1, %t, 32; @%p1 bra OVER; bar.sync 0; OVER: bar.sync 1;";
    Case { block: 64, ..Case::new(half) }.finds(FindingKind::Deadlock, &["threads of 64 wait for barrier"]);
    let lanes = "setp.lt.u32 %p1, %t, 7; @%p1 bra OVER; bar.sync 0; bra END; OVER: bar.sync 1; END:";
    Case::new(lanes).finds(FindingKind::Divergence, &["lanes 0x"]);
    let (x, mut y) = (vec![1; 256], vec![0; 256]);
    // Threads that have ended are not waited for.
    Case { block: 64, ..Case::new("setp.lt.u32 %p1, %t, 32; @%p1 ret; bar.sync 0;") }.run(&x, &mut y).unwrap();
    // Producers and consumers.
    let named = "setp.lt.u32 %p1, %t, 32; @%p1 bra PRODUCE; bar.sync 3, 64; bra END; PRODUCE: bar.arrive 3, 64; END:";
    Case { block: 64, ..Case::new(named) }.run(&x, &mut y).unwrap();
    Case::new("setp.lt.u32 %p1, %t, 7; @%p1 bra OVER; shfl.sync.idx.b32 %r1, %t, 0, 31, 0xffffffff; bra END; OVER: bar.sync 0; END:")
        .finds(FindingKind::Divergence, &["elsewhere"]);
    Case::new("setp.lt.u32 %p1, %t, 7; @%p1 ret; shfl.sync.idx.b32 %r1, %t, 3, 31, 0xffffffff;")
        .finds(FindingKind::InactiveLane, &["lane 3"]);
    Case::new("FOR: bra FOR;").module().unwrap();
    Case { checks: Checks { budget: 100_000, ..Checks::ALL }, ..Case::new("FOR: add.u32 %t, %t, 1; bra FOR;") }
        .finds(FindingKind::Budget, &["100000"]);
    Case::new("setp.eq.u32 %p1, %t, 9; @%p1 trap;").finds(FindingKind::Trap, &["thread (9, 0, 0)"]);
}

/// Lanes that wait for another lane of their warp get what they wait for, and so do blocks.
#[test]
fn locks_within_a_warp_and_between_blocks_end() {
    let body = "
    TRY:
        atom.global.cas.b64 %q1, [%y], 0, 1; setp.ne.u64 %p1, %q1, 0; @%p1 bra TRY;
        ld.volatile.global.u64 %q2, [%y+8]; add.u64 %q2, %q2, 1; st.volatile.global.u64 [%y+8], %q2;
        membar.gl; atom.global.exch.b64 %q3, [%y], 0;";
    let (x, mut y) = (vec![1; 256], vec![0; 256]);
    Case { grid: 3, ..Case::new(body) }.run(&x, &mut y).unwrap();
    assert_eq!(y[1], 96);
    // Every block waits for the last one.
    let all = "atom.global.add.u64 %q1, [%y+16], 1; WAIT: ld.acquire.gpu.global.u64 %q2, [%y+16]; setp.lt.u64 %p1, %q2, 64; @%p1 bra WAIT;";
    Case { grid: 64, block: 1, ..Case::new(all) }.run(&x, &mut y).unwrap();
}

/// A jump by a table: each thread takes the branch of its number; `@!%p` ones take none; a number beyond the table ends the kernel.
#[test]
fn a_jump_by_a_table_goes_where_it_says() {
    let body = "
        add.u64 %y, %y, %at; and.b32 %r1, %t, 3; setp.gt.u32 %p1, %t, 15; mov.u64 %q1, 9;
        TABLE: .branchtargets ZERO, ONE, LAST, ONE;
        @!%p1 brx.idx %r1, TABLE;
        bra LAST;
        ZERO: mov.u64 %q1, 100; bra LAST;
        ONE: mov.u64 %q1, 101;
        LAST: st.global.u64 [%y], %q1;";
    let (x, mut y) = (vec![1; 256], vec![0; 256]);
    Case::new(body).run(&x, &mut y).unwrap();
    let want = |t: usize| if t > 15 { 9 } else { [100, 101, 9, 101][t % 4] };
    assert!((0..32).all(|t| y[t] == want(t)), "{y:?}");
    Case::new(&body.replace("%t, 3;", "%t, 7;")).finds(FindingKind::Trap, &[]);
    assert!(matches!(Case::new("brx.idx %t, NONE;").module().and_then(|m| m.parameters("k")), Err(Fault::Text { .. })));
}

//! Within a block.

use super::{BAR, Pattern, WARP, of};

pub(super) const PATTERNS: &[Pattern] = &[
    of(
        "reverse",
        (2, 64),
        "st.shared.u64 [%r1], %i; @@
        sub.u32 %r3, 63, %t; shl.b32 %r3, %r3, 3; add.u32 %r3, %r3, %r2; ld.shared.u64 %q2, [%r3]; st.global.u64 [%q1], %q2;",
        &[BAR, "barrier.sync 0;", "bar.sync 3, 64;", "bar.red.popc.u32 %r9, 0, %p1;"],
        &["", WARP, "membar.cta;", "bar.sync 3, 32;"],
    ),
    of(
        "stencil in shared memory",
        (1, 96),
        "st.shared.u64 [%r1+8], %i; setp.lt.u32 %p1, %t, 2; mul.lo.u32 %r3, %t, 776; add.u32 %r3, %r3, %r2;
        @%p1 st.shared.u64 [%r3], 0; @@
        ld.shared.u64 %q2, [%r1]; ld.shared.u64 %q3, [%r1+16]; add.u64 %q2, %q2, %q3; st.global.u64 [%q1], %q2;",
        &[BAR],
        &["", WARP],
    ),
    of(
        "neighbours in place",
        (1, 64),
        "st.shared.u64 [%r1], %i; bar.sync 0;
        add.u32 %r3, %t, 1; and.b32 %r3, %r3, 63; shl.b32 %r3, %r3, 3; add.u32 %r3, %r3, %r2; ld.shared.u64 %q2, [%r3]; @@
        st.shared.u64 [%r1], %q2; bar.sync 0; ld.shared.u64 %q3, [%r3]; st.global.u64 [%q1], %q3;",
        &[BAR],
        &["", WARP],
    ),
    of(
        "tree",
        (1, 128),
        "st.shared.u64 [%r1], %i; mov.u32 %r3, 64;
        ROUND: @@ setp.ge.u32 %p1, %t, %r3; @%p1 bra NEXT;
        shl.b32 %r4, %r3, 3; add.u32 %r4, %r4, %r1; ld.shared.u64 %q2, [%r4]; ld.shared.u64 %q3, [%r1];
        add.u64 %q2, %q2, %q3; st.shared.u64 [%r1], %q2;
        NEXT: shr.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra ROUND;
        bar.sync 0; ld.shared.u64 %q4, [room]; st.global.u64 [%q1], %q4;",
        &[BAR],
        &["", WARP],
    ),
    of(
        "tree in a warp",
        (1, 32),
        "st.shared.u64 [%r1], %i; mov.u32 %r3, 16;
        ROUND: @@ setp.ge.u32 %p1, %t, %r3; @%p1 bra NEXT;
        shl.b32 %r4, %r3, 3; add.u32 %r4, %r4, %r1; ld.shared.u64 %q2, [%r4]; ld.shared.u64 %q3, [%r1];
        add.u64 %q2, %q2, %q3; st.shared.u64 [%r1], %q2;
        NEXT: shr.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra ROUND;
        bar.warp.sync 0xffffffff; ld.shared.u64 %q4, [room]; st.global.u64 [%q1], %q4;",
        &[WARP, BAR],
        &["", "membar.cta;"],
    ),
    of(
        "scan in one array",
        (1, 64),
        "st.shared.u64 [%r1], %i; mov.u32 %r3, 1; bar.sync 0;
        ROUND: mov.u64 %q2, 0; setp.ge.u32 %p1, %t, %r3; shl.b32 %r4, %r3, 3; sub.u32 %r4, %r1, %r4;
        @%p1 ld.shared.u64 %q2, [%r4]; @@
        ld.shared.u64 %q3, [%r1]; add.u64 %q3, %q3, %q2; st.shared.u64 [%r1], %q3; bar.sync 0;
        shl.b32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 64; @%p2 bra ROUND; st.global.u64 [%q1], %q3;",
        &[BAR],
        &["", WARP],
    ),
    of(
        "scan in two arrays",
        (1, 64),
        "st.shared.u64 [%r1], %i; mov.u32 %r3, 1; mov.u32 %r5, 0; bar.sync 0;
        ROUND: add.u32 %r6, %r1, %r5; xor.b32 %r5, %r5, 512; add.u32 %r7, %r1, %r5;
        mov.u64 %q2, 0; setp.ge.u32 %p1, %t, %r3; shl.b32 %r4, %r3, 3; sub.u32 %r4, %r6, %r4;
        @%p1 ld.shared.u64 %q2, [%r4]; ld.shared.u64 %q3, [%r6]; add.u64 %q3, %q3, %q2; st.shared.u64 [%r7], %q3; @@
        shl.b32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 64; @%p2 bra ROUND; st.global.u64 [%q1], %q3;",
        &[BAR],
        &["", WARP],
    ),
    of(
        "a tile is transposed",
        (1, 256),
        "st.shared.u64 [%r1], %i; @@
        and.b32 %r3, %t, 15; shr.u32 %r4, %t, 4; shl.b32 %r3, %r3, 4; add.u32 %r3, %r3, %r4; shl.b32 %r3, %r3, 3;
        add.u32 %r3, %r3, %r2; ld.shared.u64 %q2, [%r3]; st.global.u64 [%q1], %q2;",
        &[BAR],
        &["", WARP],
    ),
    of(
        "one value for all",
        (2, 64),
        "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u64 [room], %i; @@ ld.shared.u64 %q2, [room]; st.global.u64 [%q1], %q2;",
        &[BAR],
        &["", WARP, "membar.gl;"],
    ),
    of(
        "one value for all, again and again",
        (1, 64),
        "mov.u32 %r3, 0; setp.eq.u32 %p1, %t, 5;
        ROUND: add.u32 %r3, %r3, 1; cvt.u64.u32 %q3, %r3;
        @%p1 st.shared.u64 [room], %q3; bar.sync 0; ld.shared.u64 %q2, [room]; @@
        setp.lt.u32 %p2, %r3, 4; @%p2 bra ROUND; st.global.u64 [%q1], %q2;",
        &[BAR],
        &["", WARP],
    ),
    of(
        "a producer and a consumer",
        (1, 64),
        "setp.lt.u32 %p1, %t, 32; @!%p1 bra CONSUME; st.shared.u64 [%r1], %i; @@ bra END;
        CONSUME: bar.sync 3, 64; ld.shared.u64 %q2, [%r1+-256]; st.global.u64 [%q1], %q2; END:",
        &["bar.arrive 3, 64;", "bar.sync 3, 64;", "membar.cta; bar.arrive 3, 64;"],
        &["bar.arrive 3, 64; st.shared.u64 [%r1], %at;"],
    ),
    of(
        "a producer that announces too early",
        (1, 64),
        "setp.lt.u32 %p1, %t, 32; @!%p1 bra CONSUME; @@ bra END;
        CONSUME: bar.sync 3, 64; ld.shared.u64 %q2, [%r1+-256]; st.global.u64 [%q1], %q2; END:",
        &["st.shared.u64 [%r1], %i; bar.arrive 3, 64;"],
        &["bar.arrive 3, 64; st.shared.u64 [%r1], %i;"],
    ),
    of(
        "a slot that is used again",
        (1, 64),
        "mov.u32 %r3, 0; setp.lt.u32 %p1, %t, 32; and.b32 %r4, %t, 31; shl.b32 %r4, %r4, 3; add.u32 %r4, %r4, %r2;
        ROUND: add.u32 %r3, %r3, 1; @!%p1 bra CONSUME;
        cvt.u64.u32 %q3, %r3; add.u64 %q3, %q3, %i; st.shared.u64 [%r4], %q3; bar.arrive 3, 64; @@ bra NEXT;
        CONSUME: bar.sync 3, 64; ld.shared.u64 %q2, [%r4]; st.global.u64 [%q1], %q2; bar.arrive 4, 64;
        NEXT: setp.lt.u32 %p2, %r3, 3; @%p2 bra ROUND;",
        &["bar.sync 4, 64;"],
        &["bar.sync 5, 32;"],
    ),
    of(
        "a histogram in shared memory",
        (1, 64),
        "st.shared.u64 [%r1], 0; bar.sync 0; add.u64 %q2, %x, %at; ld.global.u64 %q3, [%q2]; cvt.u32.u64 %r3, %q3;
        and.b32 %r3, %r3, 7; shl.b32 %r3, %r3, 3; add.u32 %r3, %r3, %r2; @@
        bar.sync 0; ld.shared.u64 %q4, [%r1]; st.global.u64 [%q1], %q4;",
        &["atom.shared.add.u64 %q5, [%r3], 1;", "red.shared.add.u64 [%r3], 1;"],
        &["ld.shared.u64 %q5, [%r3]; add.u64 %q5, %q5, 1; st.shared.u64 [%r3], %q5;"],
    ),
    of(
        "the largest",
        (4, 32),
        "add.u64 %q2, %x, %at; ld.global.u64 %q3, [%q2]; @@",
        &["atom.global.max.u64 %q5, [%y], %q3;", "red.global.max.u64 [%y], %q3;"],
        &["ld.global.u64 %q5, [%y]; setp.gt.u64 %p1, %q3, %q5; @%p1 st.global.u64 [%y], %q3;"],
    ),
    of(
        "a worklist of a block",
        (1, 64),
        "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u64 [room+2048], 0; bar.sync 0; @@
        shl.b64 %q5, %q5, 3; cvt.u32.u64 %r3, %q5; add.u32 %r3, %r3, %r2; st.shared.u64 [%r3], %i;
        bar.sync 0; ld.shared.u64 %q4, [%r1]; st.global.u64 [%q1], %q4;",
        &["atom.shared.add.u64 %q5, [room+2048], 1;"],
        &["ld.shared.u64 %q5, [room+2048]; add.u64 %q6, %q5, 1; st.shared.u64 [room+2048], %q6;"],
    ),
    of(
        "a worklist of the grid",
        (4, 32),
        "add.u64 %q2, %x, %at; ld.global.u64 %q3, [%q2]; and.b64 %q3, %q3, 1; setp.eq.u64 %p1, %q3, 0; @%p1 bra END;
        @@ shl.b64 %q5, %q5, 3; add.u64 %q5, %q5, %y; st.global.u64 [%q5+8], %i; END:",
        &["atom.global.add.u64 %q5, [%y], 1;", "atom.relaxed.gpu.global.add.u64 %q5, [%y], 1;"],
        &["ld.global.u64 %q5, [%y]; add.u64 %q6, %q5, 1; st.global.u64 [%y], %q6;"],
    ),
    of(
        "edges push to their end",
        (2, 64),
        "add.u64 %q2, %x, %at; ld.global.u64 %q3, [%q2]; and.b64 %q3, %q3, 31; shl.b64 %q3, %q3, 3; add.u64 %q3, %q3, %y; @@",
        &["atom.global.add.u64 %q5, [%q3], %i;", "red.global.add.u64 [%q3], %i;"],
        &["ld.global.u64 %q5, [%q3]; add.u64 %q5, %q5, %i; st.global.u64 [%q3], %q5;", "st.global.u64 [%q3], %i;"],
    ),
    of(
        "nodes pull from their neighbours",
        (2, 64),
        "add.u64 %q2, %i, 1; and.b64 %q2, %q2, 127; shl.b64 %q2, %q2, 3; @@ ld.global.u64 %q4, [%q3]; add.u64 %q4, %q4, 3;
        st.global.u64 [%q1], %q4;",
        &["add.u64 %q3, %x, %q2;", "mov.u64 %q3, %q1;"],
        &["add.u64 %q3, %y, %q2;"],
    ),
    of(
        "a parent is replaced by its own",
        (2, 32),
        "add.u64 %q2, %i, 1; and.b64 %q2, %q2, 63; shl.b64 %q3, %q2, 3; add.u64 %q3, %q3, %y; @@",
        &[
            "ld.relaxed.gpu.global.u64 %q4, [%q3]; add.u64 %q4, %q4, %i; atom.global.max.u64 %q5, [%q1], %q4;",
            "atom.global.or.b64 %q4, [%q3], 0; add.u64 %q4, %q4, %i; atom.global.exch.b64 %q5, [%q1], %q4;",
        ],
        &[
            "ld.global.u64 %q4, [%q3]; add.u64 %q4, %q4, %i; st.global.u64 [%q1], %q4;",
            "ld.global.u64 %q4, [%q3]; add.u64 %q4, %q4, %i; atom.global.max.u64 %q5, [%q1], %q4;",
        ],
    ),
    of(
        "lanes exchange in shared memory",
        (1, 32),
        "st.shared.u64 [%r1], %i; @@ xor.b32 %r3, %r1, 8; ld.shared.u64 %q2, [%r3]; st.global.u64 [%q1], %q2;",
        &[WARP, "bar.warp.sync -1;", "barrier.sync 0;"],
        &[
            "",
            "membar.cta;",
            "activemask.b32 %r9;",
            // These bring lanes together, and order no memory.
            "shfl.sync.bfly.b32 %r9, %t, 1, 31, 0xffffffff;",
            "vote.sync.ballot.b32 %r9, %p1, 0xffffffff;",
        ],
    ),
    of(
        "tiles of a warp",
        (1, 32),
        "st.shared.u64 [%r1], %i; mov.u32 %r4, 0xffff; shr.u32 %r5, %t, 4; shl.b32 %r5, %r5, 4; shl.b32 %r4, %r4, %r5;
        bar.warp.sync %r4; @@ ld.shared.u64 %q2, [%r3]; st.global.u64 [%q1], %q2;",
        &["xor.b32 %r3, %r1, 64;", "xor.b32 %r3, %r1, 128; bar.warp.sync 0xffffffff;"],
        &["xor.b32 %r3, %r1, 128;"],
    ),
    of(
        "half a warp writes, the other half reads",
        (1, 32),
        "setp.lt.u32 %p1, %t, 16; @%p1 st.shared.u64 [%r1], %i; @@ xor.b32 %r3, %r1, 128; @!%p1 ld.shared.u64 %q2, [%r3];
        @!%p1 st.global.u64 [%q1], %q2;",
        &[WARP],
        &["", "@%p1 bra LOW; bar.warp.sync 0xffff0000; bra ON; LOW: bar.warp.sync 0x0000ffff; ON:"],
    ),
    of(
        "the last warp of a tree",
        (1, 64),
        "st.shared.u64 [%r1], %i; bar.sync 0; setp.ge.u32 %p1, %t, 32; @%p1 ret;
        ld.shared.u64 %q2, [%r1]; ld.shared.u64 %q3, [%r1+256]; add.u64 %q2, %q2, %q3; st.shared.u64 [%r1], %q2; @@
        setp.lt.u32 %p2, %t, 16; @!%p2 ret;
        ld.shared.u64 %q3, [%r1+128]; add.u64 %q2, %q2, %q3; st.global.u64 [%q1], %q2;",
        &[WARP],
        &["", "membar.cta;"],
    ),
    of(
        "sums of warps by shuffles",
        (1, 64),
        "cvt.u32.u64 %r3, %i; mov.u32 %r4, 16;
        ROUND: shfl.sync.down.b32 %r5, %r3, %r4, 31, 0xffffffff; add.u32 %r3, %r3, %r5; shr.u32 %r4, %r4, 1;
        setp.ne.u32 %p1, %r4, 0; @%p1 bra ROUND;
        and.b32 %r6, %t, 31; setp.eq.u32 %p2, %r6, 0; shr.u32 %r7, %t, 3; add.u32 %r7, %r7, %r2;
        @%p2 st.shared.u32 [%r7], %r3; @@
        ld.shared.u32 %r8, [room]; ld.shared.u32 %r9, [room+4]; add.u32 %r8, %r8, %r9; cvt.u64.u32 %q2, %r8;
        st.global.u64 [%q1], %q2;",
        &[BAR],
        &["", WARP],
    ),
];

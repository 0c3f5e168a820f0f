//! Between blocks, and what is less common within one.

use super::{BAR, Pattern, WARP, of};

pub(super) const PATTERNS: &[Pattern] = &[
    of(
        "a flag between blocks",
        (2, 1),
        "setp.eq.u32 %p1, %b, 0; @!%p1 bra READ; st.global.u64 [%y+8], 5; @@ st.global.u64 [%y+24], %i; bra END;
        READ: ld.acquire.gpu.global.u64 %q2, [%y]; setp.eq.u64 %p2, %q2, 0; @%p2 bra READ;
        ld.global.u64 %q3, [%y+8]; st.global.u64 [%y+16], %q3; END:",
        &["st.release.gpu.global.u64 [%y], 1;", "membar.gl; st.relaxed.gpu.global.u64 [%y], 1;", "atom.release.gpu.global.add.u64 %q5, [%y], 1;"],
        &["st.global.u64 [%y], 1;", "st.relaxed.gpu.global.u64 [%y], 1;"],
    ),
    of(
        "a flag that is read",
        (2, 1),
        "setp.eq.u32 %p1, %b, 0; @!%p1 bra READ; st.global.u64 [%y+8], 5; st.release.gpu.global.u64 [%y], 1; bra END;
        READ: @@ setp.eq.u64 %p2, %q2, 0; @%p2 bra READ;
        ld.global.u64 %q3, [%y+8]; st.global.u64 [%y+16], %q3; END:",
        &["ld.acquire.gpu.global.u64 %q2, [%y];", "ld.relaxed.gpu.global.u64 %q2, [%y]; membar.gl;", "atom.global.or.b64 %q2, [%y], 0;"],
        &["ld.global.u64 %q2, [%y];"],
    ),
    of(
        "a lock",
        (4, 1),
        "@@ ld.global.u64 %q3, [%y+8]; add.u64 %q3, %q3, 1; st.global.u64 [%y+8], %q3; membar.gl; atom.global.exch.b64 %q4, [%y], 0;",
        &["LOCK: atom.global.cas.b64 %q2, [%y], 0, 1; setp.ne.u64 %p1, %q2, 0; @%p1 bra LOCK; membar.gl;"],
        &[""],
    ),
    of(
        "a lock with tickets",
        (4, 1),
        "atom.global.add.u64 %q2, [%y], 1; @@
        ld.global.u64 %q4, [%y+16]; add.u64 %q4, %q4, %i; st.global.u64 [%y+16], %q4;
        membar.gl; atom.global.add.u64 %q5, [%y+8], 1;",
        &["WAIT: ld.acquire.gpu.global.u64 %q3, [%y+8]; setp.ne.u64 %p1, %q2, %q3; @%p1 bra WAIT;"],
        &[""],
    ),
    of(
        "a barrier of the grid",
        (4, 16),
        "st.global.u64 [%q1+8], %i; bar.sync 0; setp.ne.u32 %p1, %t, 0; @%p1 bra DONE; membar.gl;
        atom.global.add.u64 %q2, [%y], 1; @@ DONE: bar.sync 0;
        add.u64 %q3, %i, 16; and.b64 %q3, %q3, 63; shl.b64 %q3, %q3, 3; add.u64 %q3, %q3, %y; ld.global.u64 %q4, [%q3+8];
        st.global.u64 [%q1+520], %q4;",
        &["WAIT: ld.acquire.gpu.global.u64 %q2, [%y]; setp.lt.u64 %p2, %q2, 4; @%p2 bra WAIT;"],
        &[""],
    ),
    of(
        "each block waits for the one before",
        (4, 1),
        "shl.b64 %q2, %i, 4; add.u64 %q2, %q2, %y; mov.u64 %q5, 0; setp.eq.u64 %p1, %i, 0; @%p1 bra MINE; @@
        ld.global.u64 %q5, [%q2+-8];
        MINE: add.u64 %q5, %q5, %i; st.global.u64 [%q2+8], %q5; st.release.gpu.global.u64 [%q2], 1;",
        &["WAIT: ld.acquire.gpu.global.u64 %q3, [%q2+-16]; setp.eq.u64 %p2, %q3, 0; @%p2 bra WAIT;"],
        &[""],
    ),
    of(
        "a stencil between blocks",
        (2, 64),
        "add.u64 %q2, %i, 1; and.b64 %q2, %q2, 127; shl.b64 %q2, %q2, 3; add.u64 %q2, %q2, %y; ld.global.u64 %q3, [%q2];
        add.u64 %q3, %q3, 1; @@",
        &["st.global.u64 [%q1+1024], %q3;"],
        &["st.global.u64 [%q1], %q3;", "bar.sync 0; st.global.u64 [%q1], %q3;"],
    ),
    of(
        "a block that writes one too many",
        (4, 33),
        "@@ mul.wide.u32 %q2, %b, 256; add.u64 %q2, %q2, %y; mul.wide.u32 %q3, %t, 8; add.u64 %q2, %q2, %q3; st.global.u64 [%q2], %i;",
        &["setp.ge.u32 %p1, %t, 32; @%p1 ret;"],
        &["", "setp.gt.u32 %p1, %t, 32; @%p1 ret;"],
    ),
    of(
        "all write",
        (2, 64),
        "@@",
        &[
            "st.global.u64 [%y], 7;",
            "st.global.u64 [%q1], %i;",
            "setp.eq.u64 %p1, %i, 3; @%p1 st.global.u64 [%y], %i;",
            "mov.u64 %q2, 5; st.shared.u64 [room], %q2;",
        ],
        &["st.global.u64 [%y], %i;", "setp.eq.u32 %p1, %t, 3; @%p1 st.global.u64 [%y], %i;", "st.shared.u64 [room], %i;"],
    ),
    of(
        "bytes of one word",
        (1, 64),
        "cvt.u64.u32 %q2, %t; add.u64 %q2, %q2, %y; st.global.u8 [%q2], %t; @@",
        &["ld.global.u8 %r3, [%q2];", "bar.sync 0; and.b64 %q3, %q2, 0xfffffffffffffffc; ld.global.u32 %r3, [%q3];"],
        &["and.b64 %q3, %q2, 0xfffffffffffffffc; ld.global.u32 %r3, [%q3];"],
    ),
    of(
        "bytes that are cleared, and set by others",
        (1, 32),
        "mov.u32 %r3, room; add.u32 %r4, %r3, %t; st.shared.u8 [%r4], 0; xor.b32 %r5, %t, 1; add.u32 %r5, %r5, %r3; @@
        setp.gt.u32 %p1, %t, 15; @%p1 bra HIGH; add.u32 %r6, %t, 32; add.u32 %r6, %r6, %r3; st.shared.u8 [%r6], 1;
        HIGH: st.shared.u8 [%r5], 1;",
        &[WARP],
        // The last write of four bytes is kept.
        &[],
    ),
    of(
        "a byte beside one that is set by others",
        (1, 32),
        "mov.u32 %r3, room; st.shared.u8 [room], 0; setp.eq.u32 %p1, %t, 0; setp.eq.u32 %p2, %t, 1; @%p1 st.shared.u8 [room+3], 0; @@
        @%p1 st.shared.u8 [room+1], 1; @%p2 st.shared.u8 [room+3], 1;",
        &[WARP],
        &[""],
    ),
    of(
        "bits of one word",
        (2, 32),
        "mov.u64 %q2, 1; cvt.u32.u64 %r3, %i; shl.b64 %q2, %q2, %r3; @@",
        &["atom.global.or.b64 %q3, [%y], %q2;", "red.global.xor.b64 [%y], %q2;"],
        &["ld.global.u64 %q3, [%y]; or.b64 %q3, %q3, %q2; st.global.u64 [%y], %q3;"],
    ),
    of(
        "vectors side by side",
        (1, 32),
        "cvt.u64.u32 %q2, %t; @@ shl.b64 %q2, %q2, 4; add.u64 %q2, %q2, %y; st.global.v2.u64 [%q2], {%i, %at};",
        &[""],
        &["shr.u64 %q2, %q2, 1;"],
    ),
    of(
        "a network that sorts",
        (1, 64),
        "add.u64 %q2, %x, %at; ld.global.u64 %q3, [%q2]; st.shared.u64 [%r1], %q3; mov.u32 %r3, 32;
        ROUND: @@ and.b32 %r4, %t, %r3; setp.ne.u32 %p1, %r4, 0; @%p1 bra NEXT;
        shl.b32 %r5, %r3, 3; add.u32 %r5, %r5, %r1; ld.shared.u64 %q4, [%r1]; ld.shared.u64 %q5, [%r5];
        min.u64 %q6, %q4, %q5; max.u64 %q7, %q4, %q5; st.shared.u64 [%r1], %q6; st.shared.u64 [%r5], %q7;
        NEXT: shr.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra ROUND;
        bar.sync 0; ld.shared.u64 %q8, [%r1]; st.global.u64 [%q1], %q8;",
        &[BAR],
        &["", WARP],
    ),
    of(
        "tiles that are loaded one after the other",
        (1, 64),
        "mov.u32 %r3, 0; mov.u64 %q4, 0;
        ROUND: mul.wide.u32 %q2, %r3, 512; add.u64 %q2, %q2, %x; add.u64 %q2, %q2, %at; ld.global.u64 %q3, [%q2];
        st.shared.u64 [%r1], %q3; bar.sync 0; mov.u32 %r4, 0;
        TERM: shl.b32 %r5, %r4, 3; add.u32 %r5, %r5, %r2; ld.shared.u64 %q5, [%r5]; add.u64 %q4, %q4, %q5;
        add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 64; @%p1 bra TERM; @@
        add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 3; @%p2 bra ROUND; st.global.u64 [%q1], %q4;",
        &[BAR],
        &["", WARP],
    ),
    of(
        "one lane adds for its warp",
        (2, 64),
        "activemask.b32 %r3; @@",
        &[
            "popc.b32 %r4, %r3; cvt.u64.u32 %q2, %r4; and.b32 %r5, %t, 31; setp.eq.u32 %p1, %r5, 0; @%p1 red.global.add.u64 [%y], %q2;",
        ],
        &[
            "popc.b32 %r4, %r3; cvt.u64.u32 %q2, %r4; and.b32 %r5, %t, 31; setp.eq.u32 %p1, %r5, 0;
            @%p1 ld.global.u64 %q3, [%y]; add.u64 %q3, %q3, %q2; @%p1 st.global.u64 [%y], %q3;",
        ],
    ),
    of(
        "a counter that is read",
        (1, 64),
        "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u64 [room], 0; bar.sync 0; atom.shared.add.u64 %q2, [room], 1; @@
        st.global.u64 [%q1], %q3;",
        &["bar.sync 0; ld.shared.u64 %q3, [room];", "atom.shared.or.b64 %q3, [room], 0;", "ld.relaxed.cta.shared.u64 %q3, [room];"],
        &["ld.shared.u64 %q3, [room];", "bar.warp.sync 0xffffffff; ld.shared.u64 %q3, [room];"],
    ),
    of(
        "a counter that is set",
        (1, 64),
        "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u64 [room], 0; @@ atom.shared.add.u64 %q2, [room], 1; st.global.u64 [%q1], %q2;",
        &[BAR],
        &[""],
    ),
    of(
        "the last block",
        (4, 1),
        "st.global.u64 [%q1+8], %i; @@ setp.ne.u64 %p1, %q2, 3; @%p1 ret;
        ld.global.u64 %q3, [%y+8]; ld.global.u64 %q4, [%y+16]; add.u64 %q3, %q3, %q4; st.global.u64 [%y+64], %q3;",
        &[
            "membar.gl; atom.global.add.u64 %q2, [%y], 1;",
            "fence.acq_rel.gpu; atom.relaxed.gpu.global.add.u64 %q2, [%y], 1;",
            "atom.acq_rel.gpu.global.add.u64 %q2, [%y], 1;",
        ],
        &["atom.global.add.u64 %q2, [%y], 1;", "atom.acquire.gpu.global.add.u64 %q2, [%y], 1;"],
    ),
    of(
        "memory of its own",
        (2, 64),
        ".local .align 8 .b8 own[64]; mov.u64 %q2, own; cvta.local.u64 %q3, %q2; and.b32 %r3, %t, 7; mul.wide.u32 %q4, %r3, 8;
        add.u64 %q3, %q3, %q4; st.u64 [%q3], %i; ld.u64 %q5, [%q3]; @@",
        &["st.global.u64 [%q1], %q5;"],
        &["st.global.u64 [%y], %q5;"],
    ),
    of(
        "a neighbour by a generic address",
        (1, 64),
        "mov.u64 %q2, room; cvta.shared.u64 %q3, %q2; add.u64 %q4, %q3, %at; st.u64 [%q4], %i; @@
        xor.b64 %q5, %at, 256; add.u64 %q5, %q5, %q3; ld.u64 %q6, [%q5]; st.global.u64 [%q1], %q6;",
        &[BAR],
        &["", WARP],
    ),
];

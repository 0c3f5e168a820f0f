//! The patterns of `races.rs`: reductions, scans, stencils, worklists, locks, flags, barriers of blocks and grids, and what is often
//! wrong with them: a barrier, a guard or an atomic operation is missing. `@@` stands for what orders the accesses, or does not.

mod between;
mod within;

pub(super) struct Pattern {
    pub(super) name: &'static str,
    pub(super) grid: u32,
    pub(super) block: u32,
    pub(super) body: &'static str,
    pub(super) right: &'static [&'static str],
    pub(super) wrong: &'static [&'static str],
}

const fn of(
    name: &'static str,
    (grid, block): (u32, u32),
    body: &'static str,
    right: &'static [&'static str],
    wrong: &'static [&'static str],
) -> Pattern {
    Pattern { name, grid, block, body, right, wrong }
}

const BAR: &str = "bar.sync 0;";
const WARP: &str = "bar.warp.sync 0xffffffff;";

/// All of them.
pub(super) fn patterns() -> impl Iterator<Item = &'static Pattern> {
    within::PATTERNS.iter().chain(between::PATTERNS)
}

/// What PTX leaves unordered, and the machine does not see.
pub(super) const UNSEEN: &[Pattern] = &[
    // Of a counter the last atomic operation is kept, and not the plain write before it.
    of(
        "a counter that is set",
        (1, 64),
        "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u64 [room], 0; @@ atom.shared.add.u64 %q2, [room], 1; st.global.u64 [%q1], %q2;",
        &[],
        &[WARP],
    ),
    // Atomic operations are taken for those of the whole device.
    of("a counter of a block for two", (2, 32), "@@", &[], &["atom.relaxed.cta.global.add.u64 %q2, [%y], 1;"]),
];

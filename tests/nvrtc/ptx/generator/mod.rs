//! Random kernels that mean one thing only: operations on integers and IEEE numbers, branches, loops, shared memory between
//! barriers, atomic operations that commute, and what the lanes of a warp do together. `%r`, `%q`, `%h`, `%f`, `%d` and `%p` are
//! registers that hold values; others hold addresses and intermediate results.

mod control;
mod numbers;

use std::fmt::Write;

/// Words that each thread writes at the end, and threads.
pub(super) const WORDS: usize = 24;
pub(super) const BLOCK: u32 = 64;
pub(super) const GRID: u32 = 2;
/// Words of `x`, and of `y`: those of the threads, and sixteen counters behind them.
pub(super) const READ: usize = 256;
pub(super) const WRITTEN: usize = WORDS * (BLOCK * GRID) as usize + 16;

/// SplitMix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.word() % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Numbers near every border, and others.
pub(super) fn input(seed: u64) -> Vec<u64> {
    let random = &mut Random(seed ^ 0xdead);
    let special =
        [0, 1, 2, 31, 32, 63, 64, 255, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63, (1 << 63) - 1, u64::MAX];
    let of_floats =
        [0.0f32, -0.0, 1.0, -1.5, 1e-40, -1e-45, 3.4e38, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 16777217.0, 0.5];
    let of_doubles =
        [0.0f64, -0.0, 1.0, -2.5, 5e-324, 2.2e-308, 1.7e308, f64::INFINITY, 1e-200, 4503599627370497.5, 1.0 / 3.0];
    (0..READ)
        .map(|_| match random.below(5) {
            0 => random.of(&special),
            1 => u64::from(random.of(&of_floats).to_bits()) | u64::from(random.of(&of_floats).to_bits()) << 32,
            2 => random.of(&of_doubles).to_bits(),
            _ => random.word() >> random.below(64),
        })
        .collect()
}

/// A kernel being written.
struct Writer {
    random: Random,
    text: String,
    labels: u32,
    depth: u32,
}

/// The text of the kernel of a seed.
pub(super) fn kernel(seed: u64) -> String {
    let mut writer = Writer { random: Random(seed), text: String::new(), labels: 0, depth: 0 };
    let count = 12 + writer.random.below(30);
    for _ in 0..count {
        writer.statement(true);
    }
    let body = writer.text;
    let mut end = String::new();
    let mut at = 0;
    let mut keep = |what: String| {
        writeln!(end, "st.global.{what};").unwrap();
    };
    for (letter, ty, count) in [('q', "u64", 4), ('d', "f64", 3)] {
        for n in 0..count {
            keep(format!("{ty} [%own+{at}], %{letter}{n}"));
            at += 8;
        }
    }
    for (letter, ty, count) in [('r', "u32", 6), ('f', "f32", 4), ('h', "u16", 3)] {
        for n in 0..count {
            keep(format!("{ty} [%own+{at}], %{letter}{n}"));
            at += 8;
        }
    }
    for n in 0..4 {
        writeln!(end, "selp.u32 %t0, 1, 0, %p{n}; st.global.u32 [%own+{at}], %t0;").unwrap();
        at += 8;
    }
    assert_eq!(at, 8 * WORDS);
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {{
.reg .b32 %r<6>, %t<6>, %c<99>, %me, %lane, %room; .reg .b64 %q<4>, %u<4>, %x, %y, %own; .reg .b16 %h<3>, %s<3>;
.reg .f32 %f<4>; .reg .f64 %d<3>; .reg .pred %p<4>, %m<3>; .local .align 8 .b8 mine[32]; .shared .align 8 .b8 room[640];
ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; mov.u32 %me, %tid.x; and.b32 %lane, %me, 31;
mov.u32 %t0, %ctaid.x; mad.lo.u32 %t0, %t0, {BLOCK}, %me; mul.wide.u32 %own, %t0, {bytes}; add.u64 %own, %own, %y;
mul.lo.u32 %t1, %t0, 2; mul.wide.u32 %u0, %t1, 8; add.u64 %u0, %u0, %x; ld.global.v2.u64 {{%q0, %q1}}, [%u0];
mad.lo.u32 %t1, %t0, 7, 3; and.b32 %t1, %t1, 255; mul.wide.u32 %u0, %t1, 8; add.u64 %u0, %u0, %x; ld.global.nc.u64 %q2, [%u0];
cvt.u64.u32 %q3, %t0; mov.b64 {{%r0, %r1}}, %q0; mov.b64 {{%r2, %r3}}, %q2; mov.u32 %r4, %t0; mov.u32 %r5, %lane;
mov.b32 %f0, %r0; mov.b32 %f1, %r3; cvt.rn.f32.s32 %f2, %r1; cvt.rn.f32.u32 %f3, %t0; mov.b64 %d0, %q1;
cvt.rn.f64.s64 %d1, %q2; cvt.f64.f32 %d2, %f2; cvt.u16.u32 %h0, %r0; cvt.u16.u32 %h1, %r2; cvt.u16.u32 %h2, %t0;
setp.lt.s32 %p0, %r0, %r1; setp.gt.u32 %p1, %lane, 9; setp.eq.u32 %p2, %r5, %r4; setp.ne.u64 %p3, %q0, %q2;
{one_nan}
mov.u32 %room, room; shl.b32 %t2, %me, 3; add.u32 %room, %room, %t2; st.shared.u64 [%room], %q0;
setp.lt.u32 %m0, %me, 16; mov.u32 %t3, room; shl.b32 %t2, %me, 2; add.u32 %t3, %t3, %t2; @%m0 st.shared.u32 [%t3+512], %me;
mov.u64 %u0, mine; st.local.u64 [mine], %q1; st.local.u64 [mine+8], %q2; st.local.u64 [mine+16], %q3; st.local.u64 [mine+24], %q0;
bar.sync 0;
{body}bar.sync 0;
{end}ret;
}}
",
        bytes = WORDS * 8,
        one_nan = NAN.replace("%d", "%d0") + &NAN.replace("%d", "%d1"),
    )
}

/// Which of the NaN of 64 bits it is, PTX leaves open; of 32 bits it does not.
const NAN: &str = "setp.nan.f64 %m2, %d, %d; selp.f64 %d, 0d7ff8000000000000, %d, %m2; ";

/// Where PTX leaves that open of 32 bits too.
const NAN32: &str = " setp.nan.f32 %m2, %f, %f; selp.f32 %f, 0f7fffffff, %f, %m2;";

impl Writer {
    fn put(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn register(&mut self, letter: char) -> String {
        let count = match letter {
            'r' => 6,
            'q' | 'f' | 'p' => 4,
            _ => 3,
        };
        format!("%{letter}{}", self.random.below(count))
    }

    /// A register, or now and then a number.
    fn integer(&mut self, letter: char) -> String {
        match self.random.below(6) {
            0 => match letter {
                'h' => (self.random.word() as i16).to_string(),
                'r' => format!("{:#x}", self.random.word() as u32 >> self.random.below(32)),
                _ => format!("{:#x}", self.random.word() >> self.random.below(64)),
            },
            _ => self.register(letter),
        }
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    /// `uniform`: all threads of the block come here together.
    fn statement(&mut self, uniform: bool) {
        match self.random.below(if uniform { 20 } else { 12 }) {
            0..=2 => self.word32(),
            3 => self.word64(),
            4 => self.word16(),
            5 | 6 => self.single(),
            7 => self.double(),
            8 => self.convert(),
            9 => self.predicate(),
            10 => self.local(),
            11 if self.depth < 3 => self.branch(uniform),
            11 => self.select(),
            12..=14 => self.shared(),
            15 => self.counters(),
            16 | 17 => self.shuffle(),
            _ => self.together(),
        }
    }
}

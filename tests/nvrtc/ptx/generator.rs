//! Random kernels that mean one thing only: operations on integers and IEEE numbers, branches, loops, shared memory between
//! barriers, atomic operations that commute, and what the lanes of a warp do together. `%r`, `%q`, `%h`, `%f`, `%d` and `%p` are
//! registers that hold values; others hold addresses and intermediate results.

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

    fn word32(&mut self) {
        let [d, a, b, c] = [self.register('r'), self.register('r'), self.integer('r'), self.integer('r')];
        let op = self.random.below(40);
        let line = match op {
            0..=11 => {
                let name = self.random.of(&[
                    "add.u32",
                    "sub.s32",
                    "mul.lo.u32",
                    "mul.hi.u32",
                    "mul.hi.s32",
                    "min.s32",
                    "max.s32",
                    "min.u32",
                    "max.u32",
                    "and.b32",
                    "or.b32",
                    "xor.b32",
                    "add.sat.s32",
                    "sub.sat.s32",
                    "mul24.lo.u32",
                    "mul24.lo.s32",
                ]);
                format!("{name} {d}, {a}, {b};")
            }
            12..=15 => {
                let name = self.random.of(&[
                    "mad.lo.s32",
                    "mad.hi.u32",
                    "mad.hi.s32",
                    "sad.s32",
                    "sad.u32",
                    "bfe.u32",
                    "bfe.s32",
                ]);
                let (b, c) = match name.starts_with("bfe") {
                    // A number would have to be one of a byte.
                    true => (self.register('r'), self.register('r')),
                    false => (b, c),
                };
                format!("{name} {d}, {a}, {b}, {c};")
            }
            16..=18 => {
                let name = self.random.of(&["shl.b32", "shr.u32", "shr.s32"]);
                format!("{name} {d}, {a}, {b};")
            }
            19..=21 => {
                let name = self.random.of(&[
                    "popc.b32",
                    "clz.b32",
                    "brev.b32",
                    "not.b32",
                    "cnot.b32",
                    "neg.s32",
                    "abs.s32",
                    "bfind.u32",
                    "bfind.s32",
                    "bfind.shiftamt.u32",
                ]);
                format!("{name} {d}, {a};")
            }
            22 | 23 => format!("or.b32 %t0, {b}, 1; {} {d}, {a}, %t0;", self.random.of(&["div.u32", "rem.u32"])),
            24 => format!(
                "and.b32 %t0, {b}, 0x7fff; or.b32 %t0, %t0, 3; {} {d}, {a}, %t0;",
                self.random.of(&["div.s32", "rem.s32"])
            ),
            25 | 26 => format!("lop3.b32 {d}, {a}, {b}, {c}, {:#x};", self.random.below(256)),
            27 | 28 => {
                let name = self.random.of(&["shf.l.wrap.b32", "shf.r.wrap.b32", "shf.l.clamp.b32", "shf.r.clamp.b32"]);
                format!("{name} {d}, {a}, {b}, {c};")
            }
            29 | 30 => {
                let mode = self.random.of(&["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"]);
                format!("prmt.b32{mode} {d}, {a}, {b}, {c};")
            }
            31 => format!("bfi.b32 {d}, {a}, {b}, {}, {};", self.register('r'), self.random.below(40)),
            32 => format!("slct.s32.s32 {d}, {a}, {b}, {c};"),
            33 => {
                let name = self.random.of(&["dp4a.u32.u32", "dp4a.s32.s32", "dp4a.s32.u32", "dp4a.u32.s32"]);
                format!("{name} {d}, {a}, {b}, {c};")
            }
            34 => format!("add.cc.u32 %t0, {a}, {b}; addc.u32 {d}, {c}, 0;"),
            35 => format!("sub.cc.u32 %t0, {a}, {b}; subc.u32 {d}, {c}, %t0;"),
            36 => format!("mad.lo.cc.u32 %t0, {a}, {b}, {c}; madc.hi.u32 {d}, {a}, {b}, %t0;"),
            37 => format!("mov.b64 %u0, {{{a}, {d}}}; mov.b64 {{%t0, {d}}}, %u0; xor.b32 {d}, {d}, %t0;"),
            38 => format!("set.{}.u32.s32 {d}, {a}, {b};", self.random.of(&["lt", "ge", "eq"])),
            _ => format!("mul.wide.{} %u0, {a}, {b}; mov.b64 {{%t0, {d}}}, %u0;", self.random.of(&["u32", "s32"])),
        };
        self.put(&line);
    }

    fn word64(&mut self) {
        let [d, a, b, c] = [self.register('q'), self.register('q'), self.integer('q'), self.integer('q')];
        let small = self.integer('r');
        let line = match self.random.below(12) {
            0..=3 => {
                let name = self.random.of(&[
                    "add.s64",
                    "sub.u64",
                    "mul.lo.s64",
                    "mul.hi.u64",
                    "mul.hi.s64",
                    "min.s64",
                    "max.u64",
                    "and.b64",
                    "or.b64",
                    "xor.b64",
                ]);
                format!("{name} {d}, {a}, {b};")
            }
            4 => format!("{} {d}, {a}, {b}, {c};", self.random.of(&["mad.lo.u64", "sad.u64", "sad.s64", "mad.hi.u64"])),
            5 | 6 => format!("{} {d}, {a}, {small};", self.random.of(&["shl.b64", "shr.u64", "shr.s64"])),
            7 => format!("{} {d}, {a};", self.random.of(&["not.b64", "neg.s64", "abs.s64", "brev.b64", "cnot.b64"])),
            8 => format!(
                "{} %t0, {a}; cvt.u64.u32 {d}, %t0;",
                self.random.of(&["popc.b64", "clz.b64", "bfind.u64", "bfind.s64"])
            ),
            9 => format!("or.b64 %u0, {b}, 1; {} {d}, {a}, %u0;", self.random.of(&["div.u64", "rem.u64"])),
            10 => format!(
                "and.b32 %t0, {small}, 0xff; {} {d}, {a}, %t0, {};",
                self.random.of(&["bfe.u64", "bfe.s64"]),
                self.random.below(70)
            ),
            _ => format!("add.cc.u64 %u0, {a}, {b}; addc.u64 {d}, {c}, 0;"),
        };
        self.put(&line);
    }

    fn word16(&mut self) {
        let [d, a, b] = [self.register('h'), self.register('h'), self.integer('h')];
        let name = self.random.of(&[
            "add.u16",
            "sub.s16",
            "mul.lo.u16",
            "mul.hi.s16",
            "mul.hi.u16",
            "min.s16",
            "max.u16",
            "and.b16",
            "xor.b16",
        ]);
        let shift = self.random.of(&["shl.b16", "shr.u16", "shr.s16"]);
        let (wide, r) = (self.random.of(&["mul.wide.s16", "mul.wide.u16"]), self.register('r'));
        let line = match self.random.below(4) {
            0 => {
                format!("cvt.u32.u16 %t0, {b}; {shift} {d}, {a}, %t0;").replace("cvt.u32.u16 %t0, -", "mov.u32 %t0, -")
            }
            1 => format!("{wide} {r}, {a}, {b};"),
            _ => format!("{name} {d}, {a}, {b};"),
        };
        // A number is no source of a conversion.
        let line = match line.strip_prefix("cvt.u32.u16 %t0, ").filter(|rest| !rest.starts_with('%')) {
            Some(rest) => format!("mov.u32 %t0, {rest}"),
            None => line,
        };
        self.put(&line);
    }

    fn rounding(&mut self) -> &'static str {
        self.random.of(&["rn", "rn", "rz", "rm", "rp"])
    }

    fn single(&mut self) {
        let [d, a, b, c] = [(); 4].map(|()| self.register('f'));
        let (how, flush) = (self.rounding(), self.random.of(&["", "", ".ftz"]));
        let line = match self.random.below(14) {
            0..=4 => format!("{}.{how}{flush}.f32 {d}, {a}, {b};", self.random.of(&["add", "sub", "mul"])),
            5 | 6 => format!("fma.{how}{flush}.f32 {d}, {a}, {b}, {c};"),
            7 => format!("div.{how}{flush}.f32 {d}, {a}, {b};"),
            8 => format!("{}.{how}{flush}.f32 {d}, {a};", self.random.of(&["sqrt", "rcp"])),
            9 | 10 => format!("{}{flush}.f32 {d}, {a}, {b};", self.random.of(&["min", "max", "min", "max.NaN"]))
                .replace("max.NaN.ftz", "max.ftz.NaN"),
            11 => format!("{}{flush}.f32 {d}, {a};", self.random.of(&["abs", "neg"])),
            12 => format!("{}.{how}.sat.f32 {d}, {a}, {b};", self.random.of(&["add", "mul"])),
            _ => format!("copysign.f32 {d}, {a}, {b};"),
        };
        let line = line + &NAN32.replace("%f", &d);
        self.put(&line);
    }

    fn double(&mut self) {
        let [d, a, b, c] = [(); 4].map(|()| self.register('d'));
        let how = self.rounding();
        let line = match self.random.below(10) {
            0..=3 => format!("{}.{how}.f64 {d}, {a}, {b};", self.random.of(&["add", "sub", "mul"])),
            4 => format!("fma.rn.f64 {d}, {a}, {b}, {c};"),
            5 => format!("div.{how}.f64 {d}, {a}, {b};"),
            6 => format!("{}.{how}.f64 {d}, {a};", self.random.of(&["sqrt", "rcp"])),
            7 => format!("{}.f64 {d}, {a}, {b};", self.random.of(&["min", "max"])),
            8 => format!("{}.f64 {d}, {a};", self.random.of(&["abs", "neg"])),
            _ => format!("copysign.f64 {d}, {a}, {b};"),
        };
        self.put(&line);
        self.put(&NAN.replace("%d", &d));
    }

    fn convert(&mut self) {
        let [r, q, f, d, h] = ['r', 'q', 'f', 'd', 'h'].map(|letter| self.register(letter));
        let (how, whole) = (self.rounding(), self.random.of(&["rni", "rzi", "rmi", "rpi"]));
        let line = match self.random.below(18) {
            0 => format!("cvt.{how}.f32.{} {f}, {r};", self.random.of(&["s32", "u32"])),
            1 => format!("cvt.{how}.f32.{} {f}, {q};", self.random.of(&["s64", "u64"])),
            2 => format!("cvt.{how}.f64.{} {d}, {q};", self.random.of(&["s64", "u64"])),
            3 => format!("cvt.rn.f64.{} {d}, {r};", self.random.of(&["s32", "u32"])),
            4 => format!("cvt.{whole}.{}.f32 {r}, {f};", self.random.of(&["s32", "u32"])),
            5 => format!("cvt.{whole}.{}.f32 {q}, {f};", self.random.of(&["s64", "u64"])),
            6 => format!("cvt.{whole}.{}.f64 {r}, {d};", self.random.of(&["s32", "u32"])),
            7 => format!("cvt.{whole}.{}.f64 {q}, {d};", self.random.of(&["s64", "u64"])),
            8 => format!("cvt.{how}.f32.f64 {f}, {d};"),
            9 => format!("cvt.f64.f32 {d}, {f}; {}", NAN.replace("%d", &d)),
            10 => format!("cvt.{whole}.f32.f32 {f}, {f};"),
            11 => format!("cvt.{whole}.f64.f64 {d}, {d}; {}", NAN.replace("%d", &d)),
            12 => format!(
                "cvt.{}.f16.f32 {h}, {f}; setp.nan.f32 %m2, {f}, {f}; selp.b16 {h}, 0x7fff, {h}, %m2;",
                self.random.of(&["rn", "rz"])
            ),
            13 => format!("cvt.f32.f16 {f}, {h};"),
            14 => format!("cvt.{} {r}, {h};", self.random.of(&["s32.s16", "u32.u16"])),
            15 => {
                format!("cvt.{} {h}, {r};", self.random.of(&["u16.u32", "sat.s16.s32", "sat.u16.u32", "sat.u16.s32"]))
            }
            16 => format!("cvt.{} {q}, {r};", self.random.of(&["s64.s32", "u64.u32", "u64.s32"])),
            _ => format!("mov.b32 {f}, {r}; mov.b64 {d}, {q}; {}", NAN.replace("%d", &d)),
        };
        let line = line + &NAN32.replace("%f", &f);
        self.put(&line);
    }

    fn predicate(&mut self) {
        let [p, other] = [self.register('p'), self.register('p')];
        let ordered = self.random.of(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let float = self
            .random
            .of(&["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]);
        let with = self.random.of(&["and", "or", "xor"]);
        let line = match self.random.below(7) {
            0 => format!(
                "setp.{ordered}.{} {p}, {}, {};",
                self.random.of(&["s32", "u32"]),
                self.register('r'),
                self.integer('r')
            ),
            1 => format!(
                "setp.{ordered}.{} {p}, {}, {};",
                self.random.of(&["s64", "u64"]),
                self.register('q'),
                self.integer('q')
            ),
            2 => format!("setp.{float}.f32 {p}, {}, {};", self.register('f'), self.register('f')),
            3 => format!("setp.{float}.f64 {p}, {}, {};", self.register('d'), self.register('d')),
            4 => format!("setp.{ordered}.{with}.s32 {p}, {}, {}, {other};", self.register('r'), self.integer('r')),
            5 => format!("{with}.pred {p}, {p}, {other};"),
            _ => format!("not.pred {p}, {other};"),
        };
        self.put(&line);
    }

    fn select(&mut self) {
        let p = self.register('p');
        let letter = self.random.of(&['r', 'q', 'f', 'd']);
        let ty = match letter {
            'r' => "b32",
            'q' => "b64",
            'f' => "f32",
            _ => "f64",
        };
        let [d, a, b] = [(); 3].map(|()| self.register(letter));
        self.put(&format!("selp.{ty} {d}, {a}, {b}, {p};"));
    }

    /// Memory of the thread, at an address that it computes.
    fn local(&mut self) {
        let [r, q, at] = [self.register('r'), self.register('q'), self.register('r')];
        let line = match self.random.below(4) {
            0 => format!(
                "and.b32 %t0, {at}, 3; mul.wide.u32 %u1, %t0, 8; add.u64 %u1, %u0, %u1; st.local.u64 [%u1], {q};"
            ),
            1 => format!(
                "and.b32 %t0, {at}, 3; mul.wide.u32 %u1, %t0, 8; add.u64 %u1, %u0, %u1; ld.local.u64 {q}, [%u1];"
            ),
            2 => format!(
                "and.b32 %t0, {at}, 31; cvt.u64.u32 %u1, %t0; add.u64 %u1, %u0, %u1; ld.local.{} {r}, [%u1];",
                self.random.of(&["u8", "s8"])
            ),
            _ => format!(
                "and.b32 %t0, {at}, 15; mul.wide.u32 %u1, %t0, 2; add.u64 %u1, %u0, %u1; st.local.u16 [%u1], {r}; ld.local.v2.u32 {{{r}, %t0}}, [mine+8];"
            ),
        };
        // `%u0` is the address only here: others compute in it.
        self.put(&format!("mov.u64 %u0, mine; {line}"));
    }

    fn branch(&mut self, uniform: bool) {
        let [one, two] = [self.label(), self.label()];
        self.depth += 1;
        match self.random.below(4) {
            0 => {
                let p = self.register('p');
                self.put(&format!("@{p} bra {one};"));
                self.several(false);
                self.put(&format!("{one}:"));
            }
            1 => {
                let p = self.register('p');
                self.put(&format!("@!{p} bra {one};"));
                self.several(false);
                self.put(&format!("bra {two};\n{one}:"));
                self.several(false);
                self.put(&format!("{two}:"));
            }
            2 if uniform => {
                let (counter, count) = (self.labels, 1 + self.random.below(3));
                self.put(&format!("mov.u32 %c{counter}, 0;\n{one}:"));
                self.several(true);
                self.put(&format!(
                    "add.u32 %c{counter}, %c{counter}, 1; setp.lt.u32 %m0, %c{counter}, {count}; @%m0 bra {one};"
                ));
            }
            _ => {
                let (counter, at) = (self.labels, self.register('r'));
                self.put(&format!("and.b32 %c{counter}, {at}, 3;\n{one}:"));
                self.several(false);
                self.put(&format!(
                    "sub.u32 %c{counter}, %c{counter}, 1; setp.ge.s32 %m0, %c{counter}, 0; @%m0 bra {one};"
                ));
            }
        }
        self.depth -= 1;
    }

    fn several(&mut self, uniform: bool) {
        for _ in 0..1 + self.random.below(5) {
            self.statement(uniform);
        }
    }

    /// Each thread writes its own word and reads that of another.
    fn shared(&mut self) {
        let [q, out] = [self.register('q'), self.register('q')];
        let (odd, add) = (2 * self.random.below(32) + 1, self.random.below(64));
        let [r, f] = [self.register('r'), self.register('f')];
        self.put(&format!(
            "st.shared.u64 [%room], {q}; bar.sync 0; mad.lo.u32 %t0, %me, {odd}, {add}; and.b32 %t0, %t0, 63; shl.b32 %t0, %t0, 3;
mov.u32 %t1, room; add.u32 %t0, %t0, %t1;"
        ));
        let at = self.random.below(2);
        let line = match self.random.below(6) {
            0 => format!("ld.shared.{} {r}, [%t0+{}];", self.random.of(&["u8", "s8"]), self.random.below(8)),
            1 => format!("ld.shared.{} {r}, [%t0+{}];", self.random.of(&["u16", "s16"]), 2 * self.random.below(4)),
            2 => format!("ld.shared.f32 {f}, [%t0+{}];", 4 * at),
            3 => format!("ld.shared.v2.u32 {{{r}, %t1}}, [%t0]; xor.b32 {r}, {r}, %t1;"),
            4 => format!("cvt.u64.u32 %u0, %t0; cvta.shared.u64 %u0, %u0; ld.u64 {out}, [%u0];"),
            _ => format!("ld.shared.u64 {out}, [%t0];"),
        };
        self.put(&line);
        self.put("bar.sync 0;");
    }

    /// Additions and the like, whose order does not matter.
    fn counters(&mut self) {
        let [r, q, out] = [self.register('r'), self.register('q'), self.register('r')];
        let op = self.random.of(&["add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32", "max.s32"]);
        let wide = self.random.of(&["add.u64", "max.u64", "min.s64", "xor.b64"]);
        let base = 8 * WORDS as u64 * u64::from(BLOCK * GRID);
        self.put(&format!(
            "and.b32 %t0, {out}, 15; shl.b32 %t0, %t0, 2; mov.u32 %t1, room; add.u32 %t0, %t0, %t1; bar.sync 0;
red.shared.{op} [%t0+512], {r}; bar.sync 0; and.b32 %t0, %lane, 15; shl.b32 %t0, %t0, 2; add.u32 %t0, %t0, %t1;
ld.shared.u32 {out}, [%t0+512]; bar.sync 0;"
        ));
        // Each word has its own operation: those of two kinds would not commute.
        let at = match wide {
            "add.u64" => 0,
            "max.u64" => 4,
            "min.s64" => 8,
            _ => 12,
        } + self.random.below(4);
        self.put(&format!("red.global.{wide} [%y+{}], {q};", base + 8 * at));
    }

    fn shuffle(&mut self) {
        let [d, a, b, p] = [self.register('r'), self.register('r'), self.integer('r'), self.register('p')];
        let width = self.random.of(&[32, 32, 16, 8, 2]);
        let mode = self.random.of(&["up", "down", "bfly", "idx"]);
        let bound = (32 - width) << 8 | if mode == "up" { 0 } else { 31 };
        self.put(&format!("and.b32 %t0, {b}, 31; shfl.sync.{mode}.b32 {d}|{p}, {a}, %t0, {bound:#x}, 0xffffffff;"));
    }

    fn together(&mut self) {
        let [d, a, p, q] = [self.register('r'), self.register('r'), self.register('p'), self.register('p')];
        let line = match self.random.below(6) {
            0 => format!("vote.sync.{}.pred {p}, {q}, 0xffffffff;", self.random.of(&["all", "any", "uni"])),
            1 => format!("vote.sync.ballot.b32 {d}, {q}, 0xffffffff;"),
            2 => format!("and.b32 %t0, {a}, 3; match.any.sync.b32 {d}, %t0, 0xffffffff;"),
            3 => format!("match.all.sync.b32 {d}|{p}, {a}, 0xffffffff;"),
            4 => format!(
                "redux.sync.{} {d}, {a}, 0xffffffff;",
                self.random.of(&["add.s32", "min.s32", "max.u32", "min.u32", "and.b32", "or.b32", "xor.b32"])
            ),
            _ => format!("bar.red.{} 0, {q};", self.random.of(&["and.pred PRED,", "or.pred PRED,", "popc.u32 WORD,"]))
                .replace("PRED", &p)
                .replace("WORD", &d),
        };
        self.put(&line);
    }
}

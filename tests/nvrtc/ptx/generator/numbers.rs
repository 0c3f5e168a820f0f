//! Arithmetic and conversions.

use super::{NAN, NAN32, Writer};

impl Writer {
    pub(super) fn word32(&mut self) {
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
            // Of two that are the same NVIDIA's compiler (of driver 580) makes something else: for `x ^ lop3(x, y, y, 0xbe)`, which is
            // `x ^ (x | y)`, it gives `y`.
            25 | 26 if a == b || a == c || b == c => format!("xor.b32 {d}, {a}, {b};"),
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

    pub(super) fn word64(&mut self) {
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

    pub(super) fn word16(&mut self) {
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

    pub(super) fn rounding(&mut self) -> &'static str {
        self.random.of(&["rn", "rn", "rz", "rm", "rp"])
    }

    pub(super) fn single(&mut self) {
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

    pub(super) fn double(&mut self) {
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

    pub(super) fn convert(&mut self) {
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
}

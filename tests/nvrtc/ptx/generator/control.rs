//! Predicates, branches, memory, and what threads do together.

use super::{BLOCK, GRID, WORDS, Writer};

impl Writer {
    pub(super) fn predicate(&mut self) {
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

    pub(super) fn select(&mut self) {
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
    pub(super) fn local(&mut self) {
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

    pub(super) fn branch(&mut self, uniform: bool) {
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

    pub(super) fn several(&mut self, uniform: bool) {
        for _ in 0..1 + self.random.below(5) {
            self.statement(uniform);
        }
    }

    /// Each thread writes its own word and reads that of another.
    pub(super) fn shared(&mut self) {
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
    pub(super) fn counters(&mut self) {
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

    pub(super) fn shuffle(&mut self) {
        let [d, a, b, p] = [self.register('r'), self.register('r'), self.integer('r'), self.register('p')];
        let width = self.random.of(&[32, 32, 16, 8, 2]);
        let mode = self.random.of(&["up", "down", "bfly", "idx"]);
        let bound = (32 - width) << 8 | if mode == "up" { 0 } else { 31 };
        self.put(&format!("and.b32 %t0, {b}, 31; shfl.sync.{mode}.b32 {d}|{p}, {a}, %t0, {bound:#x}, 0xffffffff;"));
    }

    pub(super) fn together(&mut self) {
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

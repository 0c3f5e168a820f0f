//! One instruction at a time, against the same formula in Rust.

use super::Case;

/// Words with special values for every type.
fn words() -> Vec<u64> {
    let special32 = [
        0u32,
        1,
        2,
        31,
        32,
        33,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_1234,
        0x0000_0001,
        0x8000_0001,
        0x007f_ffff,
        0x7f7f_ffff,
        0x4b00_0001,
        0x3eaa_aaab,
        0xc2f6_e979,
        0x0001_8765,
    ];
    let special64 = [
        0u64,
        1,
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        u64::MAX,
        1.5f64.to_bits(),
        (-0.75f64).to_bits(),
        f64::INFINITY.to_bits(),
        f64::NEG_INFINITY.to_bits(),
        f64::NAN.to_bits(),
        f64::MIN_POSITIVE.to_bits(),
        f64::MAX.to_bits(),
        4e9f64.to_bits(),
        0.1f64.to_bits(),
    ];
    special32.iter().map(|word| u64::from(*word)).chain(special64).collect()
}

/// Runs `d = instruction(a, b, c)` over all triples of a small set and compares the low `bits`.
#[track_caller]
fn same(instruction: &str, registers: [&str; 2], bits: u32, want: impl Fn(u64, u64, u64) -> u64) {
    let all = words();
    let mut x = Vec::new();
    for (n, a) in all.iter().enumerate() {
        for (m, b) in all.iter().enumerate() {
            x.extend([*a, *b, all[(n * 7 + m * 3 + 1) % all.len()]]);
        }
    }
    let count = x.len() / 3;
    let (grid, block) = (count.div_ceil(64) as u32, 64);
    x.resize(3 * (grid * block) as usize, 0);
    let mut y = vec![0u64; (grid * block) as usize];
    let [to, from] = registers;
    let kind = |register: &str| match &register[..2] {
        "%h" => "u16",
        "%r" => "u32",
        "%f" => "f32",
        "%d" => "f64",
        _ => "u64",
    };
    let text =
        instruction.replace('D', &format!("{to}1")).replace('A', &format!("{from}2")).replace('B', &format!("{from}3"));
    let text = text.replace('C', &format!("{from}4"));
    let load = kind(from);
    let predicate = to == "%p";
    let store = match predicate {
        true => "selp.u64 %q1, 1, 0, %p1; st.global.u64 [%y], %q1;".to_owned(),
        false => format!("st.global.{} [%y], {to}1;", kind(to)),
    };
    let body = format!(
        "mul.lo.u64 %q9, %at, 3; add.u64 %x, %x, %q9; add.u64 %y, %y, %at;
         ld.global.{load} {from}2, [%x]; ld.global.{load} {from}3, [%x+8]; ld.global.{load} {from}4, [%x+16];
         {text}; {store}"
    );
    Case { grid, block, ..Case::new(&body) }.run(&x, &mut y).unwrap_or_else(|fault| panic!("{instruction}: {fault}"));
    let mask = u64::MAX >> (64 - bits);
    for (n, got) in y.iter().take(count).enumerate() {
        let [a, b, c] = [x[3 * n], x[3 * n + 1], x[3 * n + 2]];
        let want = want(a, b, c) & mask;
        assert_eq!(got & mask, want, "{instruction} of {a:#x}, {b:#x}, {c:#x}: {got:#x}, not {want:#x}");
    }
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// The one NaN of computed `f32`.
fn b(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits().into() }
}

fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

#[test]
fn integers_are_those_of_rust() {
    let r = ["%r", "%r"];
    let q = ["%q", "%q"];
    same("add.s32 D, A, B", r, 32, |a, b, _| a.wrapping_add(b));
    same("sub.s64 D, A, B", q, 64, |a, b, _| a.wrapping_sub(b));
    same("mul.lo.s32 D, A, B", r, 32, |a, b, _| a.wrapping_mul(b));
    same("mul.hi.u64 D, A, B", q, 64, |a, b, _| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    same("mul.hi.s32 D, A, B", r, 32, |a, b, _| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u64);
    same("mul.wide.s32 D, A, B", ["%q", "%r"], 64, |a, b, _| (i64::from(a as i32) * i64::from(b as i32)) as u64);
    same("mad.lo.u32 D, A, B, C", r, 32, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    same("mad.hi.u32 D, A, B, C", r, 32, |a, b, c| ((a as u32 as u64 * (b as u32 as u64)) >> 32).wrapping_add(c));
    same("div.s32 D, A, B", r, 32, |a, b, _| match b as i32 {
        0 => u64::MAX,
        b => (a as i32).wrapping_div(b) as u64,
    });
    same("rem.u64 D, A, B", q, 64, |a, b, _| if b == 0 { a } else { a % b });
    same("min.s32 D, A, B", r, 32, |a, b, _| (a as i32).min(b as i32) as u64);
    same("max.u64 D, A, B", q, 64, |a, b, _| a.max(b));
    same("shl.b32 D, A, B", r, 32, |a, b, _| if b as u32 > 31 { 0 } else { a << (b as u32) });
    same("shr.s32 D, A, B", r, 32, |a, b, _| ((a as i32) >> (b as u32).min(31)) as u64);
    same("shr.u32 D, A, B", r, 32, |a, b, _| if b as u32 > 31 { 0 } else { (a as u32 >> (b as u32)).into() });
    same("shf.l.wrap.b32 D, A, B, C", r, 32, |a, b, c| {
        ((u64::from(b as u32) << 32 | u64::from(a as u32)) << (c & 31)) >> 32
    });
    same("prmt.b32 D, A, B, 0x0123", r, 32, |a, _, _| u64::from((a as u32).swap_bytes()));
    same("popc.b64 D, A", ["%r", "%q"], 32, |a, _, _| a.count_ones().into());
    same("clz.b32 D, A", r, 32, |a, _, _| (a as u32).leading_zeros().into());
    same("bfind.u32 D, A", r, 32, |a, _, _| (a as u32).checked_ilog2().map_or(u64::MAX, u64::from));
    same("brev.b32 D, A", r, 32, |a, _, _| (a as u32).reverse_bits().into());
    same("bfe.u32 D, A, 4, 9", r, 32, |a, _, _| a >> 4 & 0x1ff);
    same("bfe.s32 D, A, 4, 9", r, 32, |a, _, _| ((a as i32) << 19 >> 23) as u64);
    same("bfi.b32 D, A, B, 5, 7", r, 32, |a, b, _| b & !(0x7f << 5) | (a & 0x7f) << 5);
    same("lop3.b32 D, A, B, C, 0x1d", r, 32, |a, b, c| {
        // Rows 0, 2, 3 and 4 of the table.
        !a & !b & !c | !a & b & !c | !a & b & c | a & !b & !c
    });
    same("sad.s32 D, A, B, C", r, 32, |a, b, c| c.wrapping_add((a as i32).abs_diff(b as i32).into()));
    same("dp4a.s32.s32 D, A, B, C", r, 32, |a, b, c| {
        let pairs = (a as u32).to_le_bytes().into_iter().zip((b as u32).to_le_bytes());
        pairs.fold(c as i32, |sum, (a, b)| sum.wrapping_add(i32::from(a as i8) * i32::from(b as i8))) as u64
    });
    same("cvt.s64.s32 D, A", ["%q", "%r"], 64, |a, _, _| a as i32 as i64 as u64);
    same("cvt.u32.u16 D, A", ["%r", "%h"], 32, |a, _, _| a & 0xffff);
    same("cvt.s32.s8 D, A", r, 32, |a, _, _| a as i8 as i32 as u64);
    same("cvt.sat.u8.s32 D, A", r, 8, |a, _, _| (a as i32).clamp(0, 255) as u64);
    same("setp.lt.s32 D, A, B", ["%p", "%r"], 1, |a, b, _| u64::from((a as i32) < b as i32));
    same("setp.ge.u64 D, A, B", ["%p", "%q"], 1, |a, b, _| u64::from(a >= b));
    same("add.cc.u32 %r8, A, B; addc.u32 D, A, B", r, 32, |a, b, _| {
        let carry = u64::from((a as u32).checked_add(b as u32).is_none());
        a.wrapping_add(b).wrapping_add(carry)
    });
    // A GPU keeps the complement of a borrow.
    same("sub.cc.u32 %r8, A, B; subc.u32 D, A, 0", r, 32, |a, b, _| a.wrapping_sub(u64::from((a as u32) < b as u32)));
    same("sub.cc.u32 %r8, A, B; addc.u32 D, A, 0", r, 32, |a, b, _| a.wrapping_add(u64::from(a as u32 >= b as u32)));
    same("add.cc.u32 %r8, A, B; subc.u32 D, A, 0", r, 32, |a, b, _| {
        a.wrapping_sub(u64::from((a as u32).checked_add(b as u32).is_some()))
    });
    same("sub.cc.u64 %q8, A, B; subc.cc.u64 %q8, A, B; subc.u64 D, A, 0", ["%q", "%q"], 64, |a, b, _| {
        let first = a < b;
        a.wrapping_sub(u64::from(u128::from(a) < u128::from(b) + u128::from(first)))
    });
}

#[test]
fn floats_are_those_of_rust_with_one_nan() {
    let s = ["%f", "%f"];
    let w = ["%d", "%d"];
    same("add.rn.f32 D, A, B", s, 32, |x, y, _| b(f(x) + f(y)));
    same("mul.f32 D, A, B", s, 32, |x, y, _| b(f(x) * f(y)));
    same("fma.rn.f32 D, A, B, C", s, 32, |x, y, z| b(f(x).mul_add(f(y), f(z))));
    same("div.rn.f32 D, A, B", s, 32, |x, y, _| b(f(x) / f(y)));
    same("sqrt.rn.f32 D, A", s, 32, |x, _, _| b(f(x).sqrt()));
    same("neg.f32 D, A", s, 32, |x, _, _| x ^ 0x8000_0000);
    same("add.ftz.f32 D, A, B", s, 32, |x, y, _| {
        let flush = |x: f32| if x.is_subnormal() { 0.0f32.copysign(x) } else { x };
        b(flush(flush(f(x)) + flush(f(y))))
    });
    same("add.sat.f32 D, A, B", s, 32, |x, y, _| {
        let sum = f(x) + f(y);
        b(if sum > 0.0 { sum.min(1.0) } else { 0.0 })
    });
    same("fma.rn.f64 D, A, B, C", w, 64, |x, y, z| {
        let value = d(x).mul_add(d(y), d(z));
        value.to_bits()
    });
    same("setp.ltu.f32 D, A, B", ["%p", "%f"], 1, |x, y, _| u64::from(f(x) < f(y) || f(x).is_nan() || f(y).is_nan()));
    same("setp.ne.f32 D, A, B", ["%p", "%f"], 1, |x, y, _| u64::from(f(x) < f(y) || f(x) > f(y)));
    same("setp.nan.f64 D, A, B", ["%p", "%d"], 1, |x, y, _| u64::from(d(x).is_nan() || d(y).is_nan()));
    same("cvt.rzi.s32.f32 D, A", ["%r", "%f"], 32, |x, _, _| f(x) as i32 as u64);
    same("cvt.rn.f32.s32 D, A", ["%f", "%r"], 32, |x, _, _| b(x as i32 as f32));
    same("cvt.rn.f32.u64 D, A", ["%f", "%q"], 32, |x, _, _| b(x as f32));
    same("cvt.rn.f64.s64 D, A", ["%d", "%q"], 64, |x, _, _| (x as i64 as f64).to_bits());
    // A NaN stays the one that it is.
    same("cvt.rn.f32.f64 D, A", ["%f", "%d"], 32, |x, _, _| (d(x) as f32).to_bits().into());
    same("cvt.rni.f32.f32 D, A", s, 32, |x, _, _| b(f(x).round_ties_even()));
    same("cvt.rmi.f64.f64 D, A", w, 64, |x, _, _| d(x).floor().to_bits());
}

/// A directed result is the nearest number on that side: its neighbours say so.
#[test]
fn directed_rounding_keeps_to_its_side() {
    // The exact sum and product of two `f32` are compared as `f64` pairs by the same test in both directions.
    let values = [1.0f32, 3.0, 1e-30, -7.5, 0.1, 1e30, f32::MAX, f32::MIN_POSITIVE, -1e-44, 16_777_217.0];
    for x in values {
        for y in values {
            let run = |instruction: &str| {
                let body = format!(
                    "ld.global.f32 %f2, [%x]; ld.global.f32 %f3, [%x+8]; {instruction} %f1, %f2, %f3; st.global.f32 [%y], %f1;"
                );
                let (words, mut out) = (vec![x.to_bits().into(), y.to_bits().into()], vec![0u64; 1]);
                Case { block: 1, ..Case::new(&body) }.run(&words, &mut out).unwrap();
                f32::from_bits(out[0] as u32)
            };
            let product = f64::from(x) * f64::from(y);
            let (down, up, zero) = (run("mul.rm.f32"), run("mul.rp.f32"), run("mul.rz.f32"));
            assert!(f64::from(down) <= product && f64::from(up) >= product, "{x} * {y}: {down} {up}");
            assert!(down == up || down.next_up() == up, "{x} * {y}: {down} {up}");
            assert_eq!(zero, if product > 0.0 { down } else { up });
            let (down, up) = (run("add.rm.f32"), run("add.rp.f32"));
            let near = x + y;
            assert!(
                down <= near && near <= up && (down == up || down.next_up() == up),
                "{x} + {y}: {down} {near} {up}"
            );
        }
    }
}

#[test]
fn halves_round_once() {
    use windlass::{bf16, f16};
    for (x, y, z) in [(1.0, 2.0, 3.0), (0.1, 0.2, -0.02), (300.0, 300.0, 1.0), (6e-5, 3e-5, 1e-7), (1.0, 0.000_49, 1.0)]
    {
        let [a, b, c] = [x, y, z].map(f16::from_f64);
        let body = "ld.global.u16 %h2, [%x]; ld.global.u16 %h3, [%x+8]; ld.global.u16 %h4, [%x+16];
            fma.rn.f16 %h1, %h2, %h3, %h4; st.global.u16 [%y], %h1; mov.b32 %r1, {%h2, %h3}; mov.b32 %r2, {%h3, %h4};
            add.f16x2 %r3, %r1, %r2; st.global.u32 [%y+8], %r3;";
        let words = [a, b, c].map(|half| u64::from(half.to_bits()));
        let mut out = vec![0u64; 2];
        Case { block: 1, ..Case::new(body) }.run(&words, &mut out).unwrap();
        // The product is exact in `f64`, and so is the sum of these.
        let want = f16::from_f64(a.to_f64() * b.to_f64() + c.to_f64());
        assert_eq!(f16::from_bits(out[0] as u16), want, "{x} {y} {z}");
        let pair = [a.to_f64() + b.to_f64(), b.to_f64() + c.to_f64()].map(f16::from_f64);
        assert_eq!([out[1] as u16, (out[1] >> 16) as u16].map(f16::from_bits), pair);
    }
    let body = "ld.global.u64 %q1, [%x]; cvt.u32.u64 %r1, %q1; mov.b32 %f1, %r1; cvt.rn.bf16.f32 %h1, %f1; st.global.u16 [%y], %h1;";
    for value in [1.0f32, 1.003_906_3, f32::MAX, -0.0, f32::INFINITY] {
        let mut out = vec![0u64];
        Case { block: 1, ..Case::new(body) }.run(&[value.to_bits().into()], &mut out).unwrap();
        assert_eq!(bf16::from_bits(out[0] as u16), bf16::from_f32(value));
    }
}

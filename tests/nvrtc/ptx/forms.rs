//! Each form of the arithmetic instructions by itself, on numbers near every border: the machine and the device under test give the
//! same bits. Which NaN a result is, is compared where PTX says it.

use super::HEAD;
use super::generator::Random;
use super::random::{machine, on};
use windlass::ptx::PtxModule;

/// Threads, each with three operands.
pub(super) const COUNT: usize = 4096;

/// All forms: `%fd` is a result of 32 bits, `%da` an operand of 64, and so on: `r` and `q` integers, `h` 16 bits, `p` predicates.
fn forms() -> Vec<String> {
    let mut all = Vec::new();
    let each = |all: &mut Vec<String>, names: &str, form: &str| {
        all.extend(names.split_whitespace().map(|name| form.replace('@', name)));
    };
    let hows = "rn rz rm rp";
    for how in hows.split(' ') {
        for flush in ["", ".ftz"] {
            for sat in ["", ".sat"] {
                each(&mut all, "add sub mul", &format!("@.{how}{flush}{sat}.f32 %fd, %fa, %fb"));
                all.push(format!("fma.{how}{flush}{sat}.f32 %fd, %fa, %fb, %fc"));
            }
            all.push(format!("div.{how}{flush}.f32 %fd, %fa, %fb"));
            each(&mut all, "sqrt rcp", &format!("@.{how}{flush}.f32 %fd, %fa"));
        }
        each(&mut all, "add sub mul div", &format!("@.{how}.f64 %dd, %da, %db"));
        each(&mut all, "sqrt rcp", &format!("@.{how}.f64 %dd, %da"));
        each(&mut all, "s32 u32", &format!("cvt.{how}.f32.@ %fd, %ra"));
        each(&mut all, "s64 u64", &format!("cvt.{how}.f32.@ %fd, %qa"));
        each(&mut all, "s64 u64", &format!("cvt.{how}.f64.@ %dd, %qa"));
        all.push(format!("cvt.{how}.f32.f64 %fd, %da"));
        all.push(format!("cvt.{how}.ftz.f32.f64 %fd, %da"));
    }
    all.push("fma.rn.f64 %dd, %da, %db, %dc".into());
    each(&mut all, "rn rz", "cvt.@.f16.f32 %hd, %fa");
    each(&mut all, "rni rzi rmi rpi", "cvt.@.f32.f32 %fd, %fa");
    each(&mut all, "rni rzi rmi rpi", "cvt.@.f64.f64 %dd, %da");
    for whole in ["rni", "rzi", "rmi", "rpi"] {
        for ty in ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"] {
            let to = match &ty[1..] {
                "64" => 'q',
                "32" => 'r',
                _ => 'h',
            };
            all.push(format!("cvt.{whole}.{ty}.f32 %{to}d, %fa"));
            all.push(format!("cvt.{whole}.ftz.{ty}.f32 %{to}d, %fa"));
            all.push(format!("cvt.{whole}.{ty}.f64 %{to}d, %da"));
        }
    }
    all.extend(
        ["cvt.f32.f16 %fd, %ha", "cvt.f64.f32 %dd, %fa", "cvt.f64.f16 %dd, %ha", "cvt.ftz.f64.f32 %dd, %fa"]
            .map(String::from),
    );
    each(&mut all, "s32.s16 u32.u16 s32.u16 u32.s16", "cvt.@ %rd, %ha");
    each(&mut all, "u16.u32 s16.s32 sat.s16.s32 sat.u16.u32 sat.u16.s32 sat.s16.u32", "cvt.@ %hd, %ra");
    each(&mut all, "s64.s32 u64.u32 u64.s32", "cvt.@ %qd, %ra");
    each(&mut all, "sat.s32.s64 sat.u32.u64 sat.u32.s64 sat.s32.u64 u32.u64", "cvt.@ %rd, %qa");
    for flush in ["", ".ftz"] {
        each(&mut all, "min max min+.NaN max+.NaN", &format!("@{flush}.f32 %fd, %fa, %fb"));
        each(&mut all, "abs neg", &format!("@{flush}.f32 %fd, %fa"));
        each(
            &mut all,
            "eq ne lt le gt ge equ neu ltu leu gtu geu num nan",
            &format!("setp.@{flush}.f32 %pd, %fa, %fb"),
        );
    }
    all.iter_mut().filter(|form| form.contains('+')).for_each(|form| {
        let flush = form.contains(".ftz");
        *form = form.replace(".ftz", "").replace("+.NaN", if flush { ".ftz.NaN" } else { ".NaN" });
    });
    each(&mut all, "min max copysign", "@.f64 %dd, %da, %db");
    all.push("copysign.f32 %fd, %fa, %fb".into());
    each(&mut all, "abs neg", "@.f64 %dd, %da");
    each(&mut all, "eq ne lt le gt ge equ neu ltu leu gtu geu num nan", "setp.@.f64 %pd, %da, %db");
    each(&mut all, "finite infinite number notanumber normal subnormal", "testp.@.f32 %pd, %fa");
    each(&mut all, "finite infinite number notanumber normal subnormal", "testp.@.f64 %pd, %da");
    let two = "add.u32 sub.s32 mul.lo.u32 mul.hi.u32 mul.hi.s32 min.s32 max.s32 min.u32 max.u32 and.b32 or.b32 xor.b32 add.sat.s32 sub.sat.s32
        mul24.lo.u32 mul24.lo.s32 mul24.hi.u32 mul24.hi.s32 shl.b32 shr.u32 shr.s32";
    each(&mut all, two, "@ %rd, %ra, %rb");
    let three = "mad.lo.s32 mad.hi.u32 mad.hi.s32 sad.s32 sad.u32 bfe.u32 bfe.s32 shf.l.wrap.b32 shf.r.wrap.b32 shf.l.clamp.b32 shf.r.clamp.b32
        prmt.b32 prmt.b32.f4e prmt.b32.b4e prmt.b32.rc8 prmt.b32.ecl prmt.b32.ecr prmt.b32.rc16 slct.s32.s32 slct.u32.s32
        dp4a.u32.u32 dp4a.s32.s32 dp4a.s32.u32 dp4a.u32.s32";
    each(&mut all, three, "@ %rd, %ra, %rb, %rc");
    each(
        &mut all,
        "popc.b32 clz.b32 brev.b32 not.b32 cnot.b32 neg.s32 abs.s32 bfind.u32 bfind.s32 bfind.shiftamt.u32 bfind.shiftamt.s32",
        "@ %rd, %ra",
    );
    each(&mut all, "slct.f32.s32", "@ %fd, %fa, %fb, %rc");
    each(&mut all, "slct.s32.f32", "@ %rd, %ra, %rb, %fc");
    each(&mut all, "slct.ftz.s32.f32", "@ %rd, %ra, %rb, %fc");
    for table in [0x01, 0x1b, 0x96, 0xca, 0xe8, 0xfe] {
        all.push(format!("lop3.b32 %rd, %ra, %rb, %rc, {table:#x}"));
    }
    each(&mut all, "div.u32 rem.u32 div.s32 rem.s32", "or.b32 %rb, %rb, 1; @ %rd, %ra, %rb");
    each(&mut all, "div.u64 rem.u64 div.s64 rem.s64", "or.b64 %qb, %qb, 1; @ %qd, %qa, %qb");
    all.push("bfi.b32 %rd, %ra, %rb, %rc, 7".into());
    all.push("mov.u32 %rd, %rb; bfi.b32 %rd, %ra, %rb, 5, %rc".into());
    all.push("and.b32 %rc, %rc, 255; bfi.b64 %qd, %qa, %qb, %rc, 17".into());
    each(&mut all, "bfe.u64 bfe.s64", "and.b32 %rb, %rb, 255; and.b32 %rc, %rc, 255; @ %qd, %qa, %rb, %rc");
    each(
        &mut all,
        "add.s64 sub.u64 mul.lo.s64 mul.hi.u64 mul.hi.s64 min.s64 max.u64 and.b64 or.b64 xor.b64",
        "@ %qd, %qa, %qb",
    );
    each(&mut all, "mad.lo.u64 mad.hi.u64 mad.hi.s64 sad.u64 sad.s64", "@ %qd, %qa, %qb, %qc");
    each(&mut all, "shl.b64 shr.u64 shr.s64", "@ %qd, %qa, %rb");
    each(&mut all, "not.b64 neg.s64 abs.s64 brev.b64 cnot.b64", "@ %qd, %qa");
    each(&mut all, "popc.b64 clz.b64 bfind.u64 bfind.s64 bfind.shiftamt.u64", "@ %rd, %qa");
    each(&mut all, "mul.wide.s32 mul.wide.u32", "@ %qd, %ra, %rb");
    each(&mut all, "mad.wide.s32 mad.wide.u32", "@ %qd, %ra, %rb, %qc");
    each(
        &mut all,
        "add.u16 sub.s16 mul.lo.u16 mul.hi.s16 mul.hi.u16 min.s16 max.u16 and.b16 xor.b16",
        "@ %hd, %ha, %hb",
    );
    each(&mut all, "shl.b16 shr.u16 shr.s16", "@ %hd, %ha, %rb");
    each(&mut all, "mul.wide.s16 mul.wide.u16", "@ %rd, %ha, %hb");
    each(&mut all, "neg.s16 abs.s16 not.b16 cnot.b16", "@ %hd, %ha");
    each(&mut all, "eq ne lt le gt ge lo ls hi hs", "setp.@.u32 %pd, %ra, %rb");
    each(&mut all, "eq ne lt le gt ge", "setp.@.s64 %pd, %qa, %qb");
    each(&mut all, "eq ne lt le gt ge", "setp.@.s16 %pd, %ha, %hb");
    each(&mut all, "lt.u32.s32 ge.u32.s32 eq.s32.u32", "set.@ %rd, %ra, %rb");
    each(&mut all, "lt.f32.f32 ge.f32.f32 geu.f32.f32", "set.@ %fd, %fa, %fb");
    each(&mut all, "lt.u32.f32 neu.s32.f32", "set.@ %rd, %fa, %fb");
    all.push("add.cc.u32 %ra, %ra, %rb; addc.u32 %rd, %rc, 0".into());
    all.push("sub.cc.u32 %ra, %ra, %rb; subc.u32 %rd, %rc, 3".into());
    all.push("mad.lo.cc.u32 %rd, %ra, %rb, %rc; madc.hi.u32 %rd, %ra, %rb, %rd".into());
    all.push("add.cc.u64 %qa, %qa, %qb; addc.u64 %qd, %qc, 0".into());
    let halves = "add.rn.f16 sub.rn.f16 mul.rn.f16 add.rn.sat.f16 min.f16 max.f16 min.NaN.f16 max.NaN.f16 add.ftz.f16 mul.ftz.f16";
    each(&mut all, halves, "@ %hd, %ha, %hb");
    each(&mut all, "fma.rn.f16 fma.rn.sat.f16 fma.rn.relu.f16 fma.rn.ftz.f16", "@ %hd, %ha, %hb, %hc");
    each(&mut all, "neg.f16 abs.f16", "@ %hd, %ha");
    each(&mut all, "eq ne lt ge equ leu num nan", "setp.@.f16 %pd, %ha, %hb");
    each(&mut all, "add.rn.f16x2 mul.rn.f16x2 min.f16x2 fma.rn.f16x2", "@ %rd, %ra, %rb");
    all.iter_mut().filter(|form| form.starts_with("fma.rn.f16x2")).for_each(|form| form.push_str(", %rc"));
    all.push("cvt.rn.f16x2.f32 %rd, %fa, %fb".into());
    all.push("cvt.rn.bf16x2.f32 %rd, %fa, %fb".into());
    all.push("cvt.rn.bf16.f32 %hd, %fa".into());
    all
}

/// The letter of the result.
fn letter(form: &str) -> char {
    let last = form.rsplit(';').next().unwrap_or(form);
    last.split_once('%').and_then(|(_, rest)| rest.chars().next()).unwrap_or('r')
}

/// A kernel of 256 threads a block that writes the result of the form as 64 bits.
fn text(form: &str) -> String {
    let (to, end) = match letter(form) {
        'q' => ("u64", "%qd"),
        'd' => ("f64", "%dd"),
        'f' => ("f32", "%fd"),
        'h' => ("u16", "%hd"),
        'p' => ("u32", "%rd"),
        _ => ("u32", "%rd"),
    };
    let chosen = if letter(form) == 'p' { "selp.u32 %rd, 1, 0, %pd;" } else { "" };
    let head = HEAD.replace("sm_75", "sm_80");
    let mut moves = String::new();
    for (n, one) in ["a", "b", "c"].iter().enumerate() {
        moves += &format!(
            "ld.global.u64 %q{one}, [%x+{}]; mov.b64 {{%r{one}, %t}}, %q{one}; mov.b32 %f{one}, %r{one}; mov.b64 %d{one}, %q{one}; cvt.u16.u32 %h{one}, %r{one};\n",
            n * 8
        );
    }
    format!(
        "{head}.visible .entry k(.param .u64 x, .param .u64 y) {{
.reg .b32 %ra, %rb, %rc, %rd, %t, %n; .reg .b64 %qa, %qb, %qc, %qd, %x, %y, %u; .reg .b16 %ha, %hb, %hc, %hd;
.reg .f32 %fa, %fb, %fc, %fd; .reg .f64 %da, %db, %dc, %dd; .reg .pred %pd;
ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; mov.u32 %t, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %t, %t, 256, %n;
mul.wide.u32 %u, %t, 24; add.u64 %x, %x, %u; mul.wide.u32 %u, %t, 8; add.u64 %y, %y, %u;
{moves}{form}; {chosen} st.global.{to} [%y], {end}; ret;
}}\n"
    )
}

/// Operands as the form takes them.
fn inputs(form: &str) -> Vec<u64> {
    let random = &mut Random(7);
    let singles: Vec<u64> = [
        0u32,
        1,
        2,
        0x7f_ffff,
        0x80_0000,
        0x80_0001,
        0x3f80_0000,
        0x3f7f_ffff,
        0x3f80_0001,
        0x3f00_0000,
        0x3eff_ffff,
        0x3fc0_0000,
        0x4b00_0001,
        0x4aff_ffff,
        0x4f00_0000,
        0x4eff_ffff,
        0x4f80_0000,
        0x5f00_0000,
        0x5f80_0000,
        0x437f_0000,
        0x42fe_8000,
        0x4780_0000,
        0x477f_e000,
        0x477f_f000,
        0x3380_0000,
        0x3300_0000,
        0x387f_c000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fff_ffff,
        0x7fc0_0000,
        0x7f80_0001,
    ]
    .iter()
    .flat_map(|bits| [u64::from(*bits), u64::from(*bits | 1 << 31)])
    .collect();
    let doubles: Vec<u64> = [
        0u64,
        1,
        2,
        0xf_ffff_ffff_ffff,
        0x10_0000_0000_0000,
        0x10_0000_0000_0001,
        0x3ff0_0000_0000_0000,
        0x3fef_ffff_ffff_ffff,
        0x3ff0_0000_0000_0001,
        0x3fe0_0000_0000_0000,
        0x3fdf_ffff_ffff_ffff,
        0x3ff8_0000_0000_0000,
        0x41df_ffff_ffc0_0000,
        0x41e0_0000_0000_0000,
        0x41ef_ffff_ffe0_0000,
        0x41f0_0000_0000_0000,
        0x43e0_0000_0000_0000,
        0x43df_ffff_ffff_ffff,
        0x43f0_0000_0000_0000,
        0x4330_0000_0000_0001,
        0x432f_ffff_ffff_ffff,
        0x36a0_0000_0000_0000,
        0x3690_0000_0000_0000,
        0x380f_ffff_ffff_ffff,
        0x47ef_ffff_f000_0000,
        0x47ef_ffff_e000_0000,
        0x7fef_ffff_ffff_ffff,
        0x7ff0_0000_0000_0000,
        0x7ff8_0000_0000_0000,
        0x0360_0000_0000_0000,
        0x1ff0_0000_0000_0003,
    ]
    .iter()
    .flat_map(|bits| [*bits, *bits | 1 << 63])
    .collect();
    let integers: Vec<u64> =
        (0..64u32).flat_map(|n| [1u64 << n, (1u64 << n) - 1, (1u64 << n).wrapping_neg()]).collect();
    let source = form.rsplit(';').next().unwrap_or(form).split('%').nth(2).and_then(|rest| rest.chars().next());
    let special = match source {
        Some('f') => singles,
        Some('d') => doubles,
        _ => integers,
    };
    let wide = source == Some('d');
    (0..3 * COUNT)
        .map(|_| match random.below(4) {
            0 => random.word(),
            // Numbers of like size, so that sums cancel and quotients are near one.
            1 if wide => 0x3fe0_0000_0000_0000 | random.word() >> 9,
            1 => 0x3f00_0000 | random.word() >> 39 | random.word() << 32,
            _ => special[random.below(special.len() as u64) as usize],
        })
        .collect()
}

/// Whether two results are one. PTX names the NaN of these alone: 0x7fffffff of 32 bits.
fn is_same(form: &str, got: u64, want: u64) -> bool {
    let open = [
        "abs",
        "neg",
        "copysign",
        "cvt.rni.f32.f32",
        "cvt.rzi.f32.f32",
        "cvt.rmi.f32.f32",
        "cvt.rpi.f32.f32",
        "cvt.f32.f16",
        "slct",
    ];
    let nan = |bits: u64| match letter(form) {
        'd' => f64::from_bits(bits).is_nan(),
        'f' => open.iter().any(|name| form.starts_with(name)) && f32::from_bits(bits as u32).is_nan(),
        'h' if form.contains("16") => {
            bits & 0x7fff > 0x7c00 && form.contains(".f16") || bits & 0x7fff > 0x7f80 && form.contains("bf16")
        }
        _ => false,
    };
    got == want || nan(got) && nan(want)
}

#[test]
fn each_form_gives_the_same_bits_everywhere() {
    let devices: Vec<_> =
        crate::common::devices().into_iter().filter(|device| !crate::common::is_host(device)).collect();
    let (mut different, forms) = (0, forms());
    for form in &forms {
        let (text, x) = (text(form), inputs(form));
        if let Err(fault) = PtxModule::new(&text).and_then(|module| module.parameters("k")) {
            eprintln!("form {form}: {fault}");
            different += 1;
            continue;
        }
        let grid = (COUNT / 256) as u32;
        let want = machine(&text, &x, [grid, 256], COUNT, true);
        for device in &devices {
            let got = on(device, &text, &x, [grid, 256], COUNT);
            let wrong: Vec<usize> = (0..COUNT).filter(|at| !is_same(form, got[*at], want[*at])).collect();
            if let Some(at) = wrong.first() {
                different += 1;
                let [a, b, c] = [x[3 * at], x[3 * at + 1], x[3 * at + 2]];
                eprintln!(
                    "form {form}: {} differ, of {a:#x} {b:#x} {c:#x} it is {:#x} on {device:?} and {:#x} on the machine",
                    wrong.len(),
                    got[*at],
                    want[*at]
                );
            }
        }
    }
    eprintln!("{} forms", forms.len());
    assert_eq!(different, 0);
}

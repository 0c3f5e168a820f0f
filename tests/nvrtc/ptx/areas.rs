//! Memory at addresses that are not its own, and variables that the caller places.

use super::HEAD;
use windlass::error::FindingKind;
use windlass::ptx::{Area, Checks, Fault, PtxModule, Shape};

/// Adds the words at `x` to those at `y`.
const ADD: &str = "
    .visible .entry add(.param .u64 x, .param .u64 y) {
        .reg .u64 %q<9>; .reg .u32 %r<3>;
        ld.param.u64 %q1, [x]; ld.param.u64 %q2, [y];
        mov.u32 %r1, %tid.x; mul.wide.u32 %q3, %r1, 8; add.u64 %q1, %q1, %q3; add.u64 %q2, %q2, %q3;
        ld.global.u64 %q4, [%q1]; atom.global.add.u64 %q5, [%q2], %q4; st.global.u64 [%q2], %q5; red.global.add.u64 [%q2], %q4;
        ret;
    }";

/// 32 words at a multiple of 256.
#[repr(align(256))]
struct Words([u64; 32]);

impl Words {
    fn bytes(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

fn run(x: Area<'_>, y: Area<'_>, at: [u64; 2]) -> Result<(), Fault> {
    let module = PtxModule::new(&format!("{HEAD}{ADD}")).unwrap();
    let (shape, print) = (Shape::new([1, 1, 1], [32, 1, 1], 0), |_| ());
    module.launch("add", shape, bytemuck::cast_slice(&at), vec![x, y], Checks::ALL, &print)
}

#[test]
fn an_area_is_where_its_caller_says() {
    let (mut x, mut y) = (Words([3; 32]), Words([4; 32]));
    // Each lies where the other one is.
    let [here, there] = [x.bytes().as_ptr() as u64, y.bytes().as_ptr() as u64];
    run(Area::read("x", x.bytes()).at(there), Area::write("y", y.bytes()).at(here), [there, here]).unwrap();
    assert_eq!((x.0, y.0), ([3; 32], [7; 32]));
    // Where nothing is in this process; and a part of an area that begins at an odd place.
    let far = (1 << 59) + 512;
    run(Area::read("x", x.bytes()).at(far), Area::write("y", &mut y.bytes()[8..]).at(far + 264), [far, far + 264])
        .map_err(|fault| assert!(fault.to_string().contains("248 bytes after the start of y (248 bytes)"), "{fault}"))
        .unwrap_err();
    let found = run(Area::read("x", x.bytes()).at(far), Area::write("y", y.bytes()), [far + 8, there]).unwrap_err();
    assert!(found.to_string().contains("256 bytes after the start of x"), "{found}");
}

#[test]
fn an_address_that_an_area_cannot_have_is_refused() {
    let refused = |place: &dyn Fn(u64) -> u64, word: &str| {
        let (mut x, mut y) = (Words([3; 32]), Words([4; 32]));
        let there = y.bytes().as_ptr() as u64;
        let fault =
            run(Area::read("x", x.bytes()).at(place(there)), Area::write("y", y.bytes()), [there; 2]).unwrap_err();
        let Fault::Found(finding) = &fault else { panic!("{fault}") };
        assert!(finding.kind == FindingKind::Launch && finding.detail.contains(word), "{fault}");
        assert_eq!((x.0, y.0), ([3; 32], [4; 32]));
    };
    for off in [1, 8, 128, 255] {
        refused(&|_| 4096 + off, "modulo 256");
    }
    // Over others, wholly, at either end, or inside; and beyond all memory.
    refused(&|there| there, "share memory");
    let (mut x, mut y) = (vec![Words([3; 32]), Words([3; 32]), Words([3; 32])], Words([4; 32]));
    let there = y.bytes().as_ptr() as u64;
    for before in [0, 256, 512] {
        // SAFETY: plain words.
        let x = unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast::<u8>(), 768) };
        let fault = run(Area::read("x", x).at(there - before), Area::write("y", y.bytes()), [there; 2]).unwrap_err();
        assert!(fault.to_string().contains("share memory"), "{fault}");
    }
    for far in [(1 << 60) - 128 + 256, 1 << 60, 3 << 60, u64::MAX - 255, u64::MAX - 511] {
        let far = far & !255;
        refused(&|_| far, "ends above");
    }
    // Two that are only read may share their addresses, and none is written by them.
    let (mut x, mut y) = (Words([3; 32]), Words([3; 32]));
    let fault = run(Area::read("x", x.bytes()).at(1 << 20), Area::read("y", y.bytes()).at(1 << 20), [1 << 20; 2]);
    assert!(matches!(fault, Err(Fault::Found(found)) if found.kind == FindingKind::ReadOnly));
}

#[test]
fn variables_are_where_the_caller_places_them_and_keep_their_values() {
    let text = format!(
        "{HEAD}.visible .global .align 4 .u32 calls = 5;\n.const .align 8 .u64 table[3] = {{7, calls, 9}};
        .visible .entry count(.param .u64 y) {{
            .reg .u64 %q<5>; .reg .u32 %r<3>;
            ld.param.u64 %q1, [y];
            atom.global.add.u32 %r1, [calls], 1; cvt.u64.u32 %q2, %r1;
            ld.const.u64 %q3, [table+16]; add.u64 %q2, %q2, %q3; st.global.u64 [%q1], %q2; ret;
        }}"
    );
    let at = [1u64 << 40, 1 << 41];
    let mut asked = Vec::new();
    let module = PtxModule::placed(&text, &mut |name, bytes, align| {
        asked.push((name.to_owned(), bytes, align));
        at[asked.len() - 1]
    })
    .unwrap();
    assert_eq!(asked, [("calls".to_owned(), 4, 4), ("table".to_owned(), 24, 8)]);
    assert!(module.variables().count() == 0 && module.initial("nothing").unwrap().is_none());
    let (mut calls, mut table, mut y) = (Words([0; 32]), Words([0; 32]), Words([0; 32]));
    calls.bytes()[..4].copy_from_slice(&module.initial("calls").unwrap().unwrap());
    table.bytes()[..24].copy_from_slice(&module.initial("table").unwrap().unwrap());
    assert_eq!(table.0[..3], [7, at[0], 9]);
    for nth in 0..3 {
        let to = y.bytes().as_ptr() as u64;
        let areas = vec![
            Area::write("y", y.bytes()),
            Area::write("calls", &mut calls.bytes()[..4]).at(at[0]),
            Area::read("table", &table.bytes()[..24]).at(at[1]),
        ];
        let shape = Shape::new([1, 1, 1], [1, 1, 1], 0);
        module.launch("count", shape, &to.to_le_bytes(), areas, Checks::ALL, &|_| ()).unwrap();
        assert_eq!(y.0[0], 5 + nth + 9);
    }
    // Without their areas there is nothing at their addresses; and variables may not be endless.
    let shape = Shape::new([1, 1, 1], [1, 1, 1], 0);
    let fault = module.launch("count", shape, &[0; 8], vec![], Checks::ALL, &|_| ()).unwrap_err();
    assert!(matches!(&fault, Fault::Found(found) if found.kind == FindingKind::OutOfBounds), "{fault}");
    let huge = format!("{HEAD}.global .b8 one[1000000000];\n.global .b8 two[1000000000];\n");
    assert!(PtxModule::placed(&huge, &mut |_, _, _| 0).is_err() && PtxModule::new(&huge).is_err());
}

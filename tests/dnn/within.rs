//! The kernel that looks at numbers, on the PTX machine.

use windlass::ptx::{Area, Checks, PtxModule, Shape};

const TEXT: &str = include_str!("../../src/libraries/moves/within.ptx");

fn first(bytes: &[u8], len: usize, settings: [u64; 5]) -> u64 {
    let [kind, end, from_end, ignores, ignored] = settings;
    let module = PtxModule::new(TEXT).unwrap();
    let mut verdict = [0u64];
    let areas = [Area::read("numbers", bytes), Area::write("verdict", bytemuck::cast_slice_mut(&mut verdict))];
    let [numbers, to] = areas.each_ref().map(Area::address);
    let words = [numbers, len as u64, kind, end, from_end, ignores, ignored, to];
    let parameters: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let shape = Shape::new([len.div_ceil(256).max(1) as u32, 1, 1], [256, 1, 1], 0);
    module.launch("within", shape, &parameters, areas.into(), Checks::ALL, &|_| ()).unwrap();
    verdict[0]
}

#[test]
fn the_first_number_out_of_range_is_told() {
    let words = |all: &[i32]| first(bytemuck::cast_slice(all), all.len(), [0, 3, 1, 0, 0]);
    assert_eq!(words(&[0, -3, 2, -1]), 0);
    assert_eq!(words(&[0, 3, -4, 1]), !1);
    assert_eq!(words(&[0, 1, -4, i32::MAX]), !2);
    let labels = |all: &[i32]| first(bytemuck::cast_slice(all), all.len(), [0, 3, 0, 1, (-100i64).cast_unsigned()]);
    assert_eq!(labels(&[0, -100, 2]), 0);
    assert_eq!(labels(&[0, -100, -1]), !2);
    let unsigned = |all: &[u32]| first(bytemuck::cast_slice(all), all.len(), [1, 3, 0, 0, 0]);
    assert_eq!(unsigned(&[0, 2, u32::MAX]), !2);
    assert_eq!(unsigned(&[0, 2, 1]), 0);
    let long = |all: &[i64], from_end: u64, ignores: u64| {
        first(bytemuck::cast_slice(all), all.len(), [2, 1 << 40, from_end, ignores, 1 << 41])
    };
    let many: Vec<i64> = (0..600).map(|k| if k == 300 || k == 500 { 1 << 41 } else { k << 30 }).collect();
    assert_eq!(long(&many, 0, 0), !300);
    assert_eq!(long(&many, 0, 1), 0);
    assert_eq!(long(&[-1, -(1 << 40)], 1, 0), 0);
    assert_eq!(long(&[-1, -(1 << 40) - 1], 1, 0), !1);
    assert_eq!(long(&[-1], 0, 0), !0);
}

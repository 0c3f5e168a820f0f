//! A small kernel, which the CPU runs with every access checked: each thread copies elements between two layouts.

use super::*;
use crate::device::tensor::Layout;
use crate::engines::ptx::{Area, Checks, PtxModule, Shape};

/// Copies the element at an address to another one.
fn copy(writer: &mut Writer, to: Reg, from: Reg) {
    let value = writer.reg(Class::Word);
    ptx!(writer, "ld.global.u32 {value}, [{from}]");
    ptx!(writer, "st.global.u32 [{to}], {value}");
}

/// With words in fixed places.
fn fixed(index: Index, axes: usize) -> String {
    let writer = &mut Writer::default();
    let (count, [target, source]) = (writer.word(0, index.class), writer.words(1));
    let grid = Grid::new(writer, index);
    grid.begin(writer, count);
    grid.each(writer);
    let [to, from] = Offsets::new(writer, index, grid.task, axes, (3, 2)).all(writer);
    ptx!(writer, "add.s64 {to}, {to}, {target}");
    ptx!(writer, "add.s64 {from}, {from}, {source}");
    copy(writer, to, from);
    grid.end(writer, count);
    writer.module(&Parameter { words: 3 + 3 * axes, written: 1, read: 1 }).unwrap()
}

/// With words that get their places as they are read, here by the numbers of the others.
fn found(index: Index, axes: usize) -> (String, Words<usize>) {
    let (writer, words) = (&mut Writer::default(), &mut Words::new());
    let count = words.read(writer, 0, index.class);
    let bases = [1, 2].map(|word| words.read(writer, word, Class::Long));
    let grid = Grid::new(writer, index);
    grid.begin(writer, count);
    grid.each(writer);
    let mut extent = |writer: &mut Writer, axis| words.read(writer, 3 + 3 * axis, index.class);
    let coordinates = index.coordinates(writer, grid.task, axes, &mut extent);
    let [to, from] = [0, 1].map(|k| {
        let mut stride = |writer: &mut Writer, axis| words.read(writer, 4 + 3 * axis + k, index.class);
        index.address(writer, bases[k], &coordinates, &mut stride)
    });
    copy(writer, to, from);
    grid.end(writer, count);
    let parameter = Parameter { words: words.len(), written: 1, read: 1 };
    (writer.module(&parameter).unwrap(), words.clone())
}

#[test]
fn elements_are_found_by_their_coordinates_in_32_and_in_64_bits() {
    let (target, source) = (Layout::row_major([3, 5, 2]).unwrap(), Layout::new([3, 5, 2], [1, 6, 3], 0).unwrap());
    let x: Vec<u32> = (100..130).collect();
    let wanted: Vec<u32> = source.offsets().map(|at| x[at]).collect();
    for index in [Index::new(false), Index::WIDE] {
        for is_fixed in [true, false] {
            let mut y = vec![0u32; 30];
            let mut all = vec![30, y.as_ptr() as u64, x.as_ptr() as u64];
            push_axes(&mut all, &[(&target, 4), (&source, 4)]);
            let (text, words) = match is_fixed {
                true => (fixed(index, 3), all),
                false => {
                    let (text, words) = found(index, 3);
                    (text, words.values(|word| all[*word]))
                }
            };
            let areas =
                vec![Area::output("y", bytemuck::cast_slice_mut(&mut y)), Area::read("x", bytemuck::cast_slice(&x))];
            // Fewer threads than elements: each goes on to others.
            let shape = Shape::new([2, 1, 1], [5, 1, 1], 0);
            let module = PtxModule::new(&text).unwrap();
            module.launch("expression", shape, bytemuck::cast_slice(&words), areas, Checks::ALL, &|_| ()).unwrap();
            assert_eq!(y, wanted, "{text}");
        }
    }
}

#[test]
fn a_parameter_has_four_kibibytes() {
    let parameter = |words| Parameter { words, written: 0, read: 0 };
    assert!(Writer::default().module(&parameter(512)).is_ok());
    let error = Writer::default().module(&parameter(513)).unwrap_err();
    assert!(error.to_string().contains("4104 bytes, but a kernel takes 4096"), "{error}");
}

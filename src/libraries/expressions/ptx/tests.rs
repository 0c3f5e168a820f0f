//! The structure of the text.

use super::*;
use crate::device::tensor::Layout;
use crate::libraries::expressions::build::{Symbol, Symbols, constant, position, sealed};
use crate::libraries::expressions::formula::record;
use crate::libraries::expressions::nest::Nest;

fn text<I: Symbols>(layout: &Layout, f: impl FnOnce(I) -> Vec<crate::libraries::expressions::build::Raw>) -> String {
    let expr = &record(<I as sealed::Symbols>::DTYPES, |open| f(sealed::Symbols::inputs(open, 0))).unwrap().kept.expr;
    let outputs: Vec<Layout> = expr.outputs().iter().map(|_| layout.clone()).collect();
    let inputs: Vec<&Layout> = expr.inputs().iter().map(|_| layout).collect();
    let nest = Nest::new(expr, &outputs, &inputs).unwrap();
    Kernel::new(expr, &Arc::new(Geometry::new(expr, &nest))).unwrap().1
}

type Pair = (Symbol<f32>, Symbol<f32>);

#[test]
fn neighbours_are_moved_in_vectors_and_one_by_one_where_they_are_not_aligned() {
    let dense = text(&Layout::row_major([65]).unwrap(), |(x, y): Pair| vec![(x * y + 1.0).raw]);
    assert_eq!(dense.matches("ld.global.v4.f32").count(), 2);
    assert_eq!(dense.matches("st.global.v4.f32").count(), 1);
    assert_eq!((dense.matches("ld.global.f32").count(), dense.matches("st.global.f32").count()), (8, 4));
    let gaps = text(&Layout::new([65], [2], 0).unwrap(), |(x, y): Pair| vec![(x * y).raw]);
    assert!(!gaps.contains(".v4") && !gaps.contains("PART"));
}

#[test]
fn nothing_is_contracted_and_roundings_are_explicit() {
    let all = |(x, y, z): (Symbol<f32>, Symbol<f32>, Symbol<f32>)| {
        vec![(x * y + z).raw, x.fma(y, z).raw, (x / y).raw, x.sqrt().raw]
    };
    let text = text(&Layout::new([8], [3], 0).unwrap(), all);
    for line in text.lines().map(str::trim) {
        for op in ["add.f32", "sub.f32", "mul.f32", "div.f32", "sqrt.f32", "fma.f32", ".ftz", ".approx", "mad.f32"] {
            assert!(!line.contains(op), "{line}");
        }
    }
    for op in ["mul.rn.f32", "add.rn.f32", "fma.rn.f32", "div.rn.f32", "sqrt.rn.f32"] {
        assert_eq!(text.matches(op).count(), 1, "{op}");
    }
}

#[test]
fn indices_have_64_bits_only_where_they_must() {
    let of = |n: usize| text(&Layout::row_major([n]).unwrap(), |x: Symbol<f32>| vec![(-x).raw]);
    assert!(!of(1 << 20).contains("setp.ge.u64") && of(1 << 31).contains("setp.ge.u64"));
}

#[test]
fn what_is_the_same_for_all_elements_stands_before_the_loop() {
    let text = text(&Layout::row_major([64]).unwrap(), |x: Symbol<f32>| {
        let rate = (x * 0.0 + 2.0) * 3.0;
        vec![(rate + position(0).cast::<f32>() * constant(0.5)).raw]
    });
    let (before, inside) = text.split_once("LOOP:").unwrap();
    assert_eq!(
        before.matches("ld.param").count(),
        text.matches("ld.param").count() - inside.matches("ld.param").count()
    );
    assert!(inside.matches("ld.param").count() <= 1, "the stride of a position");
}

#[test]
fn large_angles_and_remainders_are_functions_of_the_module_each_once() {
    let text = text(&Layout::row_major([64]).unwrap(), |(x, y): Pair| {
        vec![(x.sin() + y.sin() + x.cos() % y).raw, (x % y).raw]
    });
    for name in ["sin_far_f32(", "cos_far_f32(", "rem_f32("] {
        assert_eq!(text.matches(&format!(") {name}")).count(), 1, "{name}");
    }
}

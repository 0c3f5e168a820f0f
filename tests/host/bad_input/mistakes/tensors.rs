//! Views, formulas, reductions, sorts and choices.

use super::{Mistake, i, said, waited, x, y};
use windlass::arrays::{By, Combine, Distance, Indexing, Method, SearchSide, meshgrid};
use windlass::expressions::Formula;
use windlass::expressions::Symbol;
use windlass::moves::Pad;
use windlass::reductions::{All, Keep};
use windlass::tensor::{AxisSlice, Layout};
use windlass::{Bool, Device, Tensor};

fn mask<const N: usize>(device: &Device, shape: [usize; N]) -> Tensor<Bool> {
    device.zeros(shape).unwrap()
}

pub(super) const OF_VIEWS: &[Mistake] = &[
    ("a range past the end", |d| said(x(d, [2, 3]).slice((.., 0..4))), ["`slices`", "0..4 on axis 1", "3 elements"]),
    (
        "a range that ends before it begins",
        |d| said(x(d, [2, 3]).slice((.., AxisSlice::Range { start: 3, end: Some(2), step: 1 }))),
        ["`slices`", "3..2 on axis 1", "3 elements"],
    ),
    ("more ranges than axes", |d| said(x(d, [2]).slice((.., ..))), ["`slices`", "2 ranges", "1 ax"]),
    (
        "a step of none",
        |d| said(x(d, [2]).slice(AxisSlice::from(..).step(0))),
        ["`slices`", "a step of 0, which leads nowhere", "axis 0"],
    ),
    ("an index past the end", |d| said(x(d, [2, 3]).index(1, 3)), ["`index`", "index 3 on axis 1", "3 elements"]),
    ("an index of no axis", |d| said(x(d, [2]).index(3, 0)), ["`axis`", "axis 3", "rank is 1"]),
    ("reshape to another size", |d| said(x(d, [2, 3]).reshape([4])), ["`extents`", "4 elements", "[2, 3] are 6"]),
    (
        "reshape of what is turned",
        |d| said(x(d, [2, 3]).transpose().reshape([6])),
        ["`extents`", "[3, 2]", "`contiguous`"],
    ),
    ("into_shape of another size", |d| said(x(d, [2, 3]).into_shape([7])), ["`extents`", "7", "6"]),
    ("permute of too few axes", |d| said(x(d, [2, 3]).permute([0])), ["`axes`", "1 of 2 axes", ""]),
    ("permute of an axis twice", |d| said(x(d, [2, 3]).permute([0, 0])), ["`axes`", "axis 0 twice", ""]),
    ("swap_axes of none", |d| said(x(d, [2, 3]).swap_axes(0, 2)), ["`other`", "axis 2", "rank is 2"]),
    ("squeeze of what is not 1", |d| said(x(d, [2, 3]).squeeze_axis(0)), ["`axis`", "2 elements", "not 1"]),
    ("unsqueeze far behind", |d| said(x(d, [2]).unsqueeze(5)), ["`axis`", "axis 5", "rank is 1"]),
    (
        "broadcast of what does not fit",
        |d| said(x(d, [2, 3]).broadcast([5, 3])),
        ["`extents`", "2 elements on axis 0", "5"],
    ),
    ("broadcast to fewer axes", |d| said(x(d, [2, 3]).broadcast([3])), ["`extents`", "fewer axes", "2"]),
    ("a diagonal of one axis", |d| said(x(d, [2, 3]).diagonal(0, 1, 1)), ["`other`", "axis 1", "both"]),
    ("split past the end", |d| said(x(d, [2, 3]).split(1, 4).map(drop)), ["`mid`", "4", "3"]),
    ("windows that are too wide", |d| said(x(d, [3]).windows(0, 4, 1)), ["`size`", "4", "3"]),
    ("windows that do not move", |d| said(x(d, [3]).windows(0, 2, 0)), ["`step`", "0", "behind the one before"]),
    ("flip of no axis", |d| said(x(d, [3]).flip(1)), ["`axis`", "axis 1", "rank is 1"]),
    ("strides for other axes", |_| said(Layout::new([2, 3], [1], 0)), ["`strides`", "1 strides", "2 axes"]),
    ("pairs of an odd axis", |d| said(x(d, [2, 3]).as_complex().map(drop)), ["`self`", "[2, 3]", "a last axis of two"]),
];

pub(super) const OF_ELEMENTS: &[Mistake] = &[
    (
        "map of two shapes",
        |d| said(d.map((&x(d, [2, 3]), &x(d, [2, 4])), |(a, b)| a + b)),
        ["`inputs`: operand 1", "[2, 4]", "[2, 3]"],
    ),
    ("operators on two shapes", |d| said((&x(d, [2, 3]) * &x(d, [2])).eval(d)), ["input 1", "[2]", "broadcast"]),
    (
        "map_into another shape",
        |d| said(d.map_into(&x(d, [2, 3]), x(d, [2, 4]), |a| a)),
        ["input 0", "[2, 3]", "[2, 4]"],
    ),
    (
        "update of two shapes",
        |d| said(d.update((x(d, [2, 4]), x(d, [2, 3])), (), |(a, b), ()| (a + b, b))),
        ["output 1", "3 elements", "4"],
    ),
    ("sqrt of integers", |_| said(Formula::new(|n: Symbol<i32>| n.sqrt())), ["`formula`", "i32", "cast it"]),
    (
        "a number that the type has not",
        |_| said(Formula::new(|n: Symbol<i32>| n + 1_000_000_000_000i64)),
        ["`formula`", "1000000000000", "cast"],
    ),
    (
        "too many values of a formula",
        |_| said(Formula::new(|a: Symbol<f32>| a * 2.0).unwrap().with_scalars([1.0, 2.0])),
        ["`scalars`", "more than 1 values", "1 parameters"],
    ),
    ("sum along no axis", |d| said(d.sum(&x(d, [2, 3]), 2)), ["`axes`", "axis 2", "rank is 2"]),
    ("mean along an axis twice", |d| said(d.mean(&x(d, [2, 3]), [0, -2])), ["`axes`", "axis -2", "twice"]),
    ("sum, kept, along no axis", |d| said(d.sum(&x(d, [2, 3]), Keep(-3))), ["`axes`", "axis -3", "rank is 2"]),
    ("max of nothing", |d| said(d.max(&x(d, [2, 0]), 1)), ["`x`", "no element", "[2, 0]"]),
    ("argmax of nothing", |d| said(d.argmax(&x(d, [0]), All)), ["`x`", "no element", "[0]"]),
    ("softmax along no axis", |d| said(d.softmax(&x(d, [2, 3]), 2)), ["`axis`", "axis 2", "rank is 2"]),
    ("cumsum along no axis", |d| said(d.cumsum(&x(d, [2, 3]), -3)), ["`axis`", "axis -3", "rank is 2"]),
    (
        "concat of other extents",
        |d| said(d.concat([&x(d, [2, 3]), &x(d, [3, 4])], 0)),
        ["`tensors[1]`", "[3, 4]", "[2, 3]"],
    ),
    ("concat of none", |d| said(d.concat(Vec::<&Tensor<f32>>::new(), 0)), ["`tensors`", "empty", "at least one"]),
    ("stack of other extents", |d| said(d.stack([&x(d, [2]), &x(d, [3])], 0)), ["`tensors[1]`", "extents [3]", "[2]"]),
    ("pad of fewer axes", |d| said(d.pad(&x(d, [2, 3]), &[(1, 1)], Pad::Edge)), ["`widths`", "1 pairs", "2 axes"]),
    ("a mirror of too much", |d| said(d.pad(&x(d, [3]), &[(3, 0)], Pad::Reflect)), ["`widths`", "(3, 0)", "at most 2"]),
    ("roll along no axis", |d| said(d.roll(&x(d, [3]), 1, 1)), ["`axis`", "axis 1", "rank is 1"]),
    ("repeat along no axis", |d| said(d.repeat(&x(d, [3]), 2, 1)), ["`axis`", "axis 1", "rank is 1"]),
    (
        "repeat_each with other counts",
        |d| waited(d.repeat_each(&x(d, [3]), &i(d, [1, 2]), 0, None)),
        ["`counts`", "2", "3"],
    ),
];

pub(super) const OF_CHOICES: &[Mistake] = &[
    ("sort along no axis", |d| said(d.sort(&x(d, [3]), 1)), ["`axis`", "axis 1", "rank is 1"]),
    (
        "argsort of an axis before the first",
        |d| said(d.argsort(&x(d, [3]), By::axis(-2).descending())),
        ["`axis`", "axis -2", "rank is 1"],
    ),
    ("top_k of more than there are", |d| said(d.top_k(&x(d, [3]), 9, 0)), ["`k`", "9", "3"]),
    ("partition at no place", |d| said(d.partition(&x(d, [3]), &[7], 0)), ["`places`", "7", "3"]),
    ("a quantile above one", |d| said(d.quantile(&x(d, [3]), &[1.5], 0, Method::Hazen)), ["`q`", "1.5", "0"]),
    ("a histogram of no bins", |d| said(d.histogram(&x(d, [3]), 0, None).map(drop)), ["`bins`", "0", "at least one"]),
    (
        "a histogram of a range that is none",
        |d| said(d.histogram(&x(d, [3]), 4, Some([1.0, 0.0])).map(drop)),
        ["`range`", "1", "0"],
    ),
    (
        "bincount of a negative number",
        |d| waited(d.bincount(&i(d, [0, -1]), 4)),
        ["`x`", "number 1 of them is -1", "no bin"],
    ),
    (
        "weights of a negative number",
        |d| waited(d.bincount_weighted(&i(d, [0, 1, -1]), 4, &x(d, [3]))),
        ["`x`", "number 2 of them is negative", "no bin"],
    ),
    (
        "weights of another length",
        |d| said(d.bincount_weighted(&i(d, [0, 1, 2]), 4, &x(d, [2]))),
        ["`weights`", "[2]", "[3]"],
    ),
    (
        "searchsorted in other rows",
        |d| said(d.searchsorted(&x(d, [2, 3]), &x(d, [3, 4]), SearchSide::Left)),
        ["`values`", "[3, 4]", "[2, 3]"],
    ),
    (
        "put_nd past the end",
        |d| waited(d.put_nd(x(d, [2, 3]), i(d, [1, 5]).reshape([1, 2]).unwrap(), &x(d, [1]), Combine::Add)),
        ["`indices`", "number 0", "[2, 3] elements"],
    ),
    ("cross of two shapes", |d| said(d.cross(&x(d, [4, 3]), &x(d, [5, 3]), -1)), ["`b`", "[5, 3]", "[4, 3]"]),
    ("interp of points without values", |d| said(d.interp(&y(d, [2]), &y(d, [3]), &y(d, [4]))), ["`fp`", "4", "3"]),
    ("cross of four coordinates", |d| said(d.cross(&x(d, [4]), &x(d, [4]), -1)), ["`a`", "4", "3"]),
    ("diff along no axis", |d| said(d.diff(&x(d, [3]), 1, 1)), ["`axis`", "axis 1", "rank is 1"]),
    ("gradient of one point", |d| said(d.gradient(&x(d, [1]), 1.0, 0)), ["`x`", "1 elements along axis 0", "two"]),
    ("trapezoid with other coordinates", |d| said(d.trapezoid(&x(d, [4]), &x(d, [3]), 0)), ["`spacing`", "3", "4"]),
    (
        "cdist of other coordinates",
        |d| said(d.cdist(&x(d, [5, 3]), &x(d, [6, 2]), Distance::Euclidean)),
        ["`y`", "2", "3"],
    ),
    ("average with other weights", |d| said(d.average(&x(d, [2, 3]), &x(d, [4]), 1)), ["`weights`", "[4]", "[2, 3]"]),
    (
        "take_along_axis of other extents",
        |d| {
            let places = d.zeros::<i64>([4, 3]).unwrap();
            said(d.take_along_axis(&x(d, [2, 3]), &places, 1))
        },
        ["`indices`", "[4, 3]", "[2, 3]"],
    ),
    (
        "gather_nd with tuples that are too long",
        |d| said(d.gather_nd(&x(d, [2, 3]), &d.zeros::<i64>([5, 3]).unwrap(), 0)),
        ["`indices`", "3", "2"],
    ),
    (
        "put of other extents",
        |d| said(d.put(x(d, [3]), &i(d, [0, 1]), &x(d, [3]), 0, Combine::Add)),
        ["`updates`", "[3]", "[2]"],
    ),
    (
        "put past the end",
        |d| waited(d.put(x(d, [3]), &i(d, [0, 3]), &x(d, [2]), 0, Combine::Replace)),
        ["`indices`", "number 1", "axis 0 of 3 elements"],
    ),
    (
        "a mask of another shape",
        |d| said(d.masked_fill(x(d, [2, 3]), &mask(d, [3, 2]), 0.0)),
        ["`mask`", "[3, 2]", "[2, 3]"],
    ),
    (
        "masked_assign of other values",
        |d| said(d.masked_assign(x(d, [2, 3]), &mask(d, [2, 3]), &x(d, [2]))),
        ["`values`", "[2]", "[2, 3]"],
    ),
    (
        "masked_select with another mask",
        |d| said(d.masked_select(&x(d, [2, 3]), &mask(d, [4])).map(drop)),
        ["`condition`", "[4]", "[2, 3]"],
    ),
    (
        "compress with a condition that is too long",
        |d| said(d.compress(&x(d, [2, 3]), &mask(d, [4]), 1).map(drop)),
        ["`condition`", "4", "3"],
    ),
    ("tril of a vector", |d| said(d.tril(&x(d, [3]), 0)), ["`x`", "[3]", "two axes"]),
    ("one_hot along no axis", |d| said(d.one_hot(&i(d, [0, 1]), 3, 2, [0.0f32, 1.0])), ["`axis`", "axis 2", "2"]),
    (
        "meshgrid of a matrix",
        |d| said(meshgrid(&[x(d, [2, 2]).view()], Indexing::Xy).map(drop)),
        ["`vectors[0]`", "[2, 2]", "one axis"],
    ),
    ("arange that does not move", |d| said(d.arange(0.0f32, 1.0, 0.0)), ["`step`", "0", ""]),
    (
        "cummax_with_indices along no axis",
        |d| said(d.cummax_with_indices(&x(d, [3]), 1).map(drop)),
        ["`axis`", "axis 1", "rank is 1"],
    ),
];

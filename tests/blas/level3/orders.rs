//! Matrices that are read by rows, by columns, or some of them so: the answer is that of the same matrices by columns, or the call
//! says which it cannot take. All in small whole numbers, which every engine, type and order of sums computes exactly.

use super::matrix::{TRIANGLES, each_type};
use super::scalars::{Whole, whole};
use crate::common::{Rng, devices, down, refused, seeds, up};
use windlass::blas::{BlasElement, ComplexElement, Geam, GemmElement, Her2k, Herk, Symm, Syr2k, Syrk, Triangular};
use windlass::tensor::Layout;
use windlass::{
    Complex, Device, DeviceBuffer, Diag, Element, Error, Rejected, Side, Submitted, Tensor, TensorRef, Uplo,
};

const SIDES: [Side; 2] = [Side::Left, Side::Right];
/// By columns, by rows.
const ORDERS: [usize; 2] = [0, 1];
/// Places after each line that belong to nobody.
const GAP: usize = 2;

/// A matrix in both orders, with gaps.
struct Both<T: Element> {
    m: usize,
    n: usize,
    elements: Vec<T>,
    buffers: [DeviceBuffer<T>; 2],
}

impl<T: Whole> Both<T> {
    fn new(device: &Device, rng: &mut Rng, m: usize, n: usize) -> Self {
        Both::of(device, m, n, whole(rng, m * n))
    }

    /// Of elements column after column.
    fn of(device: &Device, m: usize, n: usize, elements: Vec<T>) -> Self {
        let mut laid = [vec![T::NAN; (m + GAP) * n], vec![T::NAN; m * (n + GAP)]];
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            laid[0][i + j * (m + GAP)] = elements[i + j * m];
            laid[1][i * (n + GAP) + j] = elements[i + j * m];
        }
        Both { m, n, elements, buffers: laid.map(|laid| up(device, laid)) }
    }

    fn layout(&self, order: usize) -> Layout {
        let lines = match order {
            0 => Layout::columns(self.m, self.n).ld(self.m + GAP),
            _ => Layout::rows(self.m, self.n).ld(self.n + GAP),
        };
        lines.try_into().unwrap()
    }

    fn view(&self, order: usize) -> TensorRef<'_, T> {
        self.buffers[order].view(self.layout(order)).unwrap()
    }

    /// To be written.
    fn tensor(&self, device: &Device, order: usize) -> Tensor<T> {
        device.duplicate(&self.buffers[order]).unwrap().into_output().with_layout(self.layout(order)).unwrap()
    }

    /// The elements of what was made of it, row after row, and that nothing else was written.
    #[track_caller]
    fn elements(&self, device: &Device, order: usize, got: &Tensor<T>, what: &str) -> Vec<T> {
        let [all, before] = [got.buffer(), &self.buffers[order]].map(|buffer| down(device, buffer));
        let (line, ld) = if order == 0 { (self.m, self.m + GAP) } else { (self.n, self.n + GAP) };
        for (place, (got, before)) in all.iter().zip(&before).enumerate().filter(|(place, _)| place % ld >= line) {
            assert!(bytemuck::bytes_of(got) == bytemuck::bytes_of(before), "{what}: the gap at {place}");
        }
        down(device, got)
    }
}

/// Makes a call with each matrix of `N` and C in each order. It gives the same, or it is refused where `served` says so, with a
/// remedy.
#[track_caller]
fn alike<T: Whole, const N: usize>(
    device: &Device,
    what: &str,
    of_c: &Both<T>,
    served: impl Fn([usize; N], usize) -> bool,
    call: impl Fn([usize; N], Tensor<T>) -> Submitted<Tensor<T>>,
) {
    let mut want = None;
    for (orders, c) in (0..1 << N).flat_map(|bits| ORDERS.map(|c| (std::array::from_fn(|i| bits >> i & 1), c))) {
        let what = format!("{what}, {orders:?} and {c}");
        match call(orders, of_c.tensor(device, c)) {
            Ok(pending) => {
                assert!(served(orders, c), "{what} was served");
                let got = of_c.elements(device, c, &pending.await_result().unwrap(), &what);
                assert_eq!(got, *want.get_or_insert(got.clone()), "{what}");
            }
            Err(Rejected { error, back, .. }) => {
                assert!(!served(orders, c), "{what}: {error}");
                assert_eq!(back.unwrap().0.layout(), &of_c.layout(c), "{what}");
                let text = error.to_string();
                assert!(text.contains("one order") && text.contains("`contiguous"), "{what}: {text}");
                refused(&error);
            }
        }
    }
    assert!(want.is_some(), "{what}");
}

fn any<const N: usize>(_: [usize; N], _: usize) -> bool {
    true
}

fn matrices<T: Whole + BlasElement>(device: &Device, rng: &mut Rng) {
    let (m, n, k, blas) = (4, 3, 5, device.blas());
    let (alpha, beta) = (T::whole(rng), T::whole(rng));
    let c = Both::<T>::new(device, rng, m, n);
    for side in SIDES {
        let order = if side == Side::Left { m } else { n };
        let (a, b) = (Both::<T>::new(device, rng, order, order), Both::<T>::new(device, rng, m, n));
        for uplo in TRIANGLES {
            let symm = || Symm::new(side, uplo).alpha(alpha).beta(beta);
            alike(device, "symm", &c, |[_, b], c| b == c, |[i, j], c| blas.symm(symm(), a.view(i), b.view(j), c));
            let spec = || Triangular::new(side, uplo).diag(Diag::Unit).alpha(alpha);
            alike(device, "trmm", &c, any, |[i], c| blas.trmm(spec(), a.view(i), c));
            alike(device, "trsm", &c, any, |[i], c| blas.trsm(spec(), a.view(i), c));
            let into = |[i, j]: [usize; 2], c| blas.trmm_into(spec(), a.view(i), b.view(j), c);
            alike(device, "trmm_into", &c, |[_, b], c| b == c, into);
            let lists = ORDERS.map(|order| {
                let x = blas.trsm_batched(
                    spec(),
                    [a.view(0), a.view(0)],
                    [c.tensor(device, order), c.tensor(device, order)],
                );
                let x = x.unwrap().await_result().unwrap();
                let batch = c.layout(order).unsqueeze(0).unwrap();
                let one = blas.trsm(spec(), a.view(1), c.tensor(device, order).with_layout(batch).unwrap());
                let one = one.unwrap().await_result().unwrap().with_layout(c.layout(order)).unwrap();
                [&x[0], &x[1], &one].map(|x| c.elements(device, order, x, "trsm of batches"))
            });
            assert!(lists.iter().flatten().all(|x| *x == lists[0][0]), "{lists:?}");
        }
        let x = up(device, whole::<T>(rng, order));
        alike(device, "dgmm", &c, |[b], c| b == c, |[j], c| blas.dgmm(side, b.view(j), &x, c));
    }
    let square = Both::<T>::new(device, rng, n, n);
    let (a, b) = (Both::<T>::new(device, rng, n, k), Both::<T>::new(device, rng, n, k));
    for uplo in TRIANGLES {
        let syrk = || Syrk::new(uplo).alpha(alpha).beta(beta);
        alike(device, "syrk", &square, any, |[i], c| blas.syrk(syrk(), a.view(i), c));
        let syr2k = || Syr2k::new(uplo).alpha(alpha).beta(beta);
        let one = |[a, b]: [usize; 2], _| a == b;
        alike(device, "syr2k", &square, one, |[i, j], c| blas.syr2k(syr2k(), a.view(i), b.view(j), c));
        // Not symmetric, which the caller has to see to: the triangle is that of the product as it is asked for.
        alike(device, "syrkx", &square, one, |[i, j], c| blas.syrkx(syr2k(), a.view(i), b.view(j), c));
    }
    let (a, b) = (Both::<T>::new(device, rng, m, n), Both::<T>::new(device, rng, n, m));
    let geam = || Geam::new().alpha(alpha).beta(beta);
    alike(device, "geam", &c, any, |[i, j], c| blas.geam(geam(), a.view(i), b.view(j).transpose(), c));
}

fn hermitian<T: Whole + ComplexElement<Real = R>, R: Whole + BlasElement>(device: &Device, rng: &mut Rng) {
    let (m, n, k, blas) = (4, 3, 5, device.blas());
    let (alpha, beta) = (T::whole(rng), T::whole(rng));
    let (real_alpha, real_beta) = (R::whole(rng), R::whole(rng));
    let (c, square) = (Both::<T>::new(device, rng, m, n), Both::<T>::new(device, rng, n, n));
    let (a, b) = (Both::<T>::new(device, rng, n, k), Both::<T>::new(device, rng, n, k));
    // Hermitian only where B is A scaled by real numbers.
    let twice = Both::of(device, n, k, a.elements.iter().map(|x| *x + *x).collect());
    for uplo in TRIANGLES {
        for side in SIDES {
            let order = if side == Side::Left { m } else { n };
            let (a, b) = (Both::<T>::new(device, rng, order, order), Both::<T>::new(device, rng, m, n));
            let hemm = || Symm::new(side, uplo).alpha(alpha).beta(beta);
            let one = |[a, b]: [usize; 2], c| a == c && b == c;
            alike(device, "hemm", &c, one, |[i, j], c| blas.hemm(hemm(), a.view(i), b.view(j), c));
        }
        let herk = || Herk::new(uplo).alpha(real_alpha).beta(real_beta);
        alike(device, "herk", &square, |[a], c| a == c, |[i], c| blas.herk(herk(), a.view(i), c));
        let her2k = || Her2k::new(uplo).alpha(alpha).beta(real_beta);
        let one = |[a, b]: [usize; 2], c| a == c && b == c;
        alike(device, "her2k", &square, one, |[i, j], c| blas.her2k(her2k(), a.view(i), b.view(j), c));
        let herkx = || Her2k::new(uplo).alpha(<T as GemmElement>::ONE).beta(real_beta);
        alike(device, "herkx", &square, one, |[i, j], c| blas.herkx(herkx(), a.view(i), twice.view(j), c));
    }
}

/// The conjugate of a matrix is there where the library transposes it.
fn conjugates<T: Whole + ComplexElement<Real = R>, R: Whole + BlasElement>(
    device: &Device,
    rng: &mut Rng,
    conj: fn(&T) -> T,
) {
    let (m, n, k, blas) = (4, 3, 5, device.blas());
    let conjugate = |of: &Both<T>| Both::of(device, of.m, of.n, of.elements.iter().map(conj).collect());
    let new = |rng: &mut Rng, m, n| {
        let plain = Both::<T>::new(device, rng, m, n);
        let conjugate = conjugate(&plain);
        [plain, conjugate]
    };
    // Served where A lies in the other order than C, the same as of a matrix of the conjugates; else refused.
    let check = |what: &str,
                 of_c: &Both<T>,
                 name: &str,
                 call: &dyn Fn(usize, bool, usize, Tensor<T>) -> Submitted<Tensor<T>>| {
        for (a, c) in ORDERS.into_iter().flat_map(|a| ORDERS.map(|c| (a, c))) {
            let what = format!("{what}, {a} and {c}");
            match call(a, true, c, of_c.tensor(device, c)) {
                Ok(pending) => {
                    assert_ne!(a, c, "{what}");
                    let got = of_c.elements(device, c, &pending.await_result().unwrap(), &what);
                    let want = call(c, false, c, of_c.tensor(device, c)).unwrap().await_result().unwrap();
                    assert_eq!(got, of_c.elements(device, c, &want, &what), "{what}");
                }
                Err(rejected) => {
                    assert_eq!(a, c, "{what}: {rejected}");
                    let text = rejected.error.to_string();
                    assert!(matches!(rejected.error, Error::Unsupported { .. }), "{what}: {text}");
                    assert!(text.contains("conj().eval()") && text.contains(&format!("`{name}`")), "{what}: {text}");
                    assert!(rejected.back.is_some());
                }
            }
        }
    };
    let (alpha, beta, real) = (T::whole(rng), T::whole(rng), R::whole(rng));
    let (c, square) = (Both::<T>::new(device, rng, m, n), Both::<T>::new(device, rng, n, n));
    let [b, conj_b] = new(rng, n, k);
    for uplo in TRIANGLES {
        for side in SIDES {
            let order = if side == Side::Left { m } else { n };
            let a = new(rng, order, order);
            let spec = |flag| {
                let spec = Triangular::new(side, uplo).diag(Diag::Unit).alpha(alpha);
                if flag { spec.conjugate_a() } else { spec }
            };
            let view = |order, flag: bool| a[usize::from(!flag)].view(order);
            check("trmm", &c, "a", &|a, flag, _, c| blas.trmm(spec(flag), view(a, flag), c));
            check("trsm", &c, "a", &|a, flag, _, c| blas.trsm(spec(flag), view(a, flag), c));
        }
        let a = new(rng, n, k);
        let view = |order, flag: bool| a[usize::from(!flag)].view(order);
        check("herk", &square, "a", &|a, flag, _, c| {
            let spec = Herk::new(uplo).beta(real);
            blas.herk(if flag { spec.conjugate_a() } else { spec }, view(a, flag), c)
        });
        check("her2k", &square, "a", &|a, flag, _, c| {
            let (spec, b) = (Her2k::new(uplo).alpha(alpha), if flag { &b } else { &conj_b });
            blas.her2k(if flag { spec.conjugate() } else { spec }, view(a, flag), b.view(a), c)
        });
    }
    let a = new(rng, m, n);
    let view = |order, flag: bool| a[usize::from(!flag)].view(order);
    let other = Both::<T>::new(device, rng, m, n);
    check("geam", &c, "a", &|a, flag, _, c| {
        let spec = Geam::new().alpha(alpha).beta(beta);
        blas.geam(if flag { spec.conjugate_a() } else { spec }, view(a, flag), other.view(0), c)
    });
    check("geam", &c, "b", &|b, flag, _, c| {
        let spec = Geam::new().alpha(alpha).beta(beta);
        blas.geam(if flag { spec.conjugate_b() } else { spec }, other.view(1), view(b, flag), c)
    });
}

#[test]
fn matrices_by_rows_give_what_those_by_columns_do() {
    for device in devices() {
        seeds(4, |rng, _| {
            each_type!(matrices(&device, rng));
            hermitian::<Complex<f32>, f32>(&device, rng);
            hermitian::<Complex<f64>, f64>(&device, rng);
        });
    }
}

#[test]
fn conjugates_are_taken_of_what_is_transposed_and_refused_of_the_rest() {
    for device in devices() {
        seeds(2, |rng, _| {
            conjugates::<Complex<f32>, f32>(&device, rng, Complex::conj);
            conjugates::<Complex<f64>, f64>(&device, rng, Complex::conj);
        });
    }
}

/// A single row or column lies in both orders: whatever the others need.
#[test]
fn a_single_line_lies_in_the_order_that_the_others_need() {
    for device in devices() {
        let (blas, i) = (device.blas(), Complex::new(0.0f64, 1.0));
        let one = Complex::new(1.0, 0.0);
        let (row, column) = (|| device.tensor([1, 2], [one, i]).unwrap(), || device.tensor([2, 1], [one, i]).unwrap());
        // Without a conjugate in either order; with one, C and A are taken in different ones.
        let spec = || Geam::new().conjugate_a();
        let c = blas.geam(spec(), &row(), &row(), row()).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &c), [one, -i]);
        let c = blas.geam(spec(), column().transpose(), &row(), row()).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &c), [one, -i]);
        let zeros = |shape: [usize; 2]| device.zeros::<Complex<f64>>(shape).unwrap();
        let c = blas.herk(Herk::new(Uplo::Upper), &row(), zeros([1, 1])).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &c), [one + one]);
        for spec in [Herk::new(Uplo::Lower), Herk::new(Uplo::Lower).conjugate_a()] {
            let c = blas.herk(spec.clone(), &column(), zeros([2, 2])).unwrap().await_result().unwrap();
            let below = if format!("{spec:?}").contains("conjugate_a: true") { -i } else { i };
            assert_eq!(down(&device, &c)[2], below, "{spec:?}");
        }
        // B by columns with a gap, C a row: by columns as well.
        let wide = device.tensor([2, 2], [one, i, i, i]).unwrap();
        let b = wide.transpose();
        let b = b.slice((..1, ..)).unwrap();
        let a = device.tensor([1, 1], [i]).unwrap();
        let c = blas.symm(Symm::new(Side::Left, Uplo::Lower), &a, &b, zeros([1, 2])).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &c), [i, -one]);
    }
}

/// What has gaps within its lines, runs backwards or is one element for all is no matrix to the library.
#[test]
fn matrices_without_contiguous_lines_are_refused_by_name() {
    for device in devices() {
        let blas = device.blas();
        let square = device.full([2, 2], 1.0f64).unwrap();
        let wide = device.full([4, 4], 1.0f64).unwrap();
        let spread = wide
            .slice((windlass::tensor::AxisSlice::from(..).step(2), windlass::tensor::AxisSlice::from(..).step(2)))
            .unwrap();
        let views = [spread, square.flip(0).unwrap(), device_one(&square)];
        for view in views {
            let c = || device.full([2, 2], 5.0f64).unwrap();
            let says = |answer: Submitted<Tensor<f64>>, name: &str| {
                let Err(rejected) = answer else { panic!("{name} of {view:?} was taken") };
                let (argument, reason) = refused(&rejected.error);
                assert!(argument == name && reason.contains("`contiguous`"), "{argument}: {reason}");
                assert_eq!(rejected.back.unwrap().0.shape(), [2, 2]);
            };
            let (lower, left) = (Uplo::Lower, Side::Left);
            says(blas.symm(Symm::new(left, lower), &view, &square, c()), "a");
            says(blas.symm(Symm::new(left, lower), &square, &view, c()), "b");
            says(blas.syrk(Syrk::new(lower), &view, c()), "a");
            says(blas.syr2k(Syr2k::new(lower), &view, &square, c()), "a");
            says(blas.syr2k(Syr2k::new(lower), &square, &view, c()), "b");
            says(blas.trmm(Triangular::new(left, lower), &view, c()), "a");
            says(blas.trmm_into(Triangular::new(left, lower), &square, &view, c()), "b");
            says(blas.trsm(Triangular::new(left, lower), &view, c()), "a");
            says(blas.geam(Geam::new(), &view, &square, c()), "a");
            says(blas.geam(Geam::new(), &square, &view, c()), "b");
            says(blas.dgmm(left, &view, &device.full([2], 1.0).unwrap(), c()), "a");
            let part = wide_part(&device, &view);
            says(blas.syrk(Syrk::new(lower), &square, part), "c");
        }
    }
}

/// One element for all.
fn device_one(square: &Tensor<f64>) -> TensorRef<'_, f64> {
    square.slice((..1, ..1)).unwrap().broadcast([2, 2]).unwrap()
}

/// A tensor that lies as the view.
fn wide_part(device: &Device, view: &TensorRef<'_, f64>) -> Tensor<f64> {
    device.full([16], 1.0).unwrap().with_layout(view.layout().clone()).unwrap()
}

//! The kernels for eigenvalues and singular values on the machine for PTX, beside the host half: bit for bit. And the host half: what a
//! matrix gets does not depend on those beside it.

use super::super::host::{small_eigh, small_svd};
use super::super::matrix::Matrix;
use super::super::native::small_spectra;
use super::tests::{Number, Random, element};
use crate::core::launch::LaunchDims;
use crate::engines::ptx::{Area, Checks, PtxModule, Shape};
use crate::libraries::flags::Uplo;

fn laid(rows: usize, cols: usize, count: usize, gap: usize) -> Matrix {
    let ld = rows + gap;
    Matrix::new(rows, cols).ld(ld).batch(count).stride(ld * cols + 2 * gap)
}

/// Matrices one of which has each kind of input in turn; sevens where nothing is read. Of a triangle the other one holds NaN.
fn filled<T: Number>(of: &Matrix, random: &mut Random, part: Option<Uplo>) -> Vec<T> {
    let mut a = vec![T::of(7.0); of.len().unwrap()];
    for k in 0..of.count {
        for (i, j) in (0..of.rows).flat_map(|i| (0..of.cols).map(move |j| (i, j))) {
            let x = random.next();
            let value = match part {
                Some(Uplo::Lower) if i < j => T::of(f64::NAN),
                Some(Uplo::Upper) if i > j => T::of(f64::NAN),
                // A tiny diagonal, and the identity.
                _ if k % 12 == 10 => T::of(if i == j { x * 1e-9 } else { 1.0 - x }),
                _ if k % 12 == 11 => T::of(f64::from(u8::from(i == j))),
                _ => element(k % 12, (i, j), x),
            };
            a[k * of.distance() + j * of.leading() + i] = value;
        }
    }
    a
}

fn assert_same<T: Number>(one: &[T], other: &[T], what: &dyn std::fmt::Debug) {
    for (i, (x, y)) in one.iter().zip(other).enumerate() {
        assert_eq!(x.bits(), y.bits(), "[{i}] of {what:?}: {x:?} and {y:?}");
    }
}

fn launch<T: Number>(module: &PtxModule, names: [&str; 2], (dims, args): (LaunchDims, &[u64]), areas: Vec<Area<'_>>) {
    let shape = Shape::new(dims.grid.into(), dims.block.into(), dims.shared);
    let name = names[size_of::<T>() / 8];
    module.launch(name, shape, bytemuck::cast_slice(args), areas, Checks::ALL, &|_| ()).unwrap();
}

/// Vectors in place of A, values, infos.
#[derive(Clone)]
struct Eigen<T> {
    a: Vec<T>,
    w: Vec<T>,
    info: Vec<i32>,
}

impl<T: Number<Real = T>> Eigen<T> {
    fn new(of: &Matrix, random: &mut Random, uplo: Uplo) -> Self {
        let w = vec![T::of(5.0); of.rows * of.count];
        Eigen { a: filled(of, random, Some(uplo)), w, info: vec![-1; of.count] }
    }

    fn on_host(&mut self, (vectors, uplo): (bool, Uplo), of: &Matrix) {
        small_eigh((vectors, uplo == Uplo::Upper), of, (&mut self.a, &mut self.w, &mut self.info));
    }

    fn on_machine(&mut self, module: &PtxModule, how: (bool, Uplo), of: &Matrix) {
        let at = [self.a.as_ptr() as u64, self.w.as_ptr() as u64, self.info.as_ptr() as u64];
        let (dims, args) = small_spectra::eigh_plan::<T>(how, of, at).unwrap();
        let areas = vec![
            Area::write("a", bytemuck::cast_slice_mut(&mut self.a)),
            Area::write("w", bytemuck::cast_slice_mut(&mut self.w)),
            Area::write("info", bytemuck::cast_slice_mut(&mut self.info)),
        ];
        launch::<T>(module, ["small_eigh_4", "small_eigh_8"], (dims, &args), areas);
    }

    fn assert_same(&self, other: &Self, what: &dyn std::fmt::Debug) {
        assert_same(&self.w, &other.w, &("values", what));
        assert_same(&self.a, &other.a, &("vectors", what));
        assert_eq!(self.info, other.info, "{what:?}");
    }
}

/// A, U and the transpose of V, values, infos.
#[derive(Clone)]
struct Singular<T> {
    a: Vec<T>,
    s: Vec<T>,
    vectors: Option<[(Matrix, Vec<T>); 2]>,
    info: Vec<i32>,
}

impl<T: Number<Real = T>> Singular<T> {
    /// Without vectors, with thin ones, with square ones.
    fn new(of: &Matrix, random: &mut Random, vectors: usize, gap: usize) -> Self {
        let (Matrix { rows: m, cols: n, count, .. }, size) = (*of, of.rows.min(of.cols));
        let square = |all: usize| if vectors == 2 { all } else { size };
        let room = |of: Matrix| (of, vec![T::of(5.0); of.len().unwrap()]);
        let vectors =
            (vectors > 0).then(|| [room(laid(m, square(m), count, gap)), room(laid(square(n), n, count, gap))]);
        Singular { a: filled(of, random, None), s: vec![T::of(5.0); size * count], vectors, info: vec![-1; count] }
    }

    fn on_host(&mut self, of: &Matrix) {
        let vectors = self.vectors.as_mut().map(|all| all.each_mut().map(|(of, x)| (&*of, &mut x[..])));
        small_svd((of, &self.a), (&mut self.s, &mut self.info), vectors);
    }

    fn on_machine(&mut self, module: &PtxModule, of: &Matrix) {
        let at = self.vectors.as_ref().map(|all| all.each_ref().map(|(of, x)| (*of, x.as_ptr() as u64)));
        let (s, info) = (self.s.as_ptr() as u64, self.info.as_ptr() as u64);
        let (dims, args) = small_spectra::svd_plan::<T>((of, self.a.as_ptr() as u64), (s, info), at).unwrap();
        let mut areas = vec![
            Area::write("a", bytemuck::cast_slice_mut(&mut self.a)),
            Area::write("s", bytemuck::cast_slice_mut(&mut self.s)),
            Area::write("info", bytemuck::cast_slice_mut(&mut self.info)),
        ];
        for (name, (_, x)) in ["u", "vh"].into_iter().zip(self.vectors.iter_mut().flatten()) {
            areas.push(Area::write(name, bytemuck::cast_slice_mut(x)));
        }
        launch::<T>(module, ["small_svd_4", "small_svd_8"], (dims, &args), areas);
    }

    fn assert_same(&self, other: &Self, what: &dyn std::fmt::Debug) {
        assert_same(&self.s, &other.s, &("values", what));
        for ((_, x), (_, y)) in self.vectors.iter().flatten().zip(other.vectors.iter().flatten()) {
            assert_same(x, y, &("vectors", what));
        }
        assert_eq!(self.info, other.info, "{what:?}");
    }
}

fn module() -> PtxModule {
    PtxModule::new(include_str!("../kernels/small_spectra.ptx")).unwrap()
}

#[test]
fn eigenvalues_of_the_kernel_have_the_bits_of_the_host_half() {
    fn case<T: Number<Real = T>>(module: &PtxModule) {
        let mut random = Random(3);
        for n in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32] {
            for (vectors, uplo, count, gap) in
                [(true, Uplo::Lower, 13, 1), (true, Uplo::Upper, 1, 0), (false, Uplo::Upper, 3, 2)]
            {
                let (of, how) = (laid(n, n, count, gap), (vectors, uplo));
                let mut host = Eigen::<T>::new(&of, &mut random, uplo);
                let mut machine = host.clone();
                host.on_host(how, &of);
                machine.on_machine(module, how, &of);
                host.assert_same(&machine, &(n, how, count, T::DTYPE));
            }
        }
    }
    let module = module();
    case::<f32>(&module);
    case::<f64>(&module);
}

#[test]
fn singular_values_of_the_kernel_have_the_bits_of_the_host_half() {
    fn case<T: Number<Real = T>>(module: &PtxModule) {
        let mut random = Random(4);
        let sizes = [
            (1, 1),
            (1, 4),
            (3, 1),
            (2, 2),
            (3, 3),
            (4, 4),
            (5, 4),
            (4, 5),
            (8, 3),
            (3, 8),
            (8, 8),
            (9, 9),
            (16, 15),
            (15, 16),
            (17, 5),
            (5, 17),
            (32, 1),
            (1, 32),
            (31, 31),
            (32, 32),
        ];
        for (m, n) in sizes {
            for (vectors, count, gap) in [(0, 3, 1), (1, 12, 1), (2, 4, 0), (2, 1, 2)] {
                // What takes longest, once.
                if m.min(n) > 16 && (vectors, count) == (2, 4) {
                    continue;
                }
                let of = laid(m, n, count, gap);
                let mut host = Singular::<T>::new(&of, &mut random, vectors, gap);
                let mut machine = host.clone();
                host.on_host(&of);
                machine.on_machine(module, &of);
                host.assert_same(&machine, &(m, n, vectors, count, T::DTYPE));
            }
        }
    }
    let module = module();
    case::<f32>(&module);
    case::<f64>(&module);
}

#[test]
fn what_a_spectrum_is_depends_on_no_other_matrix() {
    fn eigen<T: Number<Real = T>>(random: &mut Random, n: usize, count: usize) {
        let (of, one, how) =
            (laid(n, n, count, n % 3), laid(n, n, 1, n % 3), (true, [Uplo::Lower, Uplo::Upper][n % 2]));
        let mut all = Eigen::<T>::new(&of, random, how.1);
        let given = all.clone();
        all.on_host(how, &of);
        for k in 0..count {
            let part = |all: &Eigen<T>| Eigen {
                a: all.a[k * of.distance()..][..one.len().unwrap()].to_vec(),
                w: all.w[k * n..][..n].to_vec(),
                info: vec![all.info[k]],
            };
            let mut alone = part(&given);
            alone.on_host(how, &one);
            alone.assert_same(&part(&all), &(n, k, count, T::DTYPE));
        }
    }
    fn singular<T: Number<Real = T>>(random: &mut Random, (m, n): (usize, usize), count: usize) {
        let (gap, size) = (m % 2, m.min(n));
        let (of, one) = (laid(m, n, count, gap), laid(m, n, 1, gap));
        let mut all = Singular::<T>::new(&of, random, 1 + n % 2, gap);
        let given = all.clone();
        all.on_host(&of);
        for k in 0..count {
            let single = |of: Matrix| laid(of.rows, of.cols, 1, gap);
            let part = |all: &Singular<T>| Singular {
                a: all.a[k * of.distance()..][..one.len().unwrap()].to_vec(),
                s: all.s[k * size..][..size].to_vec(),
                vectors: all.vectors.as_ref().map(|all| {
                    all.each_ref()
                        .map(|(of, x)| (single(*of), x[k * of.distance()..][..single(*of).len().unwrap()].to_vec()))
                }),
                info: vec![all.info[k]],
            };
            let mut alone = part(&given);
            alone.on_host(&one);
            alone.assert_same(&part(&all), &(m, n, k, count, T::DTYPE));
        }
    }
    let mut random = Random(5);
    for n in 1..=32 {
        let count = [1, 2, 9, 33][n % 4];
        eigen::<f32>(&mut random, n, count);
        eigen::<f64>(&mut random, n, count);
        for m in [1, n / 2, n, 32].into_iter().filter(|m| (1..=32).contains(m)) {
            singular::<f32>(&mut random, (m, n), count);
            singular::<f64>(&mut random, (m, n), count);
        }
    }
}

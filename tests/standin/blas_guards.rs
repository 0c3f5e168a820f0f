//! What the CUDA engine tells cuBLAS, call by call; on the stand-in for the libraries.

use crate::common;
use crate::standin;

use common::{columns, down, into_columns, seeds, up};
use standin::session;
use windlass::blas::{BlasElement, Math};
use windlass::tensor::Layout;
use windlass::{Complex, DType, Device, Gemm, Transpose};

fn device() -> Device {
    standin::driver().set_total_memory(1 << 30);
    standin::device(2)
}

/// Notes the element types that operations read.
#[derive(Default)]
struct ReadTypes(std::sync::Mutex<Vec<(&'static str, &'static [DType])>>);

impl windlass::trace::Trace for ReadTypes {
    fn before_enqueue(&self, op: &windlass::trace::OpInfo) {
        self.0.lock().unwrap().push((op.op, op.reads));
    }
}

/// Scalars come last among the operands, and are read only if they are in device memory.
#[test]
fn a_trace_names_the_types_of_what_is_read_with_and_without_scalars_on_the_device() {
    let driver = session();
    driver.set_total_memory(1 << 30);
    let types = std::sync::Arc::new(ReadTypes::default());
    let device = Device::builder().cuda(0).trace(types.clone()).open().unwrap();
    let (x, blas) = (up(&device, [1.0f32; 4]), device.blas());
    let new = || device.zeros::<f32>(4).unwrap();
    let (square, c) = (columns(&x, 2, 2), || device.zeros([2, 2]).unwrap());
    let alpha = up(&device, [1.0f32]);
    types.0.lock().unwrap().clear();
    let list = [&square, &square];
    blas.gemm_batched(Gemm::new(), list, list, [c(), c()]).unwrap().await_result().unwrap();
    blas.gemm(Gemm::new(), &square, &square, c()).unwrap().await_result().unwrap();
    blas.axpy(&alpha, &x, new()).unwrap().await_result().unwrap().into_buffer();
    blas.axpy(1.0, &x, new()).unwrap().await_result().unwrap().into_buffer();
    let seen = types.0.lock().unwrap();
    let of = |name| seen.iter().filter(|(op, _)| *op == name).map(|(_, reads)| *reads).collect::<Vec<_>>();
    let (one, two) = (&[DType::F32][..], &[DType::F32, DType::F32][..]);
    assert_eq!((of("gemm_batched"), of("gemm"), of("axpy")), (vec![two], vec![two], vec![two, one]));
    drop(seen);
    drop((x, alpha, blas, device));
    driver.assert_finished();
}

/// The largest element of `A * X - 1`.
#[track_caller]
fn residual(n: usize, a: &[f64], lda: usize, x: &[f64]) -> f64 {
    let all = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    let of = |(i, j)| {
        let sum: f64 = (0..n).map(|k| a[i + k * lda] * x[k + j * n]).sum();
        (sum - f64::from(u8::from(i == j))).abs()
    };
    all.map(of).fold(0.0, |most, x| if x <= most { most } else { x })
}

/// The library factors in place what it is given: matrices that share elements must each be copied first.
#[test]
fn inverses_of_matrices_that_share_elements_are_those_of_each() {
    let driver = session();
    let device = device();
    seeds(2, |rng, _| {
        for n in [3, 32, 33, 40] {
            // One for all; each a column further than the one before; with the columns of the others between its own.
            for (ld, stride) in [(n + 2, 0), (n, n), (3 * n, n)] {
                let a: Vec<f64> = (0..2 * stride + ld * (n - 1) + n).map(|_| rng.real()).collect();
                let (on_device, one) = (up(&device, &a[..]), Layout::columns(n, n).ld(ld));
                let squares = Layout::columns(n, n).batch(3, n * n);
                let (c, info) =
                    (device.uninit(n * n * 3).unwrap().with_layout(squares).unwrap(), device.uninit(3).unwrap());
                let all = on_device.view(one.batch(3, stride)).unwrap();
                let (c, info) = device.blas().matinv(all, c, info).unwrap().await_result().unwrap();
                assert_eq!(down(&device, &info), [0; 3], "{n} rows, {ld} and {stride} apart");
                for (i, c) in down(&device, c.buffer()).chunks(n * n).enumerate() {
                    let error = residual(n, &a[i * stride..], ld, c);
                    assert!(error < 1e-6, "matrix {i} of {n} rows, {ld} and {stride} apart, is off by {error}");
                }
                // The same matrices as a list.
                let list = (0..3).map(|i| on_device.view(one.offset(i * stride)).unwrap());
                let c = (0..3).map(|_| into_columns(device.uninit(n * n).unwrap().into_buffer(), n, n));
                let pending = device.blas().matinv_batched(list, c, device.uninit(3).unwrap()).unwrap();
                let (c, info) = pending.await_result().unwrap();
                assert_eq!(down(&device, &info), [0; 3]);
                for (i, c) in c.iter().enumerate() {
                    let error = residual(n, &a[i * stride..], ld, &down(&device, c.buffer()));
                    assert!(error < 1e-6, "matrix {i} of {n} rows in a list is off by {error}");
                }
                assert_eq!(down(&device, &on_device), a, "what is read stays");
            }
        }
    });
    drop(device);
    driver.assert_finished();
}

fn junk<T: BlasElement + common::Sample>(device: &Device, n: usize) {
    let blas = device.blas();
    let mut a = vec![T::default(); n * n * 2];
    (0..n * n * 2).for_each(|at| a[at] = T::real(if at % n == at / n % n { 4.0 } else { 1.0 }));
    let squares = Layout::columns(n, n).batch(2, n * n);
    let a = up(device, a).with_layout(squares).unwrap();
    let numbers = |pivots: &[i32]| up(device, pivots).with_layout(Layout::row_major([2, n]).unwrap()).unwrap();
    let b: Vec<T> = (0..n * 2).map(|at| T::real(at as f64 - 2.0)).collect();
    // A swap of the first two rows, and then no pivots at all.
    let bad = [i32::MIN, -1, 0, n as i32 + 1, i32::MAX];
    let given: Vec<i32> = (0..2 * n).map(|at| if at % n == 0 { 2 } else { bad[at % bad.len()] }).collect();
    let meant: Vec<i32> = (0..2 * n).map(|at| if at % n == 0 { 2 } else { (at % n) as i32 + 1 }).collect();
    let solve = |pivots: &[i32], trans| {
        let b = up(device, &b[..]).with_layout(Layout::columns(n, 1).batch(2, n)).unwrap();
        let x = blas.getrs(trans, &a, &numbers(pivots), b).unwrap();
        down(device, x.await_result().unwrap().buffer())
    };
    for trans in [Transpose::No, Transpose::Yes, Transpose::Conjugate] {
        assert_eq!(solve(&given, trans), solve(&meant, trans));
    }
    let invert = |pivots: &[i32]| {
        let c = device.uninit(n * n * 2).unwrap().with_layout(squares).unwrap();
        let pending = blas.getri(&a, &numbers(pivots), c, device.uninit(2).unwrap()).unwrap();
        down(device, pending.await_result().unwrap().0.buffer())
    };
    assert_eq!(invert(&given), invert(&meant));
}

/// The stand-in reports a pivot that is no row of its matrix; a GPU would read past the matrix.
#[test]
fn the_library_is_given_no_pivot_that_is_no_row() {
    let driver = session();
    let device = device();
    driver.log(true);
    for n in [2, 5, 33] {
        junk::<f32>(&device, n);
        junk::<f64>(&device, n);
        junk::<Complex<f32>>(&device, n);
        junk::<Complex<f64>>(&device, n);
    }
    let log = driver.take_log();
    let count = |what: &str| log.iter().filter(|line| line.contains(what)).count();
    assert_eq!(count("keep_pivots grid"), count("getrsBatched") + count("getriBatched"));
    assert!(count("getrsBatched") > 0 && count("getriBatched") > 0);
    drop(device);
    driver.assert_finished();
}

/// An i8 batch of no elements, of any count and distance.
#[test]
fn empty_batches_of_bytes_are_nothing() {
    let driver = session();
    let device = device();
    let (x, blas) = (up(&device, [0i8; 4]), device.blas());
    let far = i64::MAX as usize;
    for (count, stride) in [(1 << 40, 0), (1 << 60, 0), (1, far)] {
        let none = x.view(Layout::columns(0, 0).batch(count, stride)).unwrap();
        let c = up(&device, [7i32]).with_layout(Layout::columns(0, 0).batch(count, 0)).unwrap();
        let c = blas.gemm(Gemm::new(), &none, &none, c).unwrap().await_result().unwrap();
        assert_eq!(down(&device, c.buffer()), [7]);
    }
    // One product: how far the next would be does not matter.
    let of = |m, n| Layout::columns(m, n).batch(1, far);
    let c = up(&device, [7i32]).with_layout(of(1, 1)).unwrap();
    let c = blas.gemm(Gemm::new(), x.view(of(1, 4)).unwrap(), x.view(of(4, 1)).unwrap(), c).unwrap();
    assert_eq!(down(&device, &c.await_result().unwrap()), [0]);
    drop((x, blas, device));
    driver.assert_finished();
}

/// The compute type of a product is that of its mode, and the mode is set on the handle; the next product has its own.
#[test]
fn math_modes_reach_the_library() {
    let driver = session();
    let device = device();
    let (x, z) = (device.full([1, 1], 2.0f32).unwrap(), device.full([1, 1], Complex::new(2.0f32, 0.0)).unwrap());
    let d = device.full([1, 1], 2.0f64).unwrap();
    let modes = [
        (Math::Default, 0, [68, 68, 70]),
        (Math::Pedantic, 2, [69, 69, 71]),
        (Math::Tf32, 3, [77, 77, 70]),
        (Math::EmulatedBf16x9, 4, [68, 68, 70]),
        (Math::Default, 0, [68, 68, 70]),
    ];
    for (math, mode, computes) in modes {
        let blas = device.blas().math(math);
        driver.log(true);
        let products = (
            down(&device, blas.gemm(Gemm::new(), &x, &x, device.uninit([1, 1]).unwrap()).unwrap()),
            down(&device, blas.gemm(Gemm::new(), &z, &z, device.uninit([1, 1]).unwrap()).unwrap()),
            down(&device, blas.gemm(Gemm::new(), &d, &d, device.uninit([1, 1]).unwrap()).unwrap()),
        );
        assert_eq!(products, (vec![4.0], vec![Complex::new(4.0, 0.0)], vec![4.0]));
        let log = driver.take_log();
        driver.log(false);
        let seen: Vec<&String> = log.iter().filter(|line| line.contains("cublasGemmEx_64")).collect();
        assert_eq!(seen.len(), 3, "{log:?}");
        for (line, compute) in seen.iter().zip(computes) {
            assert!(line.contains(&format!("compute {compute} ")), "{math:?}: {line}");
        }
        let set: Vec<&String> = log.iter().filter(|line| line.contains("cublasSetMathMode")).collect();
        assert!(set.iter().all(|line| line.contains(&format!(" {mode}"))), "{math:?}: {set:?}");
        // A handle begins in the default mode; any other must be set before its first product.
        assert!(math == Math::Default || !set.is_empty(), "{math:?}");
    }
    drop((x, z, d, device));
    driver.assert_finished();
}

/// Products of bytes take scalars in device memory, from the library and from our own kernel.
#[test]
fn scalars_of_bytes_may_be_in_device_memory() {
    let driver = session();
    let device = device();
    let (x, alpha, beta) = (up(&device, [2i8; 4]), up(&device, [3i32]), up(&device, [-1i32]));
    for refused in [false, true] {
        if refused {
            driver.fail("cublasGemmEx_64", 0, 15);
        }
        let launches = driver.calls_of("cuLaunchKernel");
        // Both in device memory: our own kernel takes each from its place.
        let spec = Gemm::new().alpha(&alpha).beta(&beta);
        let c = device.full([1, 1], 5i32).unwrap();
        let c = device.blas().gemm(spec, columns(&x, 1, 4), columns(&x, 4, 1), c).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &c), [3 * 16 - 5]);
        assert_eq!(driver.calls_of("cuLaunchKernel") - launches, u64::from(refused));
    }
    drop((x, alpha, beta, device));
    driver.assert_finished();
}

/// A batch of bytes is one call: of the library where everything is aligned, else of our own kernel. Large products that
/// are not aligned go to the library one by one.
#[test]
fn a_batch_of_bytes_is_one_call() {
    let driver = session();
    driver.set_total_memory(1 << 30);
    let device = device();
    let (alpha, beta) = (up(&device, [3i32]), up(&device, [-1i32]));
    let calls = |n: usize, k: usize, shift: usize| {
        let (a, b) = (up(&device, vec![2i8; 2 * n * k + shift]), up(&device, vec![1i8; 2 * k * n]));
        let (of_a, of_c) = (a.as_in().slice(shift..shift + 2 * n * k).unwrap(), || up(&device, vec![5i32; 2 * n * n]));
        let two = |m: usize, n: usize| Layout::columns(m, n).batch(2, m * n);
        let (of_a, of_b) = (of_a.view(two(n, k)).unwrap(), b.view(two(k, n)).unwrap());
        let [list_a, list_b] = [&of_a, &of_b].map(|all| [0, 1].map(|i| all.index(0, i).unwrap()));
        let (spec, blas) = (Gemm::new().alpha(&alpha).beta(&beta), device.blas());
        let c = of_c().with_layout(two(n, n)).unwrap();
        let (c, strided) = driver.calls_in(|| blas.gemm(spec.clone(), &of_a, &of_b, c).unwrap().into_output());
        let each = [(); 2].map(|()| into_columns(up(&device, vec![5i32; n * n]), n, n));
        let (list, listed) = driver.calls_in(|| blas.gemm_batched(spec, &list_a, &list_b, each).unwrap().into_output());
        let computed = !strided.iter().any(|call| call.contains("Batched")); // the stand-in's batches compute nothing
        if computed {
            let want = 3 * 2 * k as i32 - 5;
            assert!(down(&device, &c).iter().all(|x| *x == want), "{n} {k}");
            assert!(list.iter().all(|c| down(&device, c).iter().all(|x| *x == want)), "{n} {k}");
        }
        let of = |calls: Vec<String>| {
            let kept = ["cublasGemm", "cuLaunchKernel", "cuMemcpy2D"];
            calls.into_iter().filter(|call| kept.iter().any(|kept| call.starts_with(kept))).collect::<Vec<_>>()
        };
        (of(strided), of(listed))
    };
    let launch = "cuLaunchKernel";
    let (strided, listed) = calls(16, 32, 0);
    assert_eq!(strided, ["cublasGemmStridedBatchedEx_64"]);
    assert_eq!(listed, [launch, "cublasGemmBatchedEx_64"], "the launch writes the table");
    for (n, k, shift) in [(3, 5, 0), (16, 32, 4)] {
        let (strided, listed) = calls(n, k, shift);
        assert_eq!(strided, [launch]);
        assert_eq!(listed, [launch, launch], "the table, and the products");
    }
    let (strided, listed) = calls(129, 128, 0);
    assert_eq!(strided.iter().filter(|call| *call == "cublasGemmEx_64").count(), 2);
    assert_eq!(listed.iter().filter(|call| *call == "cublasGemmEx_64").count(), 2);
    // What the library refuses of aligned ones.
    for call in ["cublasGemmStridedBatchedEx_64", "cublasGemmBatchedEx_64"] {
        driver.fail(call, 0, 15);
    }
    let (strided, listed) = calls(16, 16, 0);
    assert_eq!((strided.len(), listed.len()), (2, 3), "{strided:?} {listed:?}");
    assert!(strided[1] == launch && listed[2] == launch);
    drop((alpha, beta, device));
    driver.assert_finished();
}

/// The library's batches of halves load 16 bytes at a time, and fault where a matrix does not begin there. So they are given
/// what does, and each of the rest goes to the routine that looks at its addresses.
#[test]
fn a_list_of_halves_goes_to_the_batch_only_where_all_begin_at_16_bytes() {
    fn check<T: windlass::blas::GemmElement<Out = T> + windlass::Element>(
        driver: &standin::Driver,
        device: &Device,
        math: Math,
    ) {
        let calls = |shift: usize, ld: usize, of: usize| {
            let buffer = || up(device, vec![T::zeroed(); 8 * ld + 64]);
            let (a, b) = (buffer(), buffer());
            let c = [(); 2].map(|()| buffer().narrow(if of == 2 { shift } else { 0 }..8 * ld).unwrap());
            let window = |n: usize| if of == n { shift..8 * ld + 8 } else { 0..8 * ld };
            let list = |x, n| [windlass::DeviceBuffer::as_in(x).slice(window(n)).unwrap(); 2];
            let (a, b) = (list(&a, 0), list(&b, 1));
            let (square, blas) = (Layout::columns(4, 4).ld(ld), device.blas().math(math));
            let c = c.map(|c| c.with_layout(square).unwrap());
            let (a, b) = (a.map(|x| x.view(square).unwrap()), b.map(|x| x.view(square).unwrap()));
            let (c, listed) = driver.calls_in(|| blas.gemm_batched(Gemm::new(), &a, &b, c).unwrap());
            let groups = [(Gemm::new(), 1), (Gemm::new(), 1)];
            let c = c.into_output();
            let (c, grouped) = driver.calls_in(|| blas.gemm_grouped(groups, &a, &b, c).unwrap());
            drop(c.into_output());
            [listed, grouped]
                .map(|calls| calls.into_iter().filter(|call| call.starts_with("cublasGemm")).collect::<Vec<_>>())
        };
        let one_by_one = ["cublasGemmEx_64"; 2];
        let grouped = ["cublasGemmGroupedBatchedEx_64"];
        assert_eq!(calls(0, 8, 0), [&["cublasGemmBatchedEx_64"][..], &grouped]);
        for shift in [1, 2, 3, 5] {
            for of in 0..3 {
                assert_eq!(
                    calls(shift, 8, of),
                    [one_by_one; 2],
                    "operand {of} begins at element {shift}, {}",
                    T::DTYPE
                );
            }
        }
        for ld in [5, 6, 7] {
            assert_eq!(calls(0, ld, 0), [one_by_one; 2], "columns of {ld}, {}", T::DTYPE);
        }
    }
    let driver = session();
    driver.set_total_memory(1 << 30);
    let device = device();
    check::<windlass::f16>(&driver, &device, Math::Default);
    check::<windlass::bf16>(&driver, &device, Math::Default);
    check::<f32>(&driver, &device, Math::Tf32);
    drop(device);
    driver.assert_finished();
}

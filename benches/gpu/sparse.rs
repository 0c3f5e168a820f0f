//! Products of sparse matrices beside cuSPARSE itself, with what it has looked at before (its preprocessing) kept.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::raw::{Memory, ok};
use cudarc::driver::sys::CUstream;
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::time::Duration;
use windlass::sparse::{Csr, SolveElement, SparseElement, Spmm, Spmv};
use windlass::{Diag, Transpose, Uplo, Wait};

const LONG: Duration = Duration::from_secs(60);
type Opaque = *mut c_void;

macro_rules! functions { ($($name:ident($($arg:ty),*) = $symbol:literal;)*) => {
    /// Functions of `libcusparse`, with its enums as integers.
    struct Cusparse { $($name: unsafe extern "C" fn($($arg),*) -> c_int,)* }
    impl Cusparse {
        /// Of the library that windlass has opened.
        fn load() -> Option<Self> {
            // SAFETY: a library that is loaded already.
            let library = unsafe { Library::new("libcusparse.so.12") }.ok()?;
            let library: &'static Library = Box::leak(Box::new(library));
            // SAFETY: the signatures are those of the library's header.
            Some(Cusparse { $($name: unsafe { *library.get($symbol).ok()? },)* })
        }
    }
} }
functions! {
    create(*mut Opaque) = b"cusparseCreate\0";
    set_stream(Opaque, CUstream) = b"cusparseSetStream\0";
    create_csr(*mut Opaque, i64, i64, i64, u64, u64, u64, u32, u32, u32, u32) = b"cusparseCreateCsr\0";
    set_pointers(Opaque, u64, u64, u64) = b"cusparseCsrSetPointers\0";
    size_of_matrix(Opaque, *mut i64, *mut i64, *mut i64) = b"cusparseSpMatGetSize\0";
    destroy_matrix(Opaque) = b"cusparseDestroySpMat\0";
    create_vector(*mut Opaque, i64, u64, u32) = b"cusparseCreateDnVec\0";
    create_dense(*mut Opaque, i64, i64, i64, u64, u32, u32) = b"cusparseCreateDnMat\0";
    spmv_size(Opaque, u32, *const f64, Opaque, Opaque, *const f64, Opaque, u32, u32, *mut usize)
        = b"cusparseSpMV_bufferSize\0";
    spmv_look(Opaque, u32, *const f64, Opaque, Opaque, *const f64, Opaque, u32, u32, u64) = b"cusparseSpMV_preprocess\0";
    spmv(Opaque, u32, *const f64, Opaque, Opaque, *const f64, Opaque, u32, u32, u64) = b"cusparseSpMV\0";
    spmm_size(Opaque, u32, u32, *const f64, Opaque, Opaque, *const f64, Opaque, u32, u32, *mut usize)
        = b"cusparseSpMM_bufferSize\0";
    spmm_look(Opaque, u32, u32, *const f64, Opaque, Opaque, *const f64, Opaque, u32, u32, u64)
        = b"cusparseSpMM_preprocess\0";
    spmm(Opaque, u32, u32, *const f64, Opaque, Opaque, *const f64, Opaque, u32, u32, u64) = b"cusparseSpMM\0";
    set_attribute(Opaque, u32, *const u32, usize) = b"cusparseSpMatSetAttribute\0";
    create_solve(*mut Opaque) = b"cusparseSpSV_createDescr\0";
    destroy_solve(Opaque) = b"cusparseSpSV_destroyDescr\0";
    solve_size(Opaque, u32, *const f64, Opaque, Opaque, Opaque, u32, u32, Opaque, *mut usize)
        = b"cusparseSpSV_bufferSize\0";
    solve_look(Opaque, u32, *const f64, Opaque, Opaque, Opaque, u32, u32, Opaque, u64) = b"cusparseSpSV_analysis\0";
    solve(Opaque, u32, *const f64, Opaque, Opaque, Opaque, u32, u32, Opaque) = b"cusparseSpSV_solve\0";
    create_product(*mut Opaque) = b"cusparseSpGEMM_createDescr\0";
    destroy_product(Opaque) = b"cusparseSpGEMM_destroyDescr\0";
    estimate(Opaque, u32, u32, *const f64, Opaque, Opaque, *const f64, Opaque, u32, u32, Opaque, *mut usize, u64)
        = b"cusparseSpGEMM_workEstimation\0";
    compute(Opaque, u32, u32, *const f64, Opaque, Opaque, *const f64, Opaque, u32, u32, Opaque, *mut usize, u64)
        = b"cusparseSpGEMM_compute\0";
    copy(Opaque, u32, u32, *const f64, Opaque, Opaque, *const f64, Opaque, u32, u32, Opaque) = b"cusparseSpGEMM_copy\0";
}

/// `CUSPARSE_INDEX_32I`, and the algorithms that give the same bits each time.
const INDEX: u32 = 2;
const SPMV: u32 = 3;
const SPMM: u32 = 12;
const SPGEMM: u32 = 0;

pub(crate) fn run(bench: &mut Bench) {
    if let Err(error) = bench.device.sparse().warm() {
        return bench.skip("sparse", &error.to_string());
    }
    let Some(api) = Cusparse::load() else { return bench.skip("sparse", "no libcusparse.so.12, or an old one") };
    let (side, small) = if bench.tiny { (4, 3) } else { (200, 100) };
    all::<f64>(bench, &api, "f64", 1, side, small);
    all::<f32>(bench, &api, "f32", 0, side, small);
}

/// The Laplacian of a cube: offsets, columns, values.
fn poisson(side: usize) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..side * side * side {
        let at = [row / (side * side), row / side % side, row % side];
        let steps = [side * side, side, 1];
        let below = at.iter().zip(steps).filter(|(at, _)| **at > 0).map(|(_, step)| row - step);
        let above = at.iter().zip(steps).rev().filter(|(at, _)| **at + 1 < side).map(|(_, step)| row + step);
        for column in below.chain([row]).chain(above) {
            columns.push(column as i32);
            values.push(if column == row { 6.0 } else { -1.0 });
        }
        offsets.push(columns.len() as i32);
    }
    (offsets, columns, values)
}

/// One matrix on both sides.
struct Both<T: SolveElement> {
    ours: Csr<T>,
    raw: Opaque,
    arrays: [Memory; 3],
    n: usize,
    nnz: usize,
}

fn both<T: SolveElement + SparseElement<Scalar = T>>(
    bench: &Bench,
    api: &Cusparse,
    kind: u32,
    side: usize,
    stream: CUstream,
) -> Both<T> {
    let (offsets, columns, values) = poisson(side);
    let values: Vec<T> = values.into_iter().map(real).collect();
    let (n, nnz) = (offsets.len() - 1, values.len());
    let ours = bench.device.sparse().upload_csr(n, n, &offsets, &columns, &values).unwrap();
    bench.raw.enter();
    let arrays =
        [bench.raw.upload(&offsets, stream), bench.raw.upload(&columns, stream), bench.raw.upload(&values, stream)];
    let (mut raw, rows) = (null_mut(), n as i64);
    let [o, c, v] = [&arrays[0], &arrays[1], &arrays[2]].map(|memory| memory.address);
    // SAFETY: the arrays live as long as the descriptor is used.
    ok(unsafe { (api.create_csr)(&mut raw, rows, rows, nnz as i64, o, c, v, INDEX, INDEX, 0, kind) });
    Both { ours, raw, arrays, n, nnz }
}

fn real<T: SolveElement>(x: f64) -> T {
    let (wide, narrow) = (x.to_ne_bytes(), (x as f32).to_ne_bytes());
    bytemuck::pod_read_unaligned(if size_of::<T>() == 8 { &wide } else { &narrow })
}

fn all<T: SolveElement + SparseElement<Scalar = T>>(
    bench: &mut Bench,
    api: &Cusparse,
    text: &str,
    kind: u32,
    side: usize,
    small: usize,
) {
    let (raw, device) = (bench.raw, bench.device.clone());
    let stream = raw.stream();
    let mut handle = null_mut();
    // SAFETY: valid for the write; handle and stream stay.
    unsafe {
        ok((api.create)(&mut handle));
        ok((api.set_stream)(handle, stream));
    }
    // The scalars in the type of the product, in eight bytes.
    let scalar = |x: f64| {
        let mut bytes = [0u8; 8];
        bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&real::<T>(x)));
        f64::from_ne_bytes(bytes)
    };
    let (one, zero) = (scalar(1.0), scalar(0.0));
    let a = both::<T>(bench, api, kind, side, stream);
    let ones = |n: usize| vec![real::<T>(1.0); n];
    let moved = (a.nnz * (size_of::<T>() + 4) + a.n * (2 * size_of::<T>() + 4)) as f64;

    // A times a vector.
    let (x_raw, y_raw) = (raw.upload(&ones(a.n), stream), Memory::new(&raw, a.n * size_of::<T>(), stream));
    let (mut x, mut y, mut bytes, n) = (null_mut(), null_mut(), 0, a.n as i64);
    // SAFETY: the descriptors and their memory live to the end of this function; so it is below.
    let buffer = unsafe {
        ok((api.create_vector)(&mut x, n, x_raw.address, kind));
        ok((api.create_vector)(&mut y, n, y_raw.address, kind));
        ok((api.spmv_size)(handle, 0, &one, a.raw, x, &zero, y, kind, SPMV, &mut bytes));
        let buffer = Memory::new(&raw, bytes.max(16), stream);
        ok((api.spmv_look)(handle, 0, &one, a.raw, x, &zero, y, kind, SPMV, buffer.address));
        buffer
    };
    raw.settle();
    let sparse = device.sparse();
    let x_ours = device.upload(ones(a.n)).unwrap().into_output();
    let mut y_ours = Some(device.zeros::<T>([a.n]).unwrap());
    const BATCH: usize = 8;
    let ours = || {
        moved
            / timed(BATCH, || {
                let y = (0..BATCH).fold(y_ours.take().unwrap(), |y, _| {
                    sparse.spmv(Spmv::new(), &a.ours, &x_ours, y).unwrap().into_output()
                });
                device.waiting(Wait::Spin).synchronize(LONG).unwrap();
                y_ours = Some(y);
            })
    };
    let theirs = || {
        moved
            / timed(BATCH, || {
                for _ in 0..BATCH {
                    // SAFETY: as above.
                    ok(unsafe { (api.spmv)(handle, 0, &one, a.raw, x, &zero, y, kind, SPMV, buffer.address) });
                }
                raw.settle();
            })
    };
    let name = format!("spmv {text}, Poisson {side}^3");
    bench.pair(&name, Unit::GBs, Goal::TimesAtLeast(0.98), 30, ours, theirs);
    if bench.wants(&name) && !bench.tiny {
        let got: Vec<T> = device.download(y_ours.as_ref().unwrap()).unwrap().await_result().unwrap();
        assert!(got == raw.download::<T>(&y_raw), "two different products");
    }

    // The lower triangle, with its analysis kept.
    let (mut lower, mut solve) = (null_mut(), null_mut());
    let [o, c, v] = [0, 1, 2].map(|i: usize| a.arrays[i].address);
    // SAFETY: as above.
    let kept = unsafe {
        ok((api.create_csr)(&mut lower, n, n, a.nnz as i64, o, c, v, INDEX, INDEX, 0, kind));
        // The fill mode, lower; the type of the diagonal, as it is stored.
        ok((api.set_attribute)(lower, 0, &0, 4));
        ok((api.set_attribute)(lower, 1, &0, 4));
        ok((api.create_solve)(&mut solve));
        ok((api.solve_size)(handle, 0, &one, lower, x, y, kind, 0, solve, &mut bytes));
        let kept = Memory::new(&raw, bytes.max(16), stream);
        ok((api.solve_look)(handle, 0, &one, lower, x, y, kind, 0, solve, kept.address));
        kept
    };
    raw.settle();
    let triangle = sparse.triangular(&a.ours, Uplo::Lower, Diag::NonUnit, Transpose::No).unwrap();
    let ours = || {
        timed(1, || {
            let y = sparse.spsv(&triangle, real(1.0), &x_ours, y_ours.take().unwrap()).unwrap().into_output();
            device.waiting(Wait::Spin).synchronize(LONG).unwrap();
            y_ours = Some(y);
        }) / 1e3
    };
    let theirs = || {
        timed(1, || {
            // SAFETY: as above.
            ok(unsafe { (api.solve)(handle, 0, &one, lower, x, y, kind, 0, solve) });
            raw.settle();
        }) / 1e3
    };
    bench.pair(&format!("spsv {text}, Poisson {side}^3"), Unit::Us, Goal::TimesAtMost(1.02), 20, ours, theirs);
    let got: Vec<T> = device.download(y_ours.as_ref().unwrap()).unwrap().await_result().unwrap();
    let wide = |x: T| match bytemuck::bytes_of(&x) {
        bytes if size_of::<T>() == 8 => bytemuck::pod_read_unaligned::<f64>(bytes),
        bytes => f64::from(bytemuck::pod_read_unaligned::<f32>(bytes)),
    };
    let apart = got.iter().zip(raw.download::<T>(&y_raw)).map(|(x, y)| (wide(*x) - wide(y)).abs()).fold(0.0, f64::max);
    assert!(bench.tiny || apart < if size_of::<T>() == 8 { 1e-12 } else { 1e-4 }, "two different solutions");
    // SAFETY: idle since the last of them, and used no more.
    unsafe {
        ok((api.destroy_solve)(solve));
        ok((api.destroy_matrix)(lower));
    }
    drop((kept, triangle));

    // A times 64 columns, by rows.
    let columns = 64;
    let (b_raw, c_raw) =
        (raw.upload(&ones(a.n * columns), stream), Memory::new(&raw, a.n * columns * size_of::<T>(), stream));
    let (mut b, mut c, width) = (null_mut(), null_mut(), columns as i64);
    // SAFETY: as above.
    let buffer = unsafe {
        ok((api.create_dense)(&mut b, n, width, width, b_raw.address, kind, 2));
        ok((api.create_dense)(&mut c, n, width, width, c_raw.address, kind, 2));
        ok((api.spmm_size)(handle, 0, 0, &one, a.raw, b, &zero, c, kind, SPMM, &mut bytes));
        let buffer = Memory::new(&raw, bytes.max(16), stream);
        ok((api.spmm_look)(handle, 0, 0, &one, a.raw, b, &zero, c, kind, SPMM, buffer.address));
        buffer
    };
    raw.settle();
    let b_ours = device.tensor([a.n, columns], ones(a.n * columns)).unwrap();
    let mut c_ours = Some(device.zeros::<T>([a.n, columns]).unwrap());
    let ours = || {
        timed(1, || {
            let c = sparse.spmm(Spmm::new(), &a.ours, &b_ours, c_ours.take().unwrap()).unwrap().into_output();
            device.waiting(Wait::Spin).synchronize(LONG).unwrap();
            c_ours = Some(c);
        }) / 1e3
    };
    let theirs = || {
        timed(1, || {
            // SAFETY: as above.
            ok(unsafe { (api.spmm)(handle, 0, 0, &one, a.raw, b, &zero, c, kind, SPMM, buffer.address) });
            raw.settle();
        }) / 1e3
    };
    bench.pair(&format!("spmm 64 {text}, Poisson {side}^3"), Unit::Us, Goal::TimesAtMost(1.02), 20, ours, theirs);
    drop((b_raw, c_raw, buffer, b_ours, c_ours));

    // The square.
    let a = both::<T>(bench, api, kind, small, stream);
    let ours = || {
        timed(1, || {
            let square = sparse.spgemm(real(1.0), &a.ours, &a.ours).unwrap();
            device.waiting(Wait::Spin).synchronize(LONG).unwrap();
            drop(square);
        }) / 1e3
    };
    let theirs = || timed(1, || drop(square(&raw, api, handle, (&one, &zero), &a, kind, stream))) / 1e3;
    bench.pair(&format!("spgemm {text}, Poisson {small}^3"), Unit::Us, Goal::TimesAtMost(1.02), 12, ours, theirs);
    let ours = sparse.spgemm(real(1.0), &a.ours, &a.ours).unwrap();
    let theirs = square(&raw, api, handle, (&one, &zero), &a, kind, stream);
    assert_eq!(ours.nnz(), theirs[2].bytes / size_of::<T>(), "two different squares");
}

/// `A * A` by cuSPARSE: all its phases, with fresh memory for each.
fn square<T: SolveElement>(
    raw: &crate::raw::Raw,
    api: &Cusparse,
    handle: Opaque,
    (one, zero): (&f64, &f64),
    a: &Both<T>,
    kind: u32,
    stream: CUstream,
) -> [Memory; 3] {
    let (mut c, mut product, n) = (null_mut(), null_mut(), a.n as i64);
    let offsets = Memory::new(raw, 4 * (a.n + 1), stream);
    let (mut first, mut second, mut rows, mut cols, mut nnz) = (0, 0, 0, 0, 0);
    // SAFETY: as the library's documentation has its phases; the buffers live until the copy is over.
    unsafe {
        ok((api.create_csr)(&mut c, n, n, 0, offsets.address, 0, 0, INDEX, INDEX, 0, kind));
        ok((api.create_product)(&mut product));
        ok((api.estimate)(handle, 0, 0, one, a.raw, a.raw, zero, c, kind, SPGEMM, product, &mut first, 0));
        let one_room = Memory::new(raw, first.max(16), stream);
        let at = one_room.address;
        ok((api.estimate)(handle, 0, 0, one, a.raw, a.raw, zero, c, kind, SPGEMM, product, &mut first, at));
        ok((api.compute)(handle, 0, 0, one, a.raw, a.raw, zero, c, kind, SPGEMM, product, &mut second, 0));
        let two_room = Memory::new(raw, second.max(16), stream);
        let at = two_room.address;
        ok((api.compute)(handle, 0, 0, one, a.raw, a.raw, zero, c, kind, SPGEMM, product, &mut second, at));
        ok((api.size_of_matrix)(c, &mut rows, &mut cols, &mut nnz));
        let columns = Memory::new(raw, 4 * nnz as usize, stream);
        let values = Memory::new(raw, nnz as usize * size_of::<T>(), stream);
        ok((api.set_pointers)(c, offsets.address, columns.address, values.address));
        ok((api.copy)(handle, 0, 0, one, a.raw, a.raw, zero, c, kind, SPGEMM, product));
        raw.settle();
        ok((api.destroy_product)(product));
        ok((api.destroy_matrix)(c));
        [offsets, columns, values]
    }
}

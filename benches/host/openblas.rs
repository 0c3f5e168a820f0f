//! OpenBLAS beside ours in the same run, where it can be loaded: from the file that `WINDLASS_OPENBLAS` names, as the one in
//! NumPy's wheel, or as the system has it (Debian: package `libopenblas0`). By its Fortran entry points, which take every
//! argument by pointer and so have one signature for all types.

use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use windlass::blas::BlasElement;
use windlass::{DType, Element};

type Text = *const c_char;
/// Of 64 bits or, where the library has such, of the lower 32 of them: this machine puts those first.
type Int = *const i64;
type In = *const c_void;
type Out = *mut c_void;
/// gemm: operations, sizes, alpha, A, B, beta, C.
type Product = unsafe extern "C" fn(Text, Text, Int, Int, Int, In, In, Int, In, Int, In, Out, Int);
/// symm: side, triangle, sizes, alpha, A, B, beta, C.
type Symmetric = unsafe extern "C" fn(Text, Text, Int, Int, In, In, Int, In, Int, In, Out, Int);
/// syrk: triangle, operation, sizes, alpha, A, beta, C.
type Update = unsafe extern "C" fn(Text, Text, Int, Int, In, In, Int, In, Out, Int);
/// trmm and trsm: side, triangle, operation, diagonal, sizes, alpha, A, B.
type Triangle = unsafe extern "C" fn(Text, Text, Text, Text, Int, Int, In, In, Int, Out, Int);
/// gemv: operation, sizes, alpha, A, x, beta, y.
type VectorProduct = unsafe extern "C" fn(Text, Int, Int, In, In, Int, In, Int, In, Out, Int);
/// getrf: sizes, A, pivots, info.
type Factors = unsafe extern "C" fn(Int, Int, Out, Int, Out, Out);

/// The library, once it is loaded.
pub(crate) struct OpenBlas {
    library: Library,
    /// What stands before and behind the names of its functions: a build of 64-bit sizes has others.
    names: (&'static str, &'static str),
}

/// The library; said aloud where there is none.
pub(crate) fn open() -> Option<&'static OpenBlas> {
    static LIBRARY: OnceLock<Option<OpenBlas>> = OnceLock::new();
    let load = || {
        let named = std::env::var("WINDLASS_OPENBLAS").ok();
        let files = ["libopenblas.so.0", "libopenblas.so"].map(String::from);
        let files = named.map_or_else(|| files.to_vec(), |named| vec![named]);
        // SAFETY: a library of mathematics, whose initialisers touch nothing of ours.
        let found = files.iter().find_map(|name| unsafe { Library::new(name) }.ok());
        if found.is_none() {
            eprintln!("SKIPPED: every row of OpenBLAS: none of {files:?} can be loaded");
        }
        let library = found?;
        // SAFETY: only asked for.
        let has = |name: &[u8]| unsafe { library.get::<Product>(name) }.is_ok();
        let names = [("", "_"), ("scipy_", "_64_"), ("scipy_", "_"), ("", "_64_")];
        let names = names.into_iter().find(|(before, behind)| has(format!("{before}dgemm{behind}\0").as_bytes()));
        Some(OpenBlas { library, names: names.unwrap() })
    };
    LIBRARY.get_or_init(load).as_ref()
}

const LEFT: Text = c"L".as_ptr();
const LOWER: Text = c"L".as_ptr();
const PLAIN: Text = c"N".as_ptr();

/// Square matrices of `n` rows without gaps. What is called fits them: `a`, `b` and `c` hold `n * n` elements each.
pub(crate) struct Squares<'m, T> {
    pub(crate) n: usize,
    pub(crate) a: &'m [T],
    pub(crate) b: &'m [T],
    pub(crate) c: &'m mut [T],
}

fn letter<T: Element>() -> char {
    match T::DTYPE {
        DType::F32 => 's',
        DType::F64 => 'd',
        DType::C32 => 'c',
        _ => 'z',
    }
}

impl OpenBlas {
    fn function<T: Element, F: Copy>(&self, name: &str) -> F {
        let (before, behind) = self.names;
        // SAFETY: BLAS's own names, whose signatures the callers spell out.
        *unsafe { self.library.get::<F>(format!("{before}{}{name}{behind}\0", letter::<T>()).as_bytes()) }.unwrap()
    }

    /// `C = A * B`, `symm`, `syrk`, `trmm` or `trsm` of C.
    pub(crate) fn call<T: BlasElement>(&self, routine: &str, one: T, squares: &mut Squares<'_, T>) {
        let Squares { n, a, b, c } = squares;
        let size = *n * *n;
        assert!(a.len() >= size && b.len() >= size && c.len() >= size, "matrices of {n} rows");
        let (n, zero) = (*n as i64, T::default());
        let (l, one, zero) = (&raw const n, (&raw const one).cast(), (&raw const zero).cast());
        let (a, b, c) = (a.as_ptr().cast(), b.as_ptr().cast(), c.as_mut_ptr().cast());
        // SAFETY: of all: BLAS's own signatures; the matrices have n x n elements (asserted), and only C is written.
        unsafe {
            match routine {
                "gemm" => self.function::<T, Product>(routine)(PLAIN, PLAIN, l, l, l, one, a, l, b, l, zero, c, l),
                "symm" => self.function::<T, Symmetric>(routine)(LEFT, LOWER, l, l, one, a, l, b, l, zero, c, l),
                "syrk" => self.function::<T, Update>(routine)(LOWER, PLAIN, l, l, one, a, l, zero, c, l),
                _ => self.function::<T, Triangle>(routine)(LEFT, LOWER, PLAIN, PLAIN, l, l, one, a, l, c, l),
            }
        }
    }

    /// `y = op(A) * x` of an `n x n` matrix; transposed where `transposed`.
    pub(crate) fn gemv<T: BlasElement>(&self, transposed: bool, one: T, a: &[T], x: &[T], y: &mut [T]) {
        let n = x.len();
        assert!(a.len() >= n * n && y.len() >= n, "a matrix of {n} rows");
        let (n, step, zero, op) = (n as i64, 1i64, T::default(), if transposed { c"T".as_ptr() } else { PLAIN });
        let (l, step, one, zero) = (&raw const n, &raw const step, (&raw const one).cast(), (&raw const zero).cast());
        let (a, x, y) = (a.as_ptr().cast(), x.as_ptr().cast(), y.as_mut_ptr().cast());
        // SAFETY: BLAS's own signature; matrix and vectors are as long as they are said to be (asserted).
        unsafe { self.function::<T, VectorProduct>("gemv")(op, l, l, one, a, l, x, step, zero, y, step) };
    }

    /// LU factors of an `n x n` matrix, in place.
    pub(crate) fn getrf<T: BlasElement>(&self, n: usize, a: &mut [T], pivots: &mut [i64]) {
        assert!(a.len() >= n * n && pivots.len() >= n, "a matrix of {n} rows");
        let (n, mut info) = (n as i64, 0i64);
        let (l, a, pivots) = (&raw const n, a.as_mut_ptr().cast(), pivots.as_mut_ptr().cast());
        // SAFETY: LAPACK's own signature; matrix and pivots are as long as they are said to be (asserted).
        unsafe { self.function::<T, Factors>("getrf")(l, l, a, l, pivots, (&raw mut info).cast()) };
    }

    /// A function of OpenBLAS's own, which has names like BLAS's, and in a build of 64-bit sizes ends in `64_` too.
    fn own<F: Copy>(&self, name: &str) -> F {
        let (before, behind) = self.names;
        let behind = behind.strip_prefix('_').unwrap_or_default();
        // SAFETY: OpenBLAS's own names, whose signatures the callers spell out.
        *unsafe { self.library.get::<F>(format!("{before}openblas_{name}{behind}\0").as_bytes()) }.unwrap()
    }

    pub(crate) fn set_threads(&self, count: usize) {
        // SAFETY: its signature.
        unsafe { self.own::<unsafe extern "C" fn(c_int)>("set_num_threads")(count as c_int) };
    }

    /// Version, options, kernels.
    pub(crate) fn describe(&self) -> String {
        // SAFETY: its signature; a string that lives as long as the library.
        let text = unsafe { CStr::from_ptr(self.own::<unsafe extern "C" fn() -> *const c_char>("get_config")()) };
        text.to_string_lossy().trim().to_owned()
    }
}

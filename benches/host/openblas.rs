//! OpenBLAS beside ours in the same run, where it can be loaded (Debian: package `libopenblas0`): by its Fortran entry
//! points, which take every argument by pointer and so have one signature for all types.

use libloading::Library;
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use windlass::blas::BlasElement;
use windlass::{DType, Element};

type Text = *const c_char;
type Int = *const c_int;
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

/// The library, once it is loaded.
pub(crate) struct OpenBlas(Library);

/// The library; said aloud where there is none.
pub(crate) fn open() -> Option<&'static OpenBlas> {
    static LIBRARY: OnceLock<Option<OpenBlas>> = OnceLock::new();
    let load = || {
        // SAFETY: a library of mathematics, whose initialisers touch nothing of ours.
        let found =
            ["libopenblas.so.0", "libopenblas.so"].into_iter().find_map(|name| unsafe { Library::new(name) }.ok());
        if found.is_none() {
            eprintln!("SKIPPED: every row of OpenBLAS: neither libopenblas.so.0 nor libopenblas.so can be loaded");
        }
        found.map(OpenBlas)
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
        // SAFETY: BLAS's own names, whose signatures the callers spell out.
        *unsafe { self.0.get::<F>(format!("{}{name}_\0", letter::<T>()).as_bytes()) }.unwrap()
    }

    /// `C = A * B`, `symm`, `syrk`, `trmm` or `trsm` of C.
    pub(crate) fn call<T: BlasElement>(&self, routine: &str, one: T, squares: &mut Squares<'_, T>) {
        let Squares { n, a, b, c } = squares;
        let size = *n * *n;
        assert!(a.len() >= size && b.len() >= size && c.len() >= size, "matrices of {n} rows");
        let (n, zero) = (*n as c_int, T::default());
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
}

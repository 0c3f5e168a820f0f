//! The raw side of a fused product: descriptors and an algorithm, made ahead, and `cublasLtMatmul` alone.

use crate::functions::CublasLt;
use crate::raw::{Memory, Raw, WORKSPACE, ok};
use cudarc::driver::sys::CUstream;
use std::ffi::c_void;
use std::ptr::null_mut;
use windlass::blaslt::MatmulTypes;

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Found {
    algo: [u64; 8],
    workspace: usize,
    state: i32,
    waves: f32,
    reserved: [i32; 4],
}

/// A scalar where the library may load it with vector instructions.
#[repr(C, align(16))]
struct Factor<S>(S);

/// One product with its descriptors and its algorithm, made ahead.
pub(super) struct Lt<S> {
    api: CublasLt,
    handle: *mut c_void,
    desc: *mut c_void,
    /// Of A and B, and of C and D.
    layouts: [*mut c_void; 2],
    algo: [u64; 8],
    workspace: Memory,
    stream: CUstream,
    factors: [Factor<S>; 2],
}

impl<S: Default> Lt<S> {
    /// Of square matrices of these types, the first of them transposed, with what windlass asks of the heuristic.
    pub(super) fn new<T: MatmulTypes<Scalar = S>>(raw: &Raw, stream: CUstream, n: usize) -> Self {
        const MAX_WORKSPACE: u32 = 1;
        const REDUCTION_SCHEMES: u32 = 3;
        const NARROW: [u32; 4] = [2, 14, 28, 29];
        let (api, codes) = (CublasLt::load(), T::CODES);
        let [factors, _, _, result] = codes.matrices;
        let (mut handle, mut desc, mut preference) = (null_mut(), null_mut(), null_mut());
        let (mut layouts, mut found, mut given) = ([null_mut(); 2], Found::default(), 0);
        let (transposed, workspace) = (1u32, WORKSPACE as u64);
        let schemes = if NARROW.contains(&result) { 2u32 } else { 7 };
        // SAFETY: every pointer is valid for what is read or written; the objects live as long as the process.
        unsafe {
            ok((api.create)(&mut handle));
            ok((api.desc_create)(&mut desc, codes.compute as i32, codes.scale));
            ok((api.desc_set)(desc, 3, (&raw const transposed).cast(), 4));
            for (layout, code) in layouts.iter_mut().zip([factors, result]) {
                ok((api.layout_create)(layout, code, n as u64, n as u64, n as i64));
            }
            ok((api.preference_create)(&mut preference));
            ok((api.preference_set)(preference, MAX_WORKSPACE, (&raw const workspace).cast(), 8));
            ok((api.preference_set)(preference, REDUCTION_SCHEMES, (&raw const schemes).cast(), 4));
            let [l, d] = layouts;
            ok((api.heuristic)(handle, desc, l, l, d, d, preference, 1, (&raw mut found).cast(), &mut given));
        }
        assert_eq!((given, found.state), (1, 0), "no algorithm");
        let workspace = Memory::new(raw, WORKSPACE, stream);
        let factors = [Factor(T::ONE), Factor(S::default())];
        Lt { api, handle, desc, layouts, algo: found.algo, workspace, stream, factors }
    }

    /// `D = A^T * B`.
    #[inline(always)]
    pub(super) fn matmul(&self, [a, b, d]: [&Memory; 3]) {
        let ([one, zero], [l, of_d]) = (&self.factors, self.layouts);
        // SAFETY: the matrices hold n x n elements; the scalars are read before the call returns.
        ok(unsafe {
            (self.api.matmul)(
                self.handle,
                self.desc,
                (&raw const *one).cast(),
                a.address as *const c_void,
                l,
                b.address as *const c_void,
                l,
                (&raw const *zero).cast(),
                d.address as *const c_void,
                of_d,
                d.address as *mut c_void,
                of_d,
                (&raw const self.algo).cast(),
                self.workspace.address as *mut c_void,
                WORKSPACE,
                self.stream,
            )
        });
    }
}

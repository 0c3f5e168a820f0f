//! The library's descriptors of a problem, and its heuristic.

use super::functions::{Heuristic, RawDesc, RawHandle, RawLayout, RawPreference};
use super::{Addresses, Choice, CublasLtFunctions, HEURISTIC, MatrixOf, NOT_SUPPORTED, Problem};
use crate::engines::cuda::Native;
use crate::engines::library::Refusal;

/// Maximum number of candidates that the heuristic is asked for.
pub(super) const CANDIDATES: usize = 16;

/// The library's descriptors of one problem. Dropping them frees them, which makes no driver call.
pub(super) struct Descriptors {
    api: &'static CublasLtFunctions,
    pub(super) desc: Native<RawDesc>,
    /// Of A, B, C, D.
    pub(super) layouts: [Native<RawLayout>; 4],
    preference: Native<RawPreference>,
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: each was made by the library or is null, and only `self` has it.
        unsafe {
            if self.desc.0 != RawDesc::NULL {
                let _ = self.api.desc_destroy(self.desc.0);
            }
            for layout in self.layouts.iter().filter(|layout| layout.0 != RawLayout::NULL) {
                let _ = self.api.layout_destroy(layout.0);
            }
            if self.preference.0 != RawPreference::NULL {
                let _ = self.api.preference_destroy(self.preference.0);
            }
        }
    }
}

// cublasLtMatmulDescAttributes_t.
const POINTER_MODE: u32 = 2;
const TRANS_A: u32 = 3;
const TRANS_B: u32 = 4;
const EPILOGUE: u32 = 7;
const BIAS_POINTER: u32 = 8;
const BIAS_BATCH_STRIDE: u32 = 10;
const AUX_POINTER: u32 = 11;
const AUX_LD: u32 = 12;
const AUX_BATCH_STRIDE: u32 = 13;
/// Of A, B and D, and the largest magnitude of D.
const SCALE_POINTERS: [u32; 4] = [17, 18, 20, 21];
const AUX_DATA_TYPE: u32 = 22;
const FAST_ACCUMULATION: u32 = 25;
const BIAS_DATA_TYPE: u32 = 26;
/// Of A and B.
const SCALE_MODES: [u32; 2] = [31, 32];
/// `CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F`.
const OUTER_VECTOR: i32 = 3;
// cublasLtMatrixLayoutAttribute_t.
const LAYOUT_ORDER: u32 = 1;
const LAYOUT_BATCH_COUNT: u32 = 5;
const LAYOUT_BATCH_STRIDE: u32 = 6;
// cublasLtMatmulPreferenceAttributes_t.
const MAX_WORKSPACE: u32 = 1;
const REDUCTION_SCHEMES: u32 = 3;
/// Partial sums in a workspace, in the type of the sums.
const REDUCTION_IN_COMPUTE_TYPE: u32 = 2;
const ANY_REDUCTION: u32 = 7;
/// Of A, B, C and D.
const MIN_ALIGNMENTS: [u32; 4] = [5, 6, 7, 8];

impl Descriptors {
    pub(super) fn new(
        api: &'static CublasLtFunctions,
        problem: &Problem,
        addresses: &Addresses,
    ) -> Result<Self, Refusal> {
        let (desc, layouts) = (Native(RawDesc::NULL), [Native(RawLayout::NULL); 4]);
        let mut this = Descriptors { api, desc, layouts, preference: Native(RawPreference::NULL) };
        // SAFETY: the place is valid for the write.
        let code = unsafe { api.desc_create(&mut this.desc.0, problem.compute, problem.scale) };
        code.ok().map_err(|code| ("cublasLtMatmulDescCreate", code))?;
        for (layout, matrix) in this.layouts.iter_mut().zip(&problem.matrices) {
            let MatrixOf { data_type, order, rows, columns, ld, stride } = *matrix;
            // SAFETY: as above.
            let code = unsafe { api.layout_create(&mut layout.0, data_type, rows, columns, ld) };
            code.ok().map_err(|code| ("cublasLtMatrixLayoutCreate", code))?;
            let set = |attribute, value: &[u8]| {
                // SAFETY: the layout was made just now; the value is read during the call.
                let code = unsafe { api.layout_set(layout.0, attribute, value.as_ptr().cast(), value.len()) };
                code.ok().map_err(|code| ("cublasLtMatrixLayoutSetAttribute", code))
            };
            set(LAYOUT_ORDER, &order.to_ne_bytes())?;
            if problem.batch != 1 {
                set(LAYOUT_BATCH_COUNT, &problem.batch.to_ne_bytes())?;
                set(LAYOUT_BATCH_STRIDE, &stride.to_ne_bytes())?;
            }
        }
        this.set(POINTER_MODE, &u32::from(problem.factors_on_device).to_ne_bytes())?;
        let [trans_a, trans_b] = problem.trans;
        this.set(TRANS_A, &trans_a.to_ne_bytes())?;
        this.set(TRANS_B, &trans_b.to_ne_bytes())?;
        this.set(EPILOGUE, &problem.epilogue.to_ne_bytes())?;
        if addresses.bias != 0 {
            this.set(BIAS_BATCH_STRIDE, &problem.bias_stride.to_ne_bytes())?;
            if let Some(bias_type) = problem.bias_type {
                this.set(BIAS_DATA_TYPE, &bias_type.to_ne_bytes())?;
            }
        }
        if addresses.aux != 0 {
            this.set(AUX_LD, &problem.aux_ld.to_ne_bytes())?;
            this.set(AUX_BATCH_STRIDE, &problem.aux_stride.to_ne_bytes())?;
            if let Some(aux_type) = problem.aux_type {
                this.set(AUX_DATA_TYPE, &aux_type.to_ne_bytes())?;
            }
        }
        for (mode, _) in SCALE_MODES.into_iter().zip(problem.outer).filter(|(_, outer)| *outer) {
            this.set(mode, &OUTER_VECTOR.to_ne_bytes())?;
        }
        if problem.fast_accumulation {
            this.set(FAST_ACCUMULATION, &[1])?;
        }
        // Also needed before the heuristic, which checks how they are aligned.
        this.point(addresses)?;
        Ok(this)
    }

    fn set(&self, attribute: u32, value: &[u8]) -> Result<(), Refusal> {
        // SAFETY: the descriptor is alive; the value is read during the call.
        let code = unsafe { self.api.desc_set(self.desc.0, attribute, value.as_ptr().cast(), value.len()) };
        code.ok().map_err(|code| ("cublasLtMatmulDescSetAttribute", code))
    }

    /// Writes the addresses of a call to the descriptors.
    pub(super) fn point(&self, addresses: &Addresses) -> Result<(), Refusal> {
        let pointers = [(BIAS_POINTER, addresses.bias), (AUX_POINTER, addresses.aux)].into_iter();
        for (attribute, address) in pointers.chain(SCALE_POINTERS.into_iter().zip(addresses.scales)) {
            if address != 0 {
                self.set(attribute, &address.to_ne_bytes())?;
            }
        }
        Ok(())
    }

    /// Asks the heuristic for up to `most` algorithms.
    pub(super) fn ways(&mut self, handle: RawHandle, problem: &Problem, most: usize) -> Result<Vec<Choice>, Refusal> {
        let api = self.api;
        if self.preference.0 == RawPreference::NULL {
            // SAFETY: the place is valid for the write.
            let code = unsafe { api.preference_create(&mut self.preference.0) };
            code.ok().map_err(|code| ("cublasLtMatmulPreferenceCreate", code))?;
        }
        let preference = self.preference.0;
        let set = |attribute, value: &[u8]| {
            // SAFETY: the preference is alive; the value is read during the call.
            let code = unsafe { api.preference_set(preference, attribute, value.as_ptr().cast(), value.len()) };
            code.ok().map_err(|code| ("cublasLtMatmulPreferenceSetAttribute", code))
        };
        set(MAX_WORKSPACE, &(problem.workspace as u64).to_ne_bytes())?;
        // Partial sums are never rounded to a D that is narrower than they are.
        const NARROW: [u32; 4] = [2, 14, 28, 29]; // halves and 8-bit floats
        let narrow = NARROW.contains(&problem.matrices[3].data_type);
        let schemes = if narrow { REDUCTION_IN_COMPUTE_TYPE } else { ANY_REDUCTION };
        set(REDUCTION_SCHEMES, &schemes.to_ne_bytes())?;
        for (attribute, alignment) in MIN_ALIGNMENTS.into_iter().zip(problem.alignment) {
            set(attribute, &u32::from(alignment.max(1)).to_ne_bytes())?;
        }
        let mut results = [Heuristic::default(); CANDIDATES];
        let (most, mut given) = (most.min(CANDIDATES), 0);
        let [a, b, c, d] = self.layouts.map(|layout| layout.0);
        // SAFETY: handle and descriptors are alive, and there is room for as many results as are asked for.
        let code = unsafe {
            let (desc, results) = (self.desc.0, results.as_mut_ptr());
            api.heuristic(handle, desc, a, b, c, d, preference, most as i32, results, &mut given)
        };
        code.ok().map_err(|code| (HEURISTIC, code))?;
        let given = usize::try_from(given).unwrap_or(0);
        let fit = |h: &&Heuristic| h.state == 0 && h.workspace <= problem.workspace;
        let ways: Vec<Choice> = results.iter().take(given).filter(fit).map(Choice::from).collect();
        if ways.is_empty() { Err((HEURISTIC, NOT_SUPPORTED)) } else { Ok(ways) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::tests::problem;
    use super::*;

    /// Needs the library, not a GPU: descriptors are host memory. If the library is not installed, it prints that it is
    /// skipped.
    #[test]
    fn the_library_takes_every_descriptor_that_can_be_made() {
        let api = match CublasLtFunctions::load() {
            Ok(api) => api,
            Err(error) => return println!("skipped: {error}"),
        };
        let addresses = Addresses {
            a: 256,
            b: 512,
            c: 1024,
            d: 2048,
            bias: 4096,
            aux: 8192,
            scales: [16, 32, 48, 64],
            factors: Some([16, 32]),
        };
        for row in [0, 1] {
            let mut problem = problem();
            problem.matrices.iter_mut().for_each(|m| (m.order, m.ld) = (row, 64));
            let descriptors = Descriptors::new(api, &problem, &addresses).unwrap();
            descriptors.point(&Addresses { bias: 1 << 20, ..addresses }).unwrap();
            let unknown = descriptors.set(9999, &[0; 4]);
            assert!(unknown.is_err(), "an attribute that does not exist was taken");
        }
    }
}

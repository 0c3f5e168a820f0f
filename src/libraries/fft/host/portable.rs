//! Plans of `rustfft`'s portable kernels alone, for the unit tests of the crate. The normal planner brings the kernels
//! of every vector unit into each crate that uses it. That is a third of the library's compile time, and the unit tests
//! are a second build of the library. The normal planner is tested through the front: `tests/host/fft/`.

use num_complex::Complex;
use realfft::{ComplexToReal, FftError, RealToComplex};
use rustfft::{Fft, FftNum, FftPlannerScalar};
use std::sync::Arc;

/// Plans real transforms, each as a complex transform of all its points.
pub(super) struct RealPlanner<T: FftNum>(FftPlannerScalar<T>);

impl<T: FftNum> RealPlanner<T> {
    pub(super) fn new() -> Self {
        RealPlanner(FftPlannerScalar::new())
    }

    pub(super) fn plan_fft_forward(&mut self, n: usize) -> Arc<dyn RealToComplex<T>> {
        Arc::new(Forward(self.0.plan_fft_forward(n)))
    }

    pub(super) fn plan_fft_inverse(&mut self, n: usize) -> Arc<dyn ComplexToReal<T>> {
        Arc::new(Backward(self.0.plan_fft_inverse(n)))
    }
}

fn zeros<T: FftNum>(n: usize) -> Vec<Complex<T>> {
    vec![Complex::new(T::zero(), T::zero()); n]
}

struct Forward<T>(Arc<dyn Fft<T>>);

impl<T: FftNum> RealToComplex<T> for Forward<T> {
    fn process(&self, input: &mut [T], output: &mut [Complex<T>]) -> Result<(), FftError> {
        let mut all: Vec<_> = input.iter().map(|x| Complex::new(*x, T::zero())).collect();
        self.0.process(&mut all);
        output.iter_mut().zip(all).for_each(|(to, from)| *to = from);
        Ok(())
    }
    fn process_with_scratch(
        &self,
        input: &mut [T],
        output: &mut [Complex<T>],
        _: &mut [Complex<T>],
    ) -> Result<(), FftError> {
        self.process(input, output)
    }
    fn get_scratch_len(&self) -> usize {
        0
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn make_input_vec(&self) -> Vec<T> {
        vec![T::zero(); self.len()]
    }
    fn make_output_vec(&self) -> Vec<Complex<T>> {
        zeros(self.complex_len())
    }
    fn make_scratch_vec(&self) -> Vec<Complex<T>> {
        Vec::new()
    }
}

struct Backward<T>(Arc<dyn Fft<T>>);

impl<T: FftNum> ComplexToReal<T> for Backward<T> {
    /// The other half of the spectrum is the conjugate of this one. (An imaginary part of the first or the middle
    /// number gives only an imaginary part of the output, which is dropped.)
    fn process(&self, input: &mut [Complex<T>], output: &mut [T]) -> Result<(), FftError> {
        let mut all = zeros(self.len());
        all.iter_mut().rev().zip(input.iter().skip(1)).for_each(|(to, from)| *to = from.conj());
        all.iter_mut().zip(input).for_each(|(to, from)| *to = *from);
        self.0.process(&mut all);
        output.iter_mut().zip(all).for_each(|(to, from)| *to = from.re);
        Ok(())
    }
    fn process_with_scratch(
        &self,
        input: &mut [Complex<T>],
        output: &mut [T],
        _: &mut [Complex<T>],
    ) -> Result<(), FftError> {
        self.process(input, output)
    }
    fn get_scratch_len(&self) -> usize {
        0
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn make_input_vec(&self) -> Vec<Complex<T>> {
        zeros(self.complex_len())
    }
    fn make_output_vec(&self) -> Vec<T> {
        vec![T::zero(); self.len()]
    }
    fn make_scratch_vec(&self) -> Vec<Complex<T>> {
        Vec::new()
    }
}

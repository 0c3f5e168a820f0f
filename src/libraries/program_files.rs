//! Program files with operations of the libraries and any contents: what they decode, and how long their operands are, must
//! be checked by the operations themselves.

use crate::core::buffer::DeviceBuffer;
use crate::device::Device;
use crate::device::program::Program;
use crate::device::tensor::Layout;
use crate::libraries::blas::{Gemm, Gemv};
use crate::libraries::fft::FftSpec;
use num_complex::Complex;

/// Answers, temporaries that share memory, lists of operands, and captured windows.
fn products(device: &Device, captured: &DeviceBuffer<f64>) -> Program {
    let recorded = device.record(|r| {
        let (column, square) = (Layout::columns(2, 1), Layout::columns(2, 2));
        let (a, x, y) = (r.input::<f64>(square)?, r.operand::<f64>(2)?, r.output::<f64>(square)?);
        let one = r.labelled("one").blas().gemv(Gemv::new(), &a, &x, r.uninit(2)?)?.into_output();
        drop(r.blas().nrm2(&one)?);
        let two = r.blas().gemv(Gemv::new(), captured.view(square)?, &one, r.uninit(2)?)?.into_output();
        let three = r.blas().axpy(2.0, captured.as_in().slice(1..3)?, two)?.into_buffer();
        let x = r.blas().scal(0.5, x)?.into_buffer();
        drop(r.blas().iamax(&x)?);
        let y = r.blas().gemm(Gemm::new(), three.view(column)?, x.view(Layout::rows(1, 2))?, y)?.into_output();
        let gemm = Gemm::new().beta(1.0);
        let others = vec![r.zeros(4)?.with_layout(square)?, y];
        let y = r.blas().gemm_batched(gemm, [&a, &a], [&a, &a], others)?.into_output().remove(1);
        r.copy(y.buffer().as_in().slice(0..2)?, x).map(drop)?;
        Ok(())
    });
    recorded.unwrap().0
}

/// Transforms, with elements of other sizes.
fn transforms(device: &Device, _: &DeviceBuffer<f64>) -> Program {
    let recorded = device.record(|r| {
        let (x, y) = (r.input::<f64>(8)?, r.output::<f64>(8)?);
        let z = r.fft().r2c(&FftSpec::new(), &x, r.uninit::<Complex<f64>>(5)?)?.into_buffer();
        let z = r.blas().scal(Complex::new(0.0, 1.0), z)?.into_buffer();
        r.fft().c2r(&FftSpec::new(), &z, y).map(drop)?;
        Ok(())
    });
    recorded.unwrap().0
}

#[test]
fn whatever_the_fields_of_a_file_say_it_is_refused_or_sound() {
    crate::device::program::fuzz::fuzz(&[products, transforms]);
}

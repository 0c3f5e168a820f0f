//! Operations over lengths, with operands in memory that ends at a page that nobody may touch, or begins behind one: what is
//! read or written elsewhere ends the process, and the answer is the same wherever the operands lie.
//!
//! The random suites lend their operands by turns (`common/edge.rs`); here each length has its turn: a vector's tail, a group of
//! a tree and a block of a kernel that are not full. `WINDLASS_TEST_GRIDS=all` takes every length to 4096.

use crate::common::edge::{Edge, lent};
use crate::common::{Rng, host, inline};
use windlass::arrays::By;
use windlass::blas::{Gemv, Ger};
use windlass::fft::{Convolve, FftSpec, RealTransform, Trig};
use windlass::reductions::All;
use windlass::rng::{Normal, Uniform};
use windlass::solver::{EighSpec, Structure, Vectors};
use windlass::sparse::{CooBuilder, Spmv};
use windlass::tensor::Layout;
use windlass::{
    Bool, Complex, Device, DeviceBuffer, Element, Error, Gemm, Matmul, PendingDispatch, Tensor, Uplo, f16, op::Output,
};

/// Makes operands.
struct On<'a> {
    device: &'a Device,
    edge: Edge,
}

/// The bytes of an answer.
type Bytes = Vec<u8>;

impl On<'_> {
    fn buffer<T: Element>(&self, n: usize, element: impl Fn(usize) -> T) -> DeviceBuffer<T> {
        lent(self.device, &(0..n).map(element).collect::<Vec<T>>(), self.edge)
    }

    /// Numbers between -4 and 4 that repeat.
    fn reals(&self, n: usize) -> DeviceBuffer<f32> {
        self.buffer(n, |i| ((i * 37 % 61) as f32 - 30.0) / 7.5)
    }

    fn doubles(&self, n: usize) -> DeviceBuffer<f64> {
        self.buffer(n, |i| ((i * 29 % 53) as f64 - 26.0) / 6.5)
    }

    fn halves(&self, n: usize) -> DeviceBuffer<f16> {
        self.buffer(n, |i| f16::from_f32(((i * 31 % 47) as f32 - 23.0) / 8.0))
    }

    fn complex(&self, n: usize) -> DeviceBuffer<Complex<f32>> {
        self.buffer(n, |i| Complex::new((i % 11) as f32 - 5.0, (i % 7) as f32 - 3.0))
    }

    fn bytes(&self, n: usize) -> DeviceBuffer<u8> {
        self.buffer(n, |i| (i * 53 % 251) as u8)
    }
}

fn tensor<T: Element, const N: usize>(buffer: DeviceBuffer<T>, extents: [usize; N]) -> Tensor<T> {
    Tensor::from_buffer(buffer, extents).unwrap()
}

/// What an operation leaves.
trait Answer {
    fn bytes(self, device: &Device) -> Bytes;
}

impl<T: Element> Answer for Tensor<T> {
    fn bytes(self, device: &Device) -> Bytes {
        bytemuck::cast_slice(&device.download(&self).unwrap().await_result().unwrap()).to_vec()
    }
}

impl<T: Element> Answer for DeviceBuffer<T> {
    fn bytes(self, device: &Device) -> Bytes {
        bytemuck::cast_slice(&device.to_vec(&self).unwrap()).to_vec()
    }
}

impl<A: Answer, B: Answer> Answer for (A, B) {
    fn bytes(self, device: &Device) -> Bytes {
        [self.0.bytes(device), self.1.bytes(device)].concat()
    }
}

macro_rules! numbers { ($($t:ty),*) => { $(
    impl Answer for $t {
        fn bytes(self, _: &Device) -> Bytes {
            bytemuck::bytes_of(&self).to_vec()
        }
    }
)* } }
numbers!(f32, f64, Complex<f32>);

impl Answer for Option<usize> {
    fn bytes(self, _: &Device) -> Bytes {
        format!("{self:?}").into_bytes()
    }
}

fn done<O: Output + Answer, V, E: Into<Error>>(on: &On<'_>, pending: Result<PendingDispatch<O, V>, E>) -> Bytes {
    let pending = pending.map_err(Into::into).unwrap();
    pending.await_result().map_err(Into::<windlass::Error>::into).unwrap().bytes(on.device)
}

/// The name, the longest length, and the operation.
type Case = (&'static str, usize, fn(&On<'_>, usize) -> Bytes);

/// Lengths of vectors; of rows of matrices, in time that grows with the square or the cube.
const LONG: usize = usize::MAX;
const VECTOR: usize = 4096;
const MATRIX: usize = 130;

const OF_TENSORS: &[Case] = &[
    ("sum f32", LONG, |on, n| done(on, on.device.sum(&tensor(on.reals(n), [n]), All))),
    ("mean f16", LONG, |on, n| done(on, on.device.mean(&tensor(on.halves(n), [n]), All))),
    ("var f64", LONG, |on, n| done(on, on.device.var(&tensor(on.doubles(n), [n]), All, 0))),
    ("max u8", LONG, |on, n| done(on, on.device.max(&tensor(on.bytes(n), [n]), All))),
    ("argmax f32", LONG, |on, n| done(on, on.device.argmax(&tensor(on.reals(n), [n]), All))),
    ("norm2 of complex numbers", LONG, |on, n| done(on, on.device.norm2(&tensor(on.complex(n), [n]), All))),
    ("logsumexp f64", LONG, |on, n| done(on, on.device.logsumexp(&tensor(on.doubles(n), [n]), All))),
    ("all_true", LONG, |on, n| done(on, on.device.all_true(&tensor(on.buffer(n, |i| Bool::from(i != 5)), [n]), All))),
    ("sum of rows", LONG, |on, n| done(on, on.device.sum(&tensor(on.reals(3 * n), [3, n]), 1))),
    ("sum of columns", LONG, |on, n| done(on, on.device.sum(&tensor(on.reals(3 * n), [3, n]), 0))),
    ("max of columns", LONG, |on, n| done(on, on.device.max(&tensor(on.doubles(3 * n), [n, 3]), 0))),
    ("sum of a formula", LONG, |on, n| {
        let (x, y) = (tensor(on.reals(n), [n]), tensor(on.reals(n), [n]));
        done(on, on.device.reduce((&x, &y), All, |(x, y)| x * y, windlass::reductions::Sum))
    }),
    ("softmax f32", LONG, |on, n| done(on, on.device.softmax(&tensor(on.reals(n), [n]), 0))),
    ("log_softmax f16", LONG, |on, n| done(on, on.device.log_softmax(&tensor(on.halves(2 * n), [2, n]), 1))),
    ("cumsum f32", LONG, |on, n| done(on, on.device.cumsum(&tensor(on.reals(n), [n]), 0))),
    ("cumsum of columns", VECTOR, |on, n| done(on, on.device.cumsum(&tensor(on.doubles(3 * n), [3, n]), 0))),
    ("cummax_with_indices", LONG, |on, n| {
        let (values, places) = on.device.cummax_with_indices(&tensor(on.reals(n), [n]), 0).unwrap();
        [done(on, Ok::<_, Error>(values)), done(on, Ok::<_, Error>(places))].concat()
    }),
    ("map f32", LONG, |on, n| done(on, on.device.map(&tensor(on.reals(n), [n]), |x| x.exp() + 1.0))),
    ("map u8", LONG, |on, n| done(on, on.device.map(&tensor(on.bytes(n), [n]), |x| x + 3))),
    ("map of complex numbers", VECTOR, |on, n| done(on, on.device.map(&tensor(on.complex(n), [n]), |x| x * x))),
    ("map f16", VECTOR, |on, n| done(on, on.device.map(&tensor(on.halves(n), [n]), |x| x.cast::<f64>()))),
    ("sort f32", LONG, |on, n| done(on, on.device.sort(&tensor(on.reals(n), [n]), 0))),
    ("sort u8", VECTOR, |on, n| done(on, on.device.sort(&tensor(on.bytes(2 * n), [n, 2]), 0))),
    ("argsort f64", VECTOR, |on, n| done(on, on.device.argsort(&tensor(on.doubles(n), [n]), By::axis(0)))),
    ("top_k", VECTOR, |on, n| done(on, on.device.top_k(&tensor(on.reals(n), [n]), n.div_ceil(2), 0))),
    ("median", VECTOR, |on, n| done(on, on.device.median(&tensor(on.doubles(n), [n]), 0))),
    ("take", VECTOR, |on, n| {
        let places = tensor(on.buffer(n, |i| (n - 1 - i) as i64), [n]);
        done(on, on.device.take(&tensor(on.reals(n), [n]), &places, 0))
    }),
    ("put", VECTOR, |on, n| {
        let places = tensor(on.buffer(n, |i| (n - 1 - i) as i64), [n]);
        let (x, y) = (tensor(on.reals(n), [n]), tensor(on.reals(n), [n]));
        done(on, on.device.put(x, &places, &y, 0, windlass::arrays::Combine::Replace))
    }),
    ("roll", VECTOR, |on, n| done(on, on.device.roll(&tensor(on.bytes(n), [n]), 3, 0))),
    ("concat", VECTOR, |on, n| {
        let (x, y) = (tensor(on.reals(n), [n]), tensor(on.reals(3), [3]));
        done(on, on.device.concat([&x, &y], 0))
    }),
    ("transposed", VECTOR, |on, n| done(on, on.device.contiguous(tensor(on.halves(3 * n), [3, n]).transpose()))),
    ("argmax of columns", LONG, |on, n| done(on, on.device.argmax(&tensor(on.reals(40 * n), [n, 40]), 0))),
    ("map beside a column", VECTOR, |on, n| {
        let (x, y) = (tensor(on.reals(3 * n), [3, n]), tensor(on.reals(3), [3, 1]));
        done(on, on.device.map((&x, &y), |(x, y)| x * y + 1.0))
    }),
    ("transposed bytes", VECTOR, |on, n| done(on, on.device.contiguous(tensor(on.bytes(9 * n), [9, n]).transpose()))),
    ("nonzero", VECTOR, |on, n| {
        let found = on.device.nonzero(&tensor(on.buffer(n, |i| Bool::from(i % 3 != 1)), [n])).unwrap();
        found.await_result().unwrap().bytes(on.device)
    }),
    ("masked_select", VECTOR, |on, n| {
        let mask = tensor(on.buffer(n, |i| Bool::from(i % 5 != 1)), [n]);
        on.device.masked_select(&tensor(on.halves(n), [n]), &mask).unwrap().await_result().unwrap().bytes(on.device)
    }),
    ("searchsorted", VECTOR, |on, n| {
        let (sorted, x) = (tensor(on.buffer(n, |i| i as f32 / 2.0), [n]), tensor(on.reals(n), [n]));
        done(on, on.device.searchsorted(&sorted, &x, windlass::arrays::SearchSide::Right))
    }),
    ("histogram", VECTOR, |on, n| {
        done(on, Ok::<_, Error>(on.device.histogram(&tensor(on.reals(n), [n]), 7, Some([-4.0, 4.0])).unwrap().0))
    }),
    ("bincount", VECTOR, |on, n| done(on, on.device.bincount(&tensor(on.buffer(n, |i| i as i32 % 9), [n]), 9))),
];

const OF_LIBRARIES: &[Case] = &[
    ("dot f32", LONG, |on, n| done(on, on.device.blas().dot(&on.reals(n), &on.reals(n)))),
    ("dot f64", VECTOR, |on, n| done(on, on.device.blas().dot(&on.doubles(n), &on.doubles(n)))),
    ("dotc", VECTOR, |on, n| done(on, on.device.blas().dotc(&on.complex(n), &on.complex(n)))),
    ("nrm2 f32", LONG, |on, n| done(on, on.device.blas().nrm2(&on.reals(n)))),
    ("asum f64", LONG, |on, n| done(on, on.device.blas().asum(&on.doubles(n)))),
    ("iamax", LONG, |on, n| done(on, on.device.blas().iamax(&on.reals(n)))),
    ("axpy f32", LONG, |on, n| done(on, on.device.blas().axpy(1.5, &on.reals(n), on.reals(n)))),
    ("axpy of complex numbers", VECTOR, |on, n| {
        done(on, on.device.blas().axpy(Complex::new(0.5, 2.0), &on.complex(n), on.complex(n)))
    }),
    ("scal", VECTOR, |on, n| done(on, on.device.blas().scal(0.5, on.doubles(n)))),
    ("swap", VECTOR, |on, n| done(on, on.device.blas().swap(on.reals(n), on.buffer(n, |i| i as f32)))),
    ("rot_real", VECTOR, |on, n| done(on, on.device.blas().rot_real(0.6, 0.8, on.reals(n), on.reals(n)))),
    ("gemv", VECTOR, |on, n| {
        let a = tensor(on.reals(3 * n), [3, n]);
        done(on, on.device.blas().gemv(Gemv::new(), a.transpose(), &on.reals(3), on.reals(n)))
    }),
    ("gemv, transposed", VECTOR, |on, n| {
        done(on, on.device.blas().gemv(Gemv::new(), &tensor(on.doubles(3 * n), [3, n]), &on.doubles(n), on.doubles(3)))
    }),
    ("ger", VECTOR, |on, n| {
        done(on, on.device.blas().ger(Ger::new(), &on.reals(n), &on.reals(3), tensor(on.reals(3 * n), [n, 3])))
    }),
    ("gemm f32", MATRIX, |on, n| {
        let (a, b) = (tensor(on.reals(n * n), [n, n]), tensor(on.reals(7 * n), [n, 7]));
        done(on, on.device.blas().gemm(Gemm::new(), &a, &b, tensor(on.reals(7 * n), [n, 7])))
    }),
    ("gemm f64", VECTOR, |on, n| {
        let (a, b) = (tensor(on.doubles(3 * n), [n, 3]), tensor(on.doubles(5 * n), [5, n]));
        done(on, on.device.blas().gemm(Gemm::new(), a.transpose(), b.transpose(), tensor(on.doubles(15), [3, 5])))
    }),
    ("gemm f16", VECTOR, |on, n| {
        let (a, b) = (tensor(on.halves(3 * n), [3, n]), tensor(on.halves(6), [3, 2]));
        done(on, on.device.blas().gemm(Gemm::new(), a.transpose(), &b, tensor(on.halves(2 * n), [n, 2])))
    }),
    ("matmul f16", VECTOR, |on, n| {
        let (a, b, d) = (on.halves(6), on.halves(3 * n), on.halves(2 * n).with_layout(Layout::columns(2, n)).unwrap());
        let (a, b) = (a.view(Layout::columns(2, 3)).unwrap(), b.view(Layout::columns(3, n)).unwrap());
        done(on, on.device.blas_lt().matmul(Matmul::new(), a, b, d))
    }),
    ("small qr", 32, |on, n| {
        let qr = on.device.solver().qr(tensor(on.doubles(3 * n * n), [3, n, n])).unwrap().await_result().unwrap();
        qr.q(&on.device.solver()).unwrap().await_result().unwrap().bytes(on.device)
    }),
    ("small spectra", 32, |on, n| {
        let svd = on.device.solver().svd(Vectors::Thin, tensor(on.reals(3 * 5 * n), [3, 5, n])).unwrap();
        let svd = svd.await_result().unwrap();
        let vectors = [svd.u.unwrap(), svd.vh.unwrap()].map(|x| x.bytes(on.device)).concat();
        let eigh =
            on.device.solver().eigh(EighSpec::new(Uplo::Upper), tensor(on.doubles(3 * n * n), [3, n, n])).unwrap();
        let eigh = eigh.await_result().unwrap();
        [vectors, svd.values.bytes(on.device), eigh.values.bytes(on.device), eigh.vectors.bytes(on.device)].concat()
    }),
    ("small systems", 32, |on, n| {
        let (a, b) = (tensor(on.reals(3 * n * n), [3, n, n]), tensor(on.reals(6 * n), [3, n, 2]));
        let ((lu, x, _), verdict) = on.device.solver().solve(Structure::General, a, b).unwrap().into_parts();
        drop(verdict.await_result());
        [lu.bytes(on.device), x.bytes(on.device)].concat()
    }),
    ("c2c", VECTOR, |on, n| done(on, on.device.fft().c2c(&FftSpec::new(), &on.complex(n), on.complex(n)))),
    ("r2c", VECTOR, |on, n| done(on, on.device.fft().r2c(&FftSpec::new(), &on.reals(n), on.complex(n / 2 + 1)))),
    ("c2r", VECTOR, |on, n| done(on, on.device.fft().c2r(&FftSpec::new(), &on.complex(n / 2 + 1), on.reals(n)))),
    ("dct", VECTOR, |on, n| {
        let spec = RealTransform::new(Trig::Dct2);
        done(on, on.device.fft().real_transform(&spec, &on.doubles(n), on.doubles(n)))
    }),
    ("convolve", VECTOR, |on, n| {
        done(on, on.device.fft().convolve(&Convolve::new(), &on.doubles(n), &on.doubles(3), on.doubles(n + 2)))
    }),
    ("uniform", LONG, |on, n| done(on, on.device.rng(7).fill_from(0, Uniform::above_zero(), on.reals(n)))),
    ("normal", VECTOR, |on, n| done(on, on.device.rng(7).fill_from(3, Normal::new(0.0, 1.0), on.doubles(n)))),
    ("spmv", VECTOR, |on, n| {
        let mut a = CooBuilder::<f64>::new(n, n).unwrap();
        (0..n).for_each(|i| a.push(i, n - 1 - i, 2.0).unwrap());
        let a = a.build_csr(&on.device.sparse()).unwrap();
        done(on, on.device.sparse().spmv(Spmv::new(), &a, &on.doubles(n), on.doubles(n)))
    }),
];

/// Each length that may matter, then some by chance.
fn lengths() -> Vec<usize> {
    if std::env::var_os("WINDLASS_TEST_GRIDS").is_some() {
        return (1..=4096).collect();
    }
    let mut random = Rng::new(31);
    let near = [191, 255, 511, 1023, 2047, 4095].into_iter().flat_map(|n| n..=(n + 2).min(4096));
    let shorter = [1088, 1152, 1984, 2112, 3136, 4032];
    (1..=68)
        .chain([95, 96, 97, 127, 128, 129])
        .chain(near)
        .chain(shorter)
        .chain((0..8).map(|_| 69 + random.below(4000)))
        .collect()
}

fn run(cases: &[Case]) {
    let (one, several) = (inline().open().unwrap(), host(2).open().unwrap());
    let compare = |device: &Device, (name, most, of): &Case, n: usize| {
        if n > *most {
            return;
        }
        let [want, end, begin] = [Edge::Nowhere, Edge::End, Edge::Begin].map(|edge| of(&On { device, edge }, n));
        assert!(want == end && want == begin, "{name} of {n}: the answer depends on where the operands lie");
    };
    for case in cases {
        lengths().into_iter().for_each(|n| compare(&one, case, n));
        if case.1 == LONG {
            [1088 * 1024, 1088 * 1024 + 64].into_iter().for_each(|n| compare(&several, case, n));
        }
    }
}

#[test]
fn operations_of_tensors_touch_nothing_beside_their_operands() {
    run(OF_TENSORS);
}

#[test]
fn operations_of_libraries_touch_nothing_beside_their_operands() {
    run(OF_LIBRARIES);
}

//! Measures the algorithms for a product, and remembers the fastest.

use super::BlasLt;
use super::beside::Extra;
use super::matmul::{COf, Call, EpilogueOf, ScalarOf, TypesOf, refused};
use super::operands::{OperandKind, Operands, Optional};
use super::spec::Matmul;
use super::types::{MatmulElement, MatmulTypes};
#[cfg(feature = "cuda")]
use crate::core::device_info::DeviceKind;
use crate::core::element::Element;
use crate::core::error::{Rejected, Result};
use crate::core::op::Bufs;
use crate::device::tensor::{Tensor, WritableTensor};
use std::time::Duration;

/// What [`BlasLt::autotune`] measured, in the order in which the library offered it: the first algorithm is the one
/// that the library would choose. Empty on a host device, which has only one.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Tuning {
    /// The measured algorithms.
    pub candidates: Vec<Candidate>,
    /// Which of them is used from now on.
    pub chosen: Option<usize>,
}

/// One algorithm for the product.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The median of the times that the device took.
    pub time: Duration,
    /// Bytes of workspace.
    pub workspace: usize,
    /// How often it fills the GPU, by the library's estimate.
    pub waves: f32,
}

/// The result of a tuning: D, unchanged, and what was measured.
pub type Tuned<D> = std::result::Result<(Tensor<D>, Tuning), Rejected<(Tensor<D>,)>>;

impl BlasLt {
    /// Measures the library's algorithms for this product. Every later product of the same problem on this device uses
    /// the fastest one, until the device is rebuilt or 256 other problems have been used since.
    ///
    /// Takes the arguments of [`matmul_with`](Self::matmul_with). `d` comes back unchanged: the measured products write to
    /// separate buffers. Waits for each of them; other work on the device at the same time distorts the times.
    ///
    /// # Errors
    /// As [`matmul_with`](Self::matmul_with). An algorithm that fails when it is tried is left out. On a GPU in a
    /// worker process, the algorithms are those of the worker's library, measured on its GPU.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::blaslt::{Epilogue, Operands};
    /// use windlass::{Device, Matmul};
    /// let device = Device::best()?;
    /// let (a, d) = (device.zeros::<f32>([64, 64])?, device.zeros([64, 64])?);
    /// let operands = Operands::new(&a, a.transpose());
    /// let (d, tuning) = device.blas_lt().autotune(Matmul::new(), operands, Epilogue::relu(), d)?;
    /// println!("{:?} of {:?}", tuning.chosen, tuning.candidates);
    /// # drop(d);
    /// # Ok(()) }
    /// ```
    pub fn autotune<'s, 'a, A, B, D, C, W>(
        &self,
        spec: Matmul<'s, ScalarOf<A, B, D, <C as OperandKind>::Kind>>,
        operands: Operands<'a, A, B, C>,
        epilogue: EpilogueOf<'a, A, B, D, <C as OperandKind>::Kind, W>,
        d: impl WritableTensor<D>,
    ) -> Tuned<D>
    where
        A: MatmulElement<B, D, <C as OperandKind>::Kind>,
        B: Element,
        D: Element,
        C: OperandKind + Optional<'a, COf<A, B, D, <C as OperandKind>::Kind>>,
        W: Extra<D>,
    {
        let d = d.into();
        let c = operands.c.given();
        let call = match Call::<TypesOf<A, B, D, C>, W>::new(&spec, &operands, c, &epilogue, d.layout()) {
            Ok(call) => call,
            Err(error) => return Err(refused(error, d)),
        };
        let (d, _, whole) = d.operand();
        match W::make(d, &self.device, call.len_beside()) {
            Ok(buffers) => {
                let tuned = self.tune(call, &buffers);
                let d = whole.tensor(W::d(buffers));
                match tuned {
                    Ok(tuning) => Ok((d, tuning)),
                    Err(error) => Err(Rejected::new(error, (d,))),
                }
            }
            Err(rejected) => Err(rejected.map(|d| (whole.tensor(d),))),
        }
    }

    fn tune<T: MatmulTypes, W: Extra<T::D>>(&self, call: Call<'_, T, W>, buffers: &Bufs<W::Buffers>) -> Result<Tuning> {
        let places = call.check(&self.device, buffers)?;
        #[cfg(feature = "cuda")]
        if self.device.kind() != DeviceKind::Host {
            return measure::on_gpu(&self.device.timed(), call, places);
        }
        let _ = places;
        Ok(Tuning::default())
    }
}

#[cfg(feature = "cuda")]
mod measure {
    use super::super::beside::WritePlaces;
    use super::super::selection::{Choice, Question, Selection};
    use super::*;
    use crate::core::error::Error;
    use crate::core::sync::{AtomicU64, Ordering};
    use crate::device::Device;
    use crate::device::library;

    /// Products measured with each algorithm, after one that is not measured.
    const ROUNDS: usize = 7;

    pub(super) fn on_gpu<T: MatmulTypes, W: Extra<T::D>>(
        device: &Device,
        mut call: Call<'_, T, W>,
        places: WritePlaces,
    ) -> Result<Tuning> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let mut run = |selection: Selection| -> Result<Option<Duration>> {
            call.select(selection);
            let buffers = W::make(device.zeroed(places.d.len)?, device, call.len_beside())?;
            let pending = call.dispatch(device, buffers).map_err(Into::into)?;
            Ok(pending.await_timed().map_err(Into::into)?.device)
        };
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        run(Selection::Survey { number, writes: places })?;
        let choices: Vec<Choice> = library::ask(device, "blaslt", &Question::Survey(number))?;
        let mut measured = Vec::with_capacity(choices.len());
        for choice in choices {
            let rounds = (0..=ROUNDS).map(|_| run(Selection::This(choice))).collect::<Result<Vec<_>>>();
            match rounds {
                Ok(times) => {
                    let mut times: Vec<Duration> = times.into_iter().skip(1).flatten().collect();
                    times.sort();
                    let time = times.get(times.len() / 2).copied().unwrap_or(Duration::MAX);
                    let candidate = Candidate { time, workspace: choice.workspace, waves: choice.waves };
                    measured.push((candidate, choice));
                }
                // An algorithm that the heuristic offers may still be refused.
                Err(Error::LibraryError { .. } | Error::Unsupported { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let chosen = (0..measured.len()).min_by_key(|i| measured.get(*i).map(|(candidate, _)| candidate.time));
        if let Some((_, choice)) = chosen.and_then(|i| measured.get(i)) {
            library::ask::<()>(device, "blaslt", &Question::Pin(number, *choice))?;
        }
        Ok(Tuning { candidates: measured.into_iter().map(|(candidate, _)| candidate).collect(), chosen })
    }
}

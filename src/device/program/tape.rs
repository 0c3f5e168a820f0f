//! The engine of a recording: it records the operations that are submitted to it.
//!
//! Memory of a recording has addresses that are meaningless outside of it: each piece begins at the next multiple of
//! [`ALIGN`](super::entry::ALIGN), so that an operand's address tells which piece it lies in, and at which offset.

use super::admit::Written;
use super::entry::{Entry, Operand, Piece, Use};
use crate::core::buffer::{Allocation, AnyBuffer, Home, InitState, Meter, Places, Region, View};
use crate::core::element::{DType, Element};
use crate::core::epoch::{Cause, EngineKind, Epoch, Executor, OfKind};
use crate::core::error::{Error, Result};
use crate::core::op::{OpKind, guarded};
use crate::core::order::AccessHistory;
use crate::core::sync::{Arc, AtomicUsize, Mutex, Ordering};
use crate::device::tensor::Layout;
use crate::engines::dispatch::{Call, Submission};
use crate::engines::op::Facts;
use crate::engines::tape::not_recordable;
use smallvec::SmallVec;

/// The most operands of an op with lists of operands: more addresses do not fit into the parameters of a kernel.
const MOST_LISTED: usize = 480;

/// Records the operations of one recording.
pub(crate) struct Tape {
    id: u64,
    /// The generation of the device that it records for.
    real: Arc<Epoch>,
    meter: Arc<Meter>,
    /// The number of answers so far.
    answers: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    closed: bool,
    /// A step is being replaced ([`Program::set`](super::Program::set)): no new memory may be named.
    replacing: Option<Replaced>,
    written: Written,
}

/// The step that is being replaced: the index of its answer, if it has one.
pub(super) struct Replaced {
    pub(super) answer: Option<usize>,
}

#[cold]
fn closed() -> Error {
    Error::invalid("recording", "the recording has ended, so its buffers can no longer be used")
}

/// Fails if an op with these facts cannot be recorded for a host device, or for a GPU.
pub(super) fn recordable(facts: &Facts, on_host: bool) -> Result<()> {
    let reason = match facts.kind {
        _ if on_host && facts.in_host_programs => return Ok(()),
        OpKind::Blocking => "its CUDA half waits for the GPU",
        OpKind::Phased => "the amount of memory that it needs is known only when it runs",
        _ if facts.pooled => "its library's handles use their own streams",
        _ if facts.across => "it may use several devices",
        _ if facts.bulk => "it copies data to the host",
        _ => return Ok(()),
    };
    Err(not_recordable(facts.name, reason))
}

// SAFETY: the only type of this kind.
unsafe impl OfKind for Arc<Tape> {
    const KIND: EngineKind = EngineKind::Tape;
}

impl Executor for Arc<Tape> {
    fn makes_room(&self) -> bool {
        true
    }
    fn recovers_from(&self, _: &Cause) -> bool {
        false
    }
    fn remedy(&self) -> &'static str {
        "record again"
    }
    fn in_flight(&self, _: &Epoch) -> u64 {
        0
    }
    fn make(&self, _: &Arc<Epoch>, _: usize, _: usize) -> Result<(Arc<Allocation>, AccessHistory)> {
        Err(Error::unsupported("an operation does not run while it is being recorded"))
    }
}

impl Tape {
    pub(super) fn new(id: u64, real: Arc<Epoch>) -> Self {
        let meter = Arc::new(Meter::new(u64::MAX, u64::MAX));
        Tape { id, real, meter, answers: AtomicUsize::new(0), state: Mutex::default() }
    }

    /// Ends the recording and returns what it recorded.
    pub(super) fn close(&self) -> Written {
        let mut state = self.state.lock();
        state.closed = true;
        Written { answers: self.answers.load(Ordering::Relaxed), ..std::mem::take(&mut state.written) }
    }

    /// Records a step again, on memory and buffers of the device that were named before.
    pub(super) fn reopen(&self, written: Written, replaced: Replaced) {
        let mut state = self.state.lock();
        (state.closed, state.replacing, state.written) = (false, Some(replaced), written);
    }

    /// How many operations were recorded.
    pub(super) fn len(&self) -> usize {
        self.state.lock().written.entries.len()
    }

    /// Names memory for a temporary.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Arc<Allocation>> {
        self.named(&mut |written| written.temporary(bytes as u64))
    }

    fn named(&self, name: &mut dyn FnMut(&mut Written) -> Result<Piece>) -> Result<Arc<Allocation>> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(closed());
        }
        if state.replacing.is_some() {
            return Err(Error::invalid(
                "memory",
                "no new memory can be made while a step is replaced; the step keeps its operands",
            ));
        }
        let Piece { base, bytes, .. } = name(&mut state.written)?;
        self.meter.take(bytes)?;
        Ok(Arc::new(Allocation::new(base, bytes, Home::Empty, self.meter.clone())))
    }

    /// Names a buffer that each replay is given, to read or to write.
    pub(super) fn operand<T: Element>(
        &self,
        epoch: &Arc<Epoch>,
        (len, layout): (usize, &Layout),
        (read, fresh): (bool, bool),
    ) -> Result<Arc<Region>> {
        let operand = Operand { dtype: T::DTYPE, len, fresh };
        let allocation = self.named(&mut |written| written.given(operand, layout.clone(), read))?;
        let content = if fresh && len > 0 { InitState::Uninit } else { InitState::Valid };
        Ok(Region::new(allocation, epoch.clone(), content, AccessHistory::default(), 0..len * size_of::<T>()))
    }

    /// Fails if an op with so many operands cannot be recorded for this device. Calls code of the op's author.
    pub(super) fn records(&self, call: &Call<'_>, operands: usize) -> Result<()> {
        let facts = call.facts();
        recordable(facts, self.real.engine.is_on_the_cpu())?;
        if facts.listed && operands > MOST_LISTED {
            return Err(not_recordable(facts.name, "it has more operands than a kernel can take as parameters"));
        }
        #[cfg(target_os = "linux")]
        if self.real.engine.is_isolated() && !call.crosses() {
            return Err(not_recordable(
                facts.name,
                "it cannot be sent to a worker process: `Op::wire` is not implemented",
            ));
        }
        Ok(())
    }

    /// The index of the answer of the op that is recorded: a new one, or that of the step that it replaces.
    fn answer(&self) -> usize {
        let replaced = self.state.lock().replacing.as_ref().and_then(|replaced| replaced.answer);
        replaced.unwrap_or_else(|| self.answers.fetch_add(1, Ordering::Relaxed))
    }

    /// Records an op.
    pub(crate) fn submit(&self, s: &mut Submission<'_, '_, '_>) -> Result<()> {
        let mut parts = None;
        // All of this calls code of the op's author.
        guarded(&mut || {
            self.records(&*s.call, s.views.len())?;
            let info = s.call.info(s.options.label.copied(), None)?;
            let answer = (s.facts.raw_bytes > 0).then(|| self.answer());
            parts = Some((s.call.become_step(self.id, answer)?, info, answer));
            Ok(())
        })?;
        let Some((step, info, answer)) = parts else { return Err(closed()) };
        let mut places: SmallVec<[(u64, usize); 4]> = SmallVec::new();
        step.place(&mut Places(&mut |address, bytes| places.push((*address, bytes))));
        let mut state = self.state.lock();
        if state.closed {
            return Err(closed());
        }
        let (mut uses, mut sizes) = (SmallVec::new(), SmallVec::<[usize; 4]>::new());
        for (i, (view, (address, bytes))) in s.views.iter().zip(places).enumerate() {
            sizes.push(size_of_element(view));
            let base = view.region.allocation.address;
            let writes = i >= s.read_count;
            let offset = address.saturating_sub(base);
            uses.push(match Arc::ptr_eq(&view.region.epoch, s.epoch) {
                true => {
                    let piece = state.written.pieces.binary_search_by_key(&base, |piece| piece.base);
                    let piece = piece.map_err(|_| {
                        Error::library("internal error: an operand is not in the memory of the recording")
                    })?;
                    Use::of_piece(piece, offset, bytes, (writes, view.overwritten))
                }
                false => Use::of_captured(capture(&mut state.written.captured, view), bytes),
            });
        }
        state.written.admit(Entry { step, info, facts: s.facts, uses, answer }, &sizes)?;
        drop(state);
        s.views.iter().skip(s.read_count).for_each(|view| view.written());
        Ok(())
    }

    pub(crate) fn real(&self) -> &Arc<Epoch> {
        &self.real
    }
}

/// Bytes of an element; 1 of an operand without any.
fn size_of_element(view: &View<'_>) -> usize {
    let (_, len, size) = view.elements();
    if len == 0 { 1 } else { size }
}

/// The index of a buffer of the device among those that the program reads; adds it if it is new. Of its elements only
/// the size is known.
fn capture(captured: &mut Vec<AnyBuffer>, view: &View<'_>) -> usize {
    let (offset, len, _) = view.elements();
    let (window, dtype) = ((offset, len), DType::of_size(size_of_element(view)));
    let same = |other: &AnyBuffer| {
        let memory = &other.region().allocation;
        // `Program::bind` knows the type, a recording only its size.
        Arc::ptr_eq(memory, &view.region.allocation) && (other.window(), other.dtype().size()) == (window, dtype.size())
    };
    captured.iter().position(same).unwrap_or_else(|| {
        captured.push(AnyBuffer::captured(view.region, window, dtype));
        captured.len() - 1
    })
}

impl std::fmt::Debug for Tape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tape({} for {:?})", self.id, self.real)
    }
}

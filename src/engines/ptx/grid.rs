//! A grid: its blocks on the threads of the pool.
//!
//! A thread takes the next block when its own is done or had a long turn, and puts the latter aside: so blocks that wait for
//! earlier ones, or for all blocks of a cooperative launch, get what they wait for, and no thread blocks.

use super::block::{Block, Place, Progress, Where};
use super::cells::Cells;
use super::code::Kernel;
use super::finding::{Found, finding};
use super::launch::{Checks, Common, Shape};
use super::ledger::{For, Ledger};
use super::memory::{Area, Memory};
use super::module::PtxModule;
use super::shadow::GlobalShadow;
use super::{Fault, Faulty};
use crate::core::buffer::Meter;
use crate::core::error::{Error, FindingKind};
use crate::core::room;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Instructions of a warp before the next warp has its turn, and turns of a block before the next one.
const TURN: u32 = 1 << 14;
const TURNS: u32 = 4;

/// Blocks put aside; with more, a thread goes on with an old one. Fewer, if they are large: see [`Ledger::aside`].
const ASIDE: u64 = 4096;

/// Larger areas have no shadow: it takes up to twelve times their size.
const MOST_SHADOW: u64 = 256 << 20;

/// Runs a kernel: `parameters` are the bytes of its parameters, each at its place. What it takes itself is counted by `meter`.
#[expect(clippy::too_many_arguments, reason = "those of a launch, and who pays")]
pub(super) fn run(
    module: &PtxModule,
    kernel: &Kernel,
    shape: Shape,
    parameters: &[u8],
    areas: Vec<Area<'_>>,
    checks: Checks,
    printed: &(dyn Fn(String) + Sync),
    meter: &Meter,
) -> Faulty<()> {
    let ledger = Ledger::new(meter);
    let files = &module.text.files;
    let refuse = |detail: String| {
        let found = Found { kind: FindingKind::Launch, lane: 0, detail };
        Fault::Found(Box::new(finding(kernel, files, u32::MAX, found, ([0; 3], [0; 3]))))
    };
    let refused = |_| ledger.refusal().unwrap_or_else(|| refuse("there is no memory".into()));
    // Not a byte more than was asked for.
    let declared = if shape.dynamic_shared == 0 { kernel.shared_bytes } else { kernel.dynamic_at };
    let shape = Shape { total_shared: (declared as u32).saturating_add(shape.dynamic_shared), ..shape };
    check(kernel, &shape, parameters).map_err(refuse)?;
    let mut areas = areas;
    areas.extend(module.areas());
    for area in &mut areas {
        // The initial bytes of an output matter even where races are not looked for.
        let wanted = checks.races && area.writable || checks.initialised && area.fresh;
        if wanted && area.bytes <= MOST_SHADOW {
            let shadow = GlobalShadow::new(area.bytes + (area.start & 7), checks.races, &ledger);
            area.shadow = Some(shadow.map_err(refused)?);
        }
    }
    let memory = Memory::new(areas);
    if let Some(refusal) = memory.refusal() {
        return Err(refuse(refusal));
    }
    let common = Common::new(checks);
    let block_bytes = Block::bytes(kernel, &shape, checks.races);
    let cells = if shape.total_shared > 0 { cells_of(&shape, checks) } else { 0 };
    let whole = block_bytes.saturating_add(Cells::most_bytes(cells, checks.races)).max(1);
    let grid = Grid {
        ledger: &ledger,
        block_bytes,
        cells,
        most_aside: (ledger.aside() / whole).clamp(1, ASIDE) as usize,
        tried: AtomicU64::new(0),
        kernel,
        memory: &memory,
        common: &common,
        parameters,
        shape: &shape,
        printed,
        next: AtomicU64::new(0),
        blocks: shape.blocks(),
        aside: Mutex::new(VecDeque::new()),
        stop: AtomicBool::new(false),
    };
    let most = if checks.parallel { rayon::current_num_threads() as u64 } else { 1 };
    let threads = most.min(shape.blocks()).max(1);
    let first = Mutex::new(None);
    let work = |_: u64| {
        if let Err((index, at)) = grid.work() {
            grid.stop.store(true, Ordering::Relaxed);
            let thread = shape.thread(at.warp * 32 + at.found.lane as u32);
            first.lock().get_or_insert_with(|| Box::new(finding(kernel, files, at.pc, at.found, (index, thread))));
        }
    };
    if threads == 1 {
        work(0);
    } else {
        use rayon::prelude::*;
        (0..threads).into_par_iter().for_each(work);
    }
    let found = first.into_inner();
    if let Some(refusal) = ledger.refusal() {
        return Err(refusal);
    }
    if let Some(found) = found {
        return Err(Fault::Found(found));
    }
    if checks.initialised {
        written(&memory).map_err(|detail| {
            let found = Found { kind: FindingKind::NotWritten, lane: 0, detail };
            Fault::Found(Box::new(finding(kernel, files, u32::MAX, found, ([0; 3], [0; 3]))))
        })?;
    }
    Ok(())
}

/// The cells of the shared memory of a block.
fn cells_of(shape: &Shape, checks: Checks) -> usize {
    if checks.races || checks.initialised { (shape.total_shared as usize).div_ceil(4) + 1 } else { 0 }
}

/// Whether the launch fits the kernel.
fn check(kernel: &Kernel, shape: &Shape, parameters: &[u8]) -> Result<(), String> {
    let (threads, blocks) = (shape.threads(), shape.blocks());
    if threads == 0 || threads > 1024 || blocks == 0 || blocks > u64::from(u32::MAX) - 1 {
        return Err(format!("blocks of {threads} threads (1 to 1024 are allowed), and {blocks} of them"));
    }
    if kernel.most_threads.is_some_and(|most| most < threads.into()) {
        return Err(format!("blocks of {threads} threads; the kernel allows {:?}", kernel.most_threads));
    }
    let shared = kernel.dynamic_at + u64::from(shape.dynamic_shared);
    if shared > 228 << 10 {
        return Err(format!("{shared} bytes of shared memory, more than 228 KiB"));
    }
    if parameters.len() as u64 != kernel.parameter_bytes {
        let (given, wanted) = (parameters.len(), kernel.parameter_bytes);
        return Err(format!("{given} bytes of parameters, and the kernel has {wanted}"));
    }
    Ok(())
}

/// An output that is not written whole.
fn written(memory: &Memory<'_>) -> Result<(), String> {
    for area in memory.areas.iter().filter(|area| area.fresh) {
        let Some(shadow) = &area.shadow else { continue };
        if let Some(at) = shadow.unwritten(area.start & 7, area.bytes) {
            return Err(format!("byte {at} of {} ({} bytes) was not written", area.name, area.bytes));
        }
    }
    Ok(())
}

struct Grid<'r, 'm> {
    ledger: &'r Ledger<'r>,
    /// What a block takes, without its cells, and their number.
    block_bytes: u64,
    cells: usize,
    most_aside: usize,
    /// Blocks that there are, or that a thread tries to make.
    tried: AtomicU64,
    kernel: &'r Kernel,
    memory: &'r Memory<'m>,
    common: &'r Common,
    parameters: &'r [u8],
    shape: &'r Shape,
    printed: &'r (dyn Fn(String) + Sync),
    next: AtomicU64,
    blocks: u64,
    aside: Mutex<VecDeque<Block<'r, 'm>>>,
    stop: AtomicBool,
}

impl<'r, 'm> Grid<'r, 'm> {
    /// Runs blocks until none is left.
    fn work(&self) -> Result<(), ([u32; 3], Where)> {
        // The last block that ended.
        let mut ended = None;
        let nowhere = |found: Box<Found>| ([0; 3], Where { found: *found, warp: 0, pc: u32::MAX });
        while let Some(mut block) = self.take(&mut ended).map_err(nowhere)? {
            let mut turns = 0;
            loop {
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                match block.run(TURN).map_err(|at| (block.index, *at))? {
                    Progress::Done => {
                        ended = Some(block);
                        break;
                    }
                    Progress::Turn => turns += 1,
                }
                if turns >= TURNS && self.blocks > 1 {
                    let mut aside = self.aside.lock();
                    // Without memory for the list it has another turn.
                    if aside.try_reserve(1).is_ok() {
                        aside.push_back(block);
                        break;
                    }
                    turns = 0;
                }
            }
        }
        Ok(())
    }

    /// The next block, or one that was put aside. None, if others do the rest.
    fn take(&self, ended: &mut Option<Block<'r, 'm>>) -> Result<Option<Block<'r, 'm>>, Box<Found>> {
        let mut lack = None;
        if self.next.load(Ordering::Relaxed) < self.blocks && self.aside.lock().len() < self.most_aside {
            match ended.take().map_or_else(|| self.block(), Ok) {
                Ok(mut block) => {
                    let number = self.next.fetch_add(1, Ordering::Relaxed);
                    if number < self.blocks {
                        block.again(self.shape.block_index(number));
                        return Ok(Some(block));
                    }
                    *ended = Some(block);
                }
                Err(error) => lack = Some(error),
            }
        }
        let old = self.aside.lock().pop_front();
        match lack {
            // A thread that has a block goes on until there is none: this one can do without.
            Some(error) if old.is_none() && self.tried.load(Ordering::SeqCst) == 0 => {
                Err(self.ledger.refuse(&error, For::Blocks))
            }
            _ => Ok(old),
        }
    }

    /// The memory of a block.
    fn block(&self) -> Result<Block<'r, 'm>, Error> {
        self.tried.fetch_add(1, Ordering::SeqCst);
        self.ledger.charge(self.block_bytes).and_then(|()| self.made()).inspect_err(|_| {
            self.tried.fetch_sub(1, Ordering::SeqCst);
        })
    }

    fn made(&self) -> Result<Block<'r, 'm>, Error> {
        let shared = room::zeroed(self.shape.total_shared as usize);
        // The cells count themselves, and say what they are for.
        let cells = Cells::with(self.cells, self.common.checks.races, self.ledger);
        let (shared, cells) = shared.and_then(|shared| Ok((shared, cells?))).inspect_err(|_| {
            self.ledger.release(self.block_bytes);
        })?;
        let place = Place {
            kernel: self.kernel,
            memory: self.memory,
            common: self.common,
            ledger: self.ledger,
            parameters: self.parameters,
            shape: self.shape,
            cells,
            shared,
            printed: self.printed,
            votes: [(0, 0); 16],
            outcomes: [(0, 0); 16],
            arrived: Vec::new(),
        };
        // From here on its drop gives back what was charged.
        Block::new(place, self.block_bytes)
    }
}

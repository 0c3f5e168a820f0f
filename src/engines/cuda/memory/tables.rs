//! Tables of addresses in device memory, as libraries need them for batches, and the tables that a slot keeps.
//!
//! A program often calls a batch again and again with the same matrices. To write their addresses anew each time would
//! cost more than the call. So a table is kept under **the addresses themselves**, compared word for word: a call with
//! the addresses of a recent one on its slot writes and allocates nothing. A table stays right whatever happens to the
//! buffers, because it holds addresses, not buffers.
//!
//! - A table is written once, on its slot's stream, and used on that stream only: no use comes before the write.
//! - It is freed on that stream too, behind all of its uses. This also holds for a table that is evicted while work
//!   that reads it is in flight.
//! - The least recently used goes first. A slot keeps [`MOST`] tables, of [`MOST_BYTES`] bytes in all.
//! - Their bytes count against the device's limit; a table that does not fit into it is not kept. When memory is short,
//!   tables are the first to be freed ([`Core::drop_tables`]). They end with the epoch.
//!
//! The effect, measured: a batch of 16 products of 128^2 by a list of buffers takes 3.5 to 6.9 us longer to enqueue
//! than one whose addresses lie on the device. Without kept tables it took 8 to 12 us longer
//! (`benches/results/2026-11-22-h200-windlass-bench-night.md`).
//!
//! A table that is not kept is scratch of its dispatch. A few addresses are passed to the device as kernel parameters,
//! which is cheaper than a copy from staging. Addresses at even distances are computed on the device.

use super::table_staging::TableStaging;
use crate::core::buffer::Meter;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::launch::{LaunchConfig, LaunchDims};
use crate::core::sync::Arc;
use crate::engines::cuda::Ptx;
use crate::engines::cuda::context::Context;
use crate::engines::cuda::context::fault;
use crate::engines::cuda::dispatch::Queue;
use crate::engines::cuda::streams::State;
use crate::engines::cuda::streams::Streams;
use std::ffi::{CStr, c_void};

/// How many tables a slot keeps.
const MOST: usize = 32;
/// How many bytes they take in all.
const MOST_BYTES: usize = 512 << 10;

pub(crate) static KERNELS: Ptx = Ptx::new(include_str!("tables.ptx"));
/// How many words the kernel `write_few` takes as parameters; [`MORE`]: `write_more`.
const FEW: usize = 62;
pub(crate) const MORE: usize = 480;
/// The largest number of series in a table.
const SERIES: usize = 3;

/// Addresses at even distances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Series {
    pub(crate) first: u64,
    pub(crate) step: u64,
}

/// The tables of a slot.
#[derive(Default)]
pub(crate) struct Tables {
    kept: Vec<Table>,
    now: u64,
    bytes: usize,
    /// Where the addresses of a table are gathered.
    words: Vec<u64>,
    /// The staging of the current dispatch, if it has many addresses.
    staging: TableStaging,
}

/// How a table's words are given by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The key is the words themselves.
    Listed,
    /// So many words of each series; the key holds first and step of each series.
    Even(usize),
}

struct Table {
    form: Form,
    /// The last word of the key, compared before the whole key.
    last: u64,
    key: Box<[u64]>,
    at: u64,
    used: u64,
    charge: Charge,
}

/// Bytes charged to the device's limit, until this is dropped.
struct Charge(Arc<Meter>, usize);

impl Charge {
    fn new(meter: &Arc<Meter>, bytes: usize) -> Option<Self> {
        meter.hold(bytes as u64).then(|| Charge(meter.clone(), bytes))
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.0.release(self.1 as u64);
    }
}

impl Tables {
    fn find(&mut self, form: Form, key: &[u64]) -> Option<u64> {
        let last = key.last().copied().unwrap_or_default();
        let same = |table: &&mut Table| table.last == last && table.form == form && *table.key == *key;
        let table = self.kept.iter_mut().find(same)?;
        self.now += 1;
        table.used = self.now;
        Some(table.at)
    }

    /// Keeps the table at `at`. The addresses of the tables that it evicts go to `out`.
    fn keep(&mut self, form: Form, key: &[u64], at: u64, charge: Charge, mut out: impl FnMut(u64)) {
        while self.kept.len() >= MOST || self.bytes + charge.1 > MOST_BYTES {
            let oldest = self.kept.iter().enumerate().min_by_key(|(_, table)| table.used).map(|(at, _)| at);
            let Some(oldest) = oldest else { break };
            let table = self.kept.swap_remove(oldest);
            self.bytes -= table.charge.1;
            out(table.at);
        }
        self.now += 1;
        self.bytes += charge.1;
        let last = key.last().copied().unwrap_or_default();
        self.kept.push(Table { form, last, key: key.into(), at, used: self.now, charge });
    }

    /// The staging of the current dispatch.
    pub(crate) fn staging(&mut self) -> &mut TableStaging {
        &mut self.staging
    }

    /// The number of tables.
    pub(crate) fn count(&self) -> usize {
        self.kept.len()
    }

    /// Takes out all tables: their addresses.
    pub(crate) fn take(&mut self) -> Vec<u64> {
        self.bytes = 0;
        self.kept.drain(..).map(|table| table.at).collect()
    }
}

impl Queue<'_> {
    /// Returns a table in device memory of the words that `gather` writes, for work of this dispatch.
    pub(crate) fn table(&mut self, gather: impl FnOnce(&mut Vec<u64>)) -> Result<u64> {
        let mut words = std::mem::take(&mut self.state.tables.words);
        words.clear();
        gather(&mut words);
        let bytes = size_of_val(&words[..]);
        let table = self.find_or_make(Form::Listed, &words, bytes, |queue| queue.write_words(&words));
        if bytes <= MOST_BYTES {
            self.state.tables.words = words;
        }
        table
    }

    /// Returns a table of `count` words of each of up to three series, one series after the other.
    pub(crate) fn even_table(&mut self, series: &[Series], count: usize) -> Result<u64> {
        let bytes = count.checked_mul(size_of_val(&[0u64; SERIES])).map(|most| most / SERIES * series.len());
        let bytes = bytes.filter(|_| series.len() <= SERIES);
        let bytes = bytes.ok_or_else(|| {
            Error::invalid(
                "count",
                format!("{count} matrices are too many: the size of their table of addresses overflows"),
            )
        })?;
        let mut key = [0; 2 * SERIES];
        for (to, from) in key.chunks_exact_mut(2).zip(series) {
            to.copy_from_slice(&[from.first, from.step]);
        }
        let key = key.get(..2 * series.len()).unwrap_or_default();
        self.find_or_make(Form::Even(count), key, bytes, |queue| queue.write_even(series, count, bytes))
    }

    /// Returns a kept table, or the one that `make` writes to scratch. That one is kept from now on, if it is not too
    /// long and the device's limit allows it.
    fn find_or_make(
        &mut self,
        form: Form,
        key: &[u64],
        bytes: usize,
        make: impl FnOnce(&mut Self) -> Result<u64>,
    ) -> Result<u64> {
        self.not_in_a_graph("a table of addresses in device memory")?;
        if let Some(at) = self.state.tables.find(form, key) {
            return Ok(at);
        }
        let at = make(self)?;
        if bytes <= MOST_BYTES / 2
            && let Some(charge) = Charge::new(&self.epoch.meter, bytes)
        {
            // It is no longer scratch of this dispatch. The tables that it evicts become scratch, and so are freed
            // behind this dispatch's work.
            self.left.scratch.retain(|scratch| *scratch != at);
            let scratch = &mut self.left.scratch;
            self.state.tables.keep(form, key, at, charge, |out| scratch.push(out));
        }
        Ok(at)
    }

    /// Writes the words to scratch.
    fn write_words(&mut self, words: &[u64]) -> Result<u64> {
        match words.len() {
            count if count <= FEW => self.write_few::<FEW>(c"write_few", words),
            count if count <= MORE => self.write_few::<MORE>(c"write_more", words),
            _ => self.write_staged(words),
        }
    }

    /// Writes words that fit into the parameters of a kernel.
    ///
    /// Such a launch writes only new scratch, so a dispatch that fails after it may still be retried: it stays
    /// `untouched`.
    fn write_few<const N: usize>(&mut self, name: &'static CStr, words: &[u64]) -> Result<u64> {
        let mut to = self.scratch(size_of_val(words))?;
        let (mut all, mut count) = ([0u64; N], words.len() as u32);
        all.iter_mut().zip(words).for_each(|(to, from)| *to = *from);
        let dims = LaunchDims { grid: (1, 1, 1), block: (count.max(1), 1, 1), shared: 0 };
        let mut parameters: [*mut c_void; 3] = [(&raw mut to).cast(), (&raw mut count).cast(), all.as_mut_ptr().cast()];
        let function = self.function(&KERNELS, name)?;
        // SAFETY: the kernel takes an address, a count and `N` words. It writes `count` of them to scratch, which is
        // large enough.
        let (untouched, launched) = (self.left.untouched, unsafe {
            self.launch_function(function, &LaunchConfig::from(dims), &mut parameters)
        });
        self.left.untouched = untouched;
        launched.map(|()| to)
    }

    /// Writes `count` words of each series to scratch of `bytes` bytes.
    fn write_even(&mut self, series: &[Series], count: usize, bytes: usize) -> Result<u64> {
        let to = self.scratch(bytes)?;
        let of = |i: usize| series.get(i).copied().unwrap_or_default();
        let [first, second, third] = [of(0), of(1), of(2)];
        let args = [
            to.into(),
            count.into(),
            (series.len() as u32).into(),
            first.first.into(),
            first.step.into(),
            second.first.into(),
            second.step.into(),
            third.first.into(),
            third.step.into(),
        ];
        // SAFETY: the arguments are the kernel's parameters in order and type. The scratch is large enough for the
        // words that it writes.
        let (untouched, launched) = (self.left.untouched, unsafe {
            self.launch(&KERNELS, c"write_even", LaunchDims::for_elements(count)?, &args)
        });
        self.left.untouched = untouched;
        launched.map(|()| to)
    }
}

impl State {
    /// Frees the tables that the slot keeps, behind the work that uses them. Call under the lease, with the context
    /// current.
    fn drop_tables(&mut self, context: &Context, epoch: &Arc<Epoch>) -> Result<()> {
        for address in self.tables.take() {
            // SAFETY: allocated on this stream, and used on it alone, before this call. Freed once.
            let code = unsafe { context.api.mem_free_async(address, self.stream.0) };
            code.ok().map_err(|code| fault::classify(epoch, code, "cuMemFreeAsync"))?;
        }
        Ok(())
    }
}

impl Streams {
    /// Frees the tables of every slot that is not leased. False if a slot was leased. (The lease may be the caller's
    /// own: an op's CUDA half may allocate memory.)
    pub(crate) fn drop_tables(&self, epoch: &Arc<Epoch>) -> Result<bool> {
        let mut all = true;
        for slot in self.all() {
            let Some(mut state) = slot.lease.try_lock() else {
                all = false;
                continue;
            };
            if state.tables.count() == 0 {
                continue;
            }
            epoch.go_on()?;
            let context = &slot.shared.context;
            let _bound = context.bind_for(epoch)?;
            state.drop_tables(context, epoch)?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter() -> Arc<Meter> {
        Arc::new(Meter::new(1 << 20, 1 << 20))
    }

    fn keep(tables: &mut Tables, meter: &Arc<Meter>, key: &[u64], bytes: usize) -> Vec<u64> {
        let mut out = Vec::new();
        let charge = Charge::new(meter, bytes).expect("there is room");
        tables.keep(Form::Listed, key, key[0], charge, |at| out.push(at));
        out
    }

    #[test]
    fn a_table_is_found_by_all_of_its_words_and_its_form() {
        let (mut tables, meter) = (Tables::default(), meter());
        assert!(keep(&mut tables, &meter, &[7, 8, 9], 24).is_empty());
        assert_eq!(tables.find(Form::Listed, &[7, 8, 9]), Some(7));
        for other in [&[7, 8][..], &[7, 8, 8], &[6, 8, 9], &[7, 7, 9], &[7, 8, 9, 9], &[]] {
            assert_eq!(tables.find(Form::Listed, other), None, "{other:?}");
        }
        assert_eq!(tables.find(Form::Even(3), &[7, 8, 9]), None);
    }

    #[test]
    fn the_one_used_the_longest_ago_goes_first() {
        let (mut tables, meter) = (Tables::default(), meter());
        for key in 1..=MOST as u64 {
            assert!(keep(&mut tables, &meter, &[key], 8).is_empty());
        }
        assert_eq!(tables.find(Form::Listed, &[1]), Some(1));
        assert_eq!(keep(&mut tables, &meter, &[100], 8), [2]);
        assert_eq!(tables.find(Form::Listed, &[2]), None);
        assert_eq!(meter.held(), 8 * MOST as u64);
    }

    #[test]
    fn the_bytes_of_all_are_bounded_and_go_back() {
        let (mut tables, meter) = (Tables::default(), meter());
        let third = MOST_BYTES / 3;
        for key in 1..=3 {
            assert!(keep(&mut tables, &meter, &[key], third).is_empty());
        }
        assert_eq!(keep(&mut tables, &meter, &[4], 2 * third), [1, 2]);
        assert_eq!((meter.held(), meter.used()), (3 * third as u64, 0));
        let mut left = tables.take();
        left.sort_unstable();
        assert_eq!((left, meter.held(), tables.count()), (vec![3, 4], 0, 0));
    }

    #[test]
    fn what_is_held_counts_against_the_limit_and_is_no_buffer() {
        let meter = Arc::new(Meter::new(100, 100));
        let charge = Charge::new(&meter, 60);
        assert!(charge.is_some() && Charge::new(&meter, 60).is_none());
        assert!(meter.take(60).is_err() && meter.take(40).is_ok());
        assert_eq!((meter.used(), meter.held(), meter.peak(), meter.count()), (40, 60, 40, 1));
        drop(charge);
        assert!(meter.take(60).is_ok());
        assert_eq!((meter.used(), meter.held(), meter.peak()), (100, 0, 100));
    }
}

//! The cosines of all pairs, on a device: the product of the matrix of vectors with its own transpose, in tiles.

use super::vectors::DIMENSIONS;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;
use windlass::{Device, DeviceBuffer, Gemm, GpuRef, PendingDispatch, Result, Transpose};

/// Tiles that one worker has in flight in each stage: enough to keep a device busy, few enough to bound its memory.
const WINDOW: usize = 4;

/// Two texts and how alike they are; the greater pair is the more alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    /// The cosine in steps of 1e-5: rounding, which differs from engine to engine, shall not rank pairs.
    steps: i32,
    first: Reverse<usize>,
    second: Reverse<usize>,
}

impl Pair {
    fn new(cosine: f32, first: usize, second: usize) -> Self {
        Pair { steps: (cosine * 1e5).round() as i32, first: Reverse(first), second: Reverse(second) }
    }

    /// At most 1.
    pub(crate) fn cosine(&self) -> f32 {
        (self.steps as f32 * 1e-5).min(1.0)
    }

    /// The texts' numbers, the lower one first.
    pub(crate) fn texts(&self) -> (usize, usize) {
        (self.first.0, self.second.0)
    }
}

/// Vectors on a device, a block of rows in each buffer.
pub(crate) struct Vectors {
    blocks: Vec<GpuRef<f32>>,
    /// Rows in every block but the last.
    rows: usize,
}

impl Vectors {
    /// Copies blocks of `rows` vectors (the last may have fewer), each vector contiguous.
    pub(crate) fn upload(device: &Device, blocks: Vec<Vec<f32>>, rows: usize) -> Result<Self> {
        // All are on their way before the first is waited for; the wait is for the time that is printed.
        let pending: Vec<_> = blocks.into_iter().map(|block| device.upload(block)).collect::<Result<_>>()?;
        let blocks = pending.into_iter().map(|p| Ok(p.await_result()?.share())).collect::<Result<_>>()?;
        Ok(Vectors { blocks, rows })
    }

    /// The tiles on and above the diagonal: what is below mirrors them.
    fn tiles(&self) -> Vec<Tile<'_>> {
        let blocks = || self.blocks.iter().enumerate();
        let tile = |(i, left), (j, right)| Tile { left, right, row: i * self.rows, column: j * self.rows };
        blocks().flat_map(|a| blocks().skip(a.0).map(move |b| tile(a, b))).collect()
    }
}

/// One block of the table of cosines: rows are one block's texts, columns another's.
#[derive(Clone, Copy)]
struct Tile<'a> {
    left: &'a GpuRef<f32>,
    right: &'a GpuRef<f32>,
    /// The numbers of the texts that it begins with.
    row: usize,
    column: usize,
}

impl Tile<'_> {
    fn rows(&self) -> usize {
        self.left.len() / DIMENSIONS
    }

    fn columns(&self) -> usize {
        self.right.len() / DIMENSIONS
    }

    /// Column-major, a vector is a column: cosines are products of columns with columns, so the left is transposed.
    fn multiply(&self, device: &Device) -> Result<PendingDispatch<DeviceBuffer<f32>>> {
        let spec = Gemm::new(self.rows(), self.columns(), DIMENSIONS).trans_a(Transpose::Yes);
        let cosines = device.uninit(self.rows() * self.columns())?;
        Ok(device.blas().gemm(spec, self.left, self.right, cosines)?)
    }

    fn flops(&self) -> u64 {
        2 * (self.rows() * self.columns() * DIMENSIONS) as u64
    }
}

/// The most alike pairs, and what it took.
#[derive(Default)]
pub(crate) struct Compared {
    /// The most alike first.
    pub(crate) pairs: Vec<Pair>,
    pub(crate) tiles: usize,
    pub(crate) flops: u64,
    pub(crate) bytes: u64,
    /// Time that the device spent on products and on downloads; several run at a time.
    pub(crate) multiplying: Duration,
    pub(crate) downloading: Duration,
}

impl Compared {
    fn merge(mut self, other: Self, keep: usize) -> Self {
        self.pairs.extend(other.pairs);
        self.pairs.sort_unstable_by(|a, b| b.cmp(a));
        self.pairs.truncate(keep);
        self.tiles += other.tiles;
        self.flops += other.flops;
        self.bytes += other.bytes;
        self.multiplying += other.multiplying;
        self.downloading += other.downloading;
        self
    }
}

/// Finds the `keep` most alike pairs: every rayon worker sends tiles through the device, a few at a time.
pub(crate) fn compare(device: &Device, vectors: &Vectors, keep: usize) -> Result<Compared> {
    let device = &device.timed();
    vectors
        .tiles()
        .into_par_iter()
        .with_min_len(2 * WINDOW)
        .try_fold(|| Worker::new(device, keep), Worker::begin)
        .map(|worker| worker?.finish())
        .try_reduce(Compared::default, |a, b| Ok(a.merge(b, keep)))
}

/// What one worker has in flight, and what it found.
struct Worker<'a> {
    device: &'a Device,
    products: VecDeque<(Tile<'a>, PendingDispatch<DeviceBuffer<f32>>)>,
    downloads: VecDeque<(Tile<'a>, PendingDispatch<Vec<f32>>)>,
    /// The least of them on top.
    best: BinaryHeap<Reverse<Pair>>,
    keep: usize,
    compared: Compared,
}

impl<'a> Worker<'a> {
    fn new(device: &'a Device, keep: usize) -> Self {
        let (products, downloads) = (VecDeque::new(), VecDeque::new());
        Worker { device, products, downloads, best: BinaryHeap::new(), keep, compared: Compared::default() }
    }

    fn begin(mut self, tile: Tile<'a>) -> Result<Self> {
        self.products.push_back((tile, tile.multiply(self.device)?));
        self.shrink_to(WINDOW - 1)?;
        Ok(self)
    }

    fn finish(mut self) -> Result<Compared> {
        self.shrink_to(0)?;
        let pairs = self.best.into_iter().map(|Reverse(pair)| pair).collect();
        Ok(Compared { pairs, ..self.compared }.merge(Compared::default(), self.keep))
    }

    /// Takes the oldest out of both stages until at most `limit` are left in each.
    fn shrink_to(&mut self, limit: usize) -> Result<()> {
        while self.products.len() > limit
            && let Some((tile, product)) = self.products.pop_front()
        {
            let product = product.await_timed()?;
            self.compared.tiles += 1;
            self.compared.flops += tile.flops();
            self.compared.multiplying += product.device.unwrap_or_default();
            self.downloads.push_back((tile, self.device.download(&product.output)?));
        }
        while self.downloads.len() > limit
            && let Some((tile, download)) = self.downloads.pop_front()
        {
            let cosines = download.await_timed()?;
            self.compared.bytes += size_of_val(cosines.output.as_slice()) as u64;
            self.compared.downloading += cosines.device.unwrap_or_default();
            self.look_through(tile, &cosines.output);
        }
        Ok(())
    }

    fn look_through(&mut self, tile: Tile<'_>, cosines: &[f32]) {
        for (column, cosines) in cosines.chunks_exact(tile.rows().max(1)).enumerate() {
            for (row, &cosine) in cosines.iter().enumerate() {
                let (first, second) = (tile.row + row, tile.column + column);
                if first < second {
                    self.offer(Pair::new(cosine, first, second));
                }
            }
        }
    }

    fn offer(&mut self, pair: Pair) {
        if self.best.len() < self.keep {
            self.best.push(Reverse(pair));
        } else if let Some(mut least) = self.best.peek_mut().filter(|least| pair > least.0) {
            *least = Reverse(pair);
        }
    }
}

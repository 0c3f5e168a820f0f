//! The kernel on the machine for PTX, beside the host half: bit for bit, each row of the table. And the host half: what a matrix gets does
//! not depend on those beside it.

use super::super::tests::{Number, Random, element};
use super::{CHOLESKY, IN_PLACE, KEEP, LU, Matrix, PIVOTS, Row, System};
use crate::engines::ptx::{Area, Checks, PtxModule, Shape};
use crate::libraries::solver::host::{Memory, Systems, systems};
use crate::libraries::solver::native::small_lu;

const ROWS: [Row; 19] = [
    Row::Lu,
    Row::Solve,
    Row::LuSolve { transposed: false },
    Row::LuSolve { transposed: true },
    Row::Inverse,
    Row::LuInverse,
    Row::Cholesky { upper: false },
    Row::Cholesky { upper: true },
    Row::PositiveSolve { upper: false },
    Row::PositiveSolve { upper: true },
    Row::CholeskySolve { upper: false },
    Row::CholeskySolve { upper: true },
    Row::CholeskyInverse { upper: true },
    Row::CholeskyInverse { upper: false },
    Row::Triangle { upper: true, transposed: true },
    Row::Triangle { upper: false, transposed: false },
    Row::Triangle { upper: true, transposed: false },
    Row::TriangleInverse { upper: true, unit: false },
    Row::TriangleInverse { upper: false, unit: true },
];

/// Columns of B where a row of the table has one that `right` does not say; `None` without a B.
fn beside(row: Row, n: usize, right: usize) -> Option<usize> {
    match row {
        Row::Lu | Row::Cholesky { .. } | Row::CholeskyInverse { .. } | Row::TriangleInverse { .. } => None,
        Row::Inverse | Row::LuInverse => Some(n),
        _ => Some(right),
    }
}

/// Whether a verdict is told.
fn is_told(row: Row) -> bool {
    !matches!(row, Row::LuSolve { .. } | Row::CholeskySolve { .. } | Row::Triangle { .. })
}

#[derive(Clone, Debug)]
struct Room<T> {
    a: Vec<T>,
    pivots: Vec<i64>,
    b: Vec<T>,
    info: Vec<i32>,
}

struct Case {
    row: Row,
    job: System,
    a: Matrix,
    b: Matrix,
}

impl Case {
    fn new(row: Row, (m, n, right): (usize, usize, usize), count: usize, gap: usize) -> Self {
        let of = |rows: usize, cols: usize| {
            let ld = rows + gap;
            Matrix::new(rows, cols).ld(ld).batch(count).stride(ld * cols + 2 * gap)
        };
        let (a, right) = (of(m, n), beside(row, n, right));
        let b = right.map_or(Matrix::new(0, 0).batch(count), |right| of(m, right));
        let job = System::new::<f64>(row, &a, right.map(|_| &b)).unwrap();
        Case { row, job, a, b }
    }

    fn on_host<T: Number>(&self, room: &mut Room<T>) {
        let job = &self.job;
        let a = if job.is(KEEP | IN_PLACE) { Memory::Write(&mut room.a[..]) } else { Memory::Read(&room.a[..]) };
        let pivots = if job.is(LU) { Memory::Write(&mut room.pivots[..]) } else { Memory::Read(&room.pivots[..]) };
        let info = if is_told(self.row) { &mut room.info[..] } else { &mut [] };
        systems(job, Systems { a: (&self.a, a), pivots, b: (&self.b, &mut room.b), info });
    }

    fn on_machine<T: Number>(&self, module: &PtxModule, room: &mut Room<T>) {
        let at = small_lu::At::new((&self.a, room.a.as_ptr() as u64));
        let at = if room.b.is_empty() { at } else { at.beside((&self.b, room.b.as_ptr() as u64)) };
        let at = if self.job.is(PIVOTS) { at.pivots(room.pivots.as_ptr() as u64) } else { at };
        let at = if is_told(self.row) { at.info(room.info.as_ptr() as u64) } else { at };
        let (name, dims, args) = small_lu::plan::<T>(&self.job, self.a.count, at).unwrap();
        let shape = Shape::new(dims.grid.into(), dims.block.into(), dims.shared);
        let mut areas = vec![
            Area::write("a", bytemuck::cast_slice_mut(&mut room.a)),
            Area::write("pivots", bytemuck::cast_slice_mut(&mut room.pivots)),
            Area::write("info", bytemuck::cast_slice_mut(&mut room.info)),
        ];
        if !room.b.is_empty() {
            areas.push(Area::write("b", bytemuck::cast_slice_mut(&mut room.b)));
        }
        module.launch(name.to_str().unwrap(), shape, bytemuck::cast_slice(&args), areas, Checks::ALL, &|_| ()).unwrap();
    }

    /// Ordinary and degenerate matrices in turns; those for Cholesky have a large diagonal, but for one. Some pivots are no rows.
    fn room<T: Number>(&self, random: &mut Random) -> Room<T> {
        let Matrix { rows, cols, count, .. } = self.a;
        let mut a = vec![T::of(7.0); self.a.len().unwrap()];
        for k in 0..count {
            for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
                let x = random.next();
                let large = self.job.is(CHOLESKY) && i == j && k % 4 != 3;
                let x = if large {
                    T::of(40.0 + x)
                } else {
                    element(if self.job.is(CHOLESKY) { k % 8 } else { k % 10 }, (i, j), x)
                };
                a[k * self.a.distance() + j * self.a.leading() + i] = x;
            }
        }
        let b = (0..self.b.len().unwrap()).map(|_| T::of(random.next())).collect();
        let size = self.job.size();
        let pivot = |random: &mut Random| ((random.next() + 1.0) * (rows as f64 / 2.0 + 1.0)) as i64;
        let pivots = (0..size * count).map(|_| pivot(random)).collect();
        Room { a, pivots, b, info: vec![9; count] }
    }
}

fn assert_same<T: Number>(one: &Room<T>, other: &Room<T>, what: &dyn std::fmt::Debug) {
    for (part, x, y) in [("a", &one.a, &other.a), ("b", &one.b, &other.b)] {
        for (i, (x, y)) in x.iter().zip(y).enumerate() {
            assert_eq!(x.bits(), y.bits(), "{part}[{i}] of {what:?}: {x:?} and {y:?}");
        }
    }
    assert_eq!((&one.info, &one.pivots), (&other.info, &other.pivots), "{what:?}");
}

#[test]
fn the_kernel_has_the_bits_of_the_host_half_in_each_row_of_the_table() {
    fn case<T: Number>() {
        let module = PtxModule::new(include_str!("../../kernels/small_lu.ptx")).unwrap();
        let mut random = Random(3);
        for (turn, n) in [1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32].into_iter().enumerate() {
            for row in ROWS {
                for (right, count, gap) in [(1, 1 + turn % 2, turn % 3), (1 + (n + turn) % 32, 10 + turn % 4, 1)] {
                    let m = if row == Row::Lu { [n, 1 + (n * 5) % 32, n.div_ceil(2)][turn % 3] } else { n };
                    let case = Case::new(row, (m, n, right), count, gap);
                    let mut host = case.room::<T>(&mut random);
                    let mut machine = host.clone();
                    case.on_host(&mut host);
                    case.on_machine(&module, &mut machine);
                    assert_same(&host, &machine, &(row, m, n, right, count, gap, T::DTYPE));
                }
            }
        }
    }
    case::<f32>();
    case::<f64>();
}

#[test]
fn what_a_system_gets_depends_on_no_other() {
    fn case<T: Number>() {
        let mut random = Random(4);
        for n in 1..=32 {
            let count = [1, 2, 31, 33][n % 4];
            for row in ROWS {
                let sizes = (n, n, 1 + n % 3);
                let all = Case::new(row, sizes, count, n % 2);
                let mut together = all.room::<T>(&mut random);
                let given = together.clone();
                all.on_host(&mut together);
                let one = Case::new(row, sizes, 1, n % 2);
                let (len_a, len_b) = (one.a.len().unwrap(), one.b.len().unwrap());
                for k in 0..count {
                    let part = |room: &Room<T>| Room {
                        a: room.a[k * all.a.distance()..][..len_a].to_vec(),
                        pivots: room.pivots[k * n..][..n].to_vec(),
                        b: if len_b == 0 { Vec::new() } else { room.b[k * all.b.distance()..][..len_b].to_vec() },
                        info: vec![room.info[k]],
                    };
                    let mut alone = part(&given);
                    one.on_host(&mut alone);
                    assert_same(&alone, &part(&together), &(row, n, k, count, T::DTYPE));
                }
            }
        }
    }
    case::<f32>();
    case::<f64>();
}

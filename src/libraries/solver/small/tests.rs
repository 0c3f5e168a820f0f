//! The kernel on the machine for PTX, beside the host half: bit for bit. And the host half: what a matrix gets does not depend on
//! those beside it.

use super::super::SolverElement;
use super::super::host::{Memory, Operands, small};
use super::super::matrix::Matrix;
use super::super::native::small_qr;
use super::{Job, Task, fits, fits_qr};
use crate::engines::ptx::{Area, Checks, PtxModule, Shape};

/// Numbers between -1 and 1.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

pub(super) trait Number: SolverElement {
    fn of(x: f64) -> Self;
    fn bits(self) -> u64;
    /// The exponent of the smallest number.
    const LEAST: i32;
}

impl Number for f32 {
    fn of(x: f64) -> Self {
        x as f32
    }
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
    const LEAST: i32 = -149;
}

impl Number for f64 {
    fn of(x: f64) -> Self {
        x
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
    const LEAST: i32 = -1074;
}

/// What is wrong with matrix `k`: in turns nothing, equal columns, a zero matrix, columns and rows from one end of the range to the
/// other, numbers near underflow, a NaN, an infinity, zeros below the diagonal, a zero row.
pub(super) fn element<T: Number>(k: usize, (i, j): (usize, usize), random: f64) -> T {
    let power = |e: i32| random * 2f64.powi(e / 2) * 2f64.powi(e - e / 2);
    T::of(match k % 10 {
        1 => [0.5, -0.75, 0.25][(i * 7 + j % 2) % 3],
        2 => 0.0,
        3 => power(-T::LEAST * 9 / 10 - (j as i32) * (-T::LEAST / 20) - (i as i32) * 3),
        4 => power(-T::LEAST / 2 - (i as i32) * (-T::LEAST / 24)),
        5 => power(T::LEAST + 6),
        6 if (i, j) == (0, 0) => f64::NAN,
        7 if (i, j) == (0, 0) => f64::NEG_INFINITY,
        8 if i > j => -0.0,
        9 if i == 1 => 0.0,
        _ => random,
    })
}

/// Memory of one job.
#[derive(Clone)]
struct Room<T> {
    a: Vec<T>,
    tau: Vec<T>,
    b: Vec<T>,
    info: Vec<i32>,
}

/// A job over `count` matrices with gaps.
struct Case {
    job: Job,
    a: Matrix,
    b: Matrix,
}

impl Case {
    fn new(task: Task, (m, n, right): (usize, usize, usize), count: usize, gap: usize) -> Self {
        let rows = if task == Task::Least { m.max(n) } else { m };
        let of = |rows: usize, cols: usize| {
            let ld = rows + gap;
            Matrix::new(rows, cols).ld(ld).batch(count).stride(ld * cols + 2 * gap)
        };
        let (a, b) = (of(m, n), of(rows, if task == Task::Factor { 0 } else { right }));
        let job = Job::new(task, &a);
        Case { job: if task == Task::Factor { job } else { job.beside(&b) }, a, b }
    }

    fn on_host<T: Number>(&self, room: &mut Room<T>) {
        let job = &self.job;
        let (a, tau) = match job.task {
            Task::Factor => (Memory::Write(&mut room.a[..]), Memory::Write(&mut room.tau[..])),
            Task::Least => (Memory::Write(&mut room.a[..]), Memory::Read(&[][..])),
            _ => (Memory::Read(&room.a[..]), Memory::Read(&room.tau[..])),
        };
        small(job, Operands { a: (&self.a, a), tau, b: (&self.b, &mut room.b), info: &mut room.info });
    }

    fn on_machine<T: Number>(&self, module: &PtxModule, room: &mut Room<T>) {
        let at = |x: &[T]| if x.is_empty() { 0 } else { x.as_ptr() as u64 };
        let (a, b) = ((at(&room.a), self.a.distance()), (at(&room.b), self.b.distance()));
        let info = room.info.as_ptr() as u64;
        let tau = if self.job.task == Task::Least { 0 } else { at(&room.tau) };
        let operands = small_qr::Operands { a, tau, b, info };
        let (dims, args) = small_qr::plan::<T>(&self.job, self.a.count, operands).unwrap();
        let shape = Shape::new(dims.grid.into(), dims.block.into(), dims.shared);
        let mut areas = vec![
            Area::write("a", bytemuck::cast_slice_mut(&mut room.a)),
            Area::write("tau", bytemuck::cast_slice_mut(&mut room.tau)),
            Area::write("info", bytemuck::cast_slice_mut(&mut room.info)),
        ];
        if !room.b.is_empty() {
            areas.push(Area::write("b", bytemuck::cast_slice_mut(&mut room.b)));
        }
        let name = small_qr::NAMES[size_of::<T>() / 8].to_str().unwrap();
        module.launch(name, shape, bytemuck::cast_slice(&args), areas, Checks::ALL, &|_| ()).unwrap();
    }

    /// A room with random numbers, or the factors of these.
    fn room<T: Number>(&self, random: &mut Random, kinds: usize) -> Room<T> {
        let Matrix { rows, cols, count, .. } = self.a;
        let mut a = vec![T::of(7.0); self.a.len().unwrap()];
        for k in 0..count {
            for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
                let x = random.next();
                a[k * self.a.distance() + j * self.a.leading() + i] = element(k % kinds, (i, j), x);
            }
        }
        let b = (0..self.b.len().unwrap()).map(|_| T::of(random.next())).collect();
        let mut room = Room { a, tau: vec![T::of(3.0); rows.min(cols) * count], b, info: vec![0; count] };
        if !matches!(self.job.task, Task::Factor | Task::Least) {
            let factor = Case { job: Job::new(Task::Factor, &self.a), a: self.a, b: Matrix::new(1, 0).batch(count) };
            let mut factors = Room { b: Vec::new(), ..room.clone() };
            factor.on_host(&mut factors);
            (room.a, room.tau) = (factors.a, factors.tau);
        }
        room
    }
}

fn assert_same<T: Number>(one: &Room<T>, other: &Room<T>, what: &dyn std::fmt::Debug) {
    for (part, x, y) in [("a", &one.a, &other.a), ("tau", &one.tau, &other.tau), ("b", &one.b, &other.b)] {
        for (i, (x, y)) in x.iter().zip(y).enumerate() {
            assert_eq!(x.bits(), y.bits(), "{part}[{i}] of {what:?}: {x:?} and {y:?}");
        }
    }
    assert_eq!(one.info, other.info, "{what:?}");
}

const TASKS: [Task; 6] = [
    Task::Factor,
    Task::Generate,
    Task::Multiply { adjoint: true },
    Task::Multiply { adjoint: false },
    Task::Solve,
    Task::Least,
];

/// Whether the front has such a job.
fn makes_sense(task: Task, (m, n, right): (usize, usize, usize)) -> bool {
    match task {
        Task::Factor => true,
        Task::Generate => (n.min(m)..=m).contains(&right) && n <= m,
        Task::Multiply { .. } => n <= m && right > 0,
        Task::Solve => m >= n,
        Task::Least => m != n,
    }
}

#[test]
fn the_kernel_has_the_bits_of_the_host_half() {
    fn case<T: Number>() {
        let module = PtxModule::new(include_str!("../kernels/small_qr.ptx")).unwrap();
        let mut random = Random(1);
        let sizes = [
            (1, 1, 1),
            (2, 2, 2),
            (4, 4, 4),
            (4, 1, 4),
            (1, 4, 2),
            (5, 3, 3),
            (3, 5, 1),
            (8, 8, 8),
            (8, 3, 9),
            (9, 8, 0),
            (7, 9, 16),
            (16, 16, 16),
            (17, 16, 16),
            (16, 17, 3),
            (11, 31, 2),
            (31, 11, 11),
            (32, 32, 32),
            (32, 1, 1),
            (1, 32, 32),
            (32, 31, 31),
            (33, 32, 5),
            (20, 40, 3),
            (33, 33, 33),
            (64, 7, 64),
            (50, 64, 1),
            (64, 64, 25),
        ];
        for (turn, sizes) in sizes.into_iter().enumerate() {
            for task in TASKS.into_iter().filter(|task| makes_sense(*task, sizes)) {
                for (count, gap) in [(1 + turn % 2, turn % 3), (10 + turn % 4, 1)] {
                    // What takes longest, once.
                    if sizes.0.max(sizes.1) > 32 && count > 2 {
                        continue;
                    }
                    let case = Case::new(task, sizes, count, gap);
                    let (mut host, what) = (case.room::<T>(&mut random, 10), (task, sizes, count, gap, T::DTYPE));
                    let mut machine = host.clone();
                    case.on_host(&mut host);
                    case.on_machine(&module, &mut machine);
                    assert_same(&host, &machine, &what);
                }
            }
        }
    }
    case::<f32>();
    case::<f64>();
}

#[test]
fn what_a_matrix_gets_depends_on_no_other() {
    fn case<T: Number>() {
        let mut random = Random(2);
        for m in 1..=32 {
            for n in [1, m / 2, m - 1, m, m + 1, 32].into_iter().filter(|n| (1..=32).contains(n)) {
                let count = [1, 2, 31, 33][m % 4];
                for task in TASKS.into_iter().filter(|task| makes_sense(*task, (m, n, n.min(m)))) {
                    let all = Case::new(task, (m, n, n.min(m)), count, m % 2);
                    let mut together = all.room::<T>(&mut random, 10);
                    let given = together.clone();
                    all.on_host(&mut together);
                    let one = Case::new(task, (m, n, n.min(m)), 1, m % 2);
                    let (len_a, len_b, each) = (one.a.len().unwrap(), one.b.len().unwrap(), m.min(n));
                    for k in 0..count {
                        let (a, b) = (k * all.a.distance(), k * all.b.distance());
                        let part = |room: &Room<T>| Room {
                            a: room.a[a..][..len_a].to_vec(),
                            tau: room.tau[k * each..][..each].to_vec(),
                            b: if len_b == 0 { Vec::new() } else { room.b[b..][..len_b].to_vec() },
                            info: vec![room.info[k]],
                        };
                        let mut alone = part(&given);
                        one.on_host(&mut alone);
                        assert_same(&alone, &part(&together), &(task, m, n, k, count, T::DTYPE));
                    }
                }
            }
        }
    }
    case::<f32>();
    case::<f64>();
}

#[test]
fn the_sizes_decide_and_the_type_and_nothing_else() {
    use num_complex::Complex;
    assert!(fits_qr::<f32>(&[64, 1]) && !fits_qr::<f64>(&[65, 1]) && !fits_qr::<Complex<f64>>(&[2, 2]));
    assert!(fits::<f32>(&[32, 32, 32]) && fits::<f64>(&[1, 1, 0]));
    assert!(!fits::<f64>(&[33, 1]) && !fits::<Complex<f32>>(&[2, 2]) && !fits::<Complex<f64>>(&[2, 2]));
}

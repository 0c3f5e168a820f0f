//! The linear regressions of NIST's Statistical Reference Datasets: Longley, Filip, and Wampler 1 to 5 (whose observations are
//! computed from their formula), with their certified coefficients.

use super::check::Dense;
use super::check::Laid;
use crate::common::{devices, down};
use windlass::solver::{Structure, Vectors};
use windlass::{Device, DeviceBuffer};

/// A regression: its columns, observations, certified coefficients, and the digits that double precision reaches.
pub struct Case {
    pub name: &'static str,
    pub a: Dense,
    pub y: Vec<f64>,
    pub certified: Vec<f64>,
    pub digits: f64,
}

pub fn cases() -> Vec<Case> {
    let mut all = vec![longley(), filip()];
    all.extend(wampler());
    all
}

fn longley() -> Case {
    const ROWS: [[f64; 7]; 16] = [
        [60323.0, 83.0, 234289.0, 2356.0, 1590.0, 107608.0, 1947.0],
        [61122.0, 88.5, 259426.0, 2325.0, 1456.0, 108632.0, 1948.0],
        [60171.0, 88.2, 258054.0, 3682.0, 1616.0, 109773.0, 1949.0],
        [61187.0, 89.5, 284599.0, 3351.0, 1650.0, 110929.0, 1950.0],
        [63221.0, 96.2, 328975.0, 2099.0, 3099.0, 112075.0, 1951.0],
        [63639.0, 98.1, 346999.0, 1932.0, 3594.0, 113270.0, 1952.0],
        [64989.0, 99.0, 365385.0, 1870.0, 3547.0, 115094.0, 1953.0],
        [63761.0, 100.0, 363112.0, 3578.0, 3350.0, 116219.0, 1954.0],
        [66019.0, 101.2, 397469.0, 2904.0, 3048.0, 117388.0, 1955.0],
        [67857.0, 104.6, 419180.0, 2822.0, 2857.0, 118734.0, 1956.0],
        [68169.0, 108.4, 442769.0, 2936.0, 2798.0, 120445.0, 1957.0],
        [66513.0, 110.8, 444546.0, 4681.0, 2637.0, 121950.0, 1958.0],
        [68655.0, 112.6, 482704.0, 3813.0, 2552.0, 123366.0, 1959.0],
        [69564.0, 114.2, 502601.0, 3931.0, 2514.0, 125368.0, 1960.0],
        [69331.0, 115.7, 518173.0, 4806.0, 2572.0, 127852.0, 1961.0],
        [70551.0, 116.9, 554894.0, 4007.0, 2827.0, 130081.0, 1962.0],
    ];
    Case {
        name: "Longley",
        a: Dense::real(16, 7, |i, j| if j == 0 { 1.0 } else { ROWS[i][j] }),
        y: ROWS.iter().map(|row| row[0]).collect(),
        certified: vec![
            -3482258.63459582,
            15.0618722713733,
            -0.358191792925910E-01,
            -2.02022980381683,
            -1.03322686717359,
            -0.511041056535807E-01,
            1829.15146461355,
        ],
        digits: 8.0,
    }
}

fn filip() -> Case {
    const Y: [f64; 82] = [
        0.8116, 0.9072, 0.9052, 0.9039, 0.8053, 0.8377, 0.8667, 0.8809, 0.7975, 0.8162, 0.8515, 0.8766, 0.8885, 0.8859,
        0.8959, 0.8913, 0.8959, 0.8971, 0.9021, 0.909, 0.9139, 0.9199, 0.8692, 0.8872, 0.89, 0.891, 0.8977, 0.9035,
        0.9078, 0.7675, 0.7705, 0.7713, 0.7736, 0.7775, 0.7841, 0.7971, 0.8329, 0.8641, 0.8804, 0.7668, 0.7633, 0.7678,
        0.7697, 0.77, 0.7749, 0.7796, 0.7897, 0.8131, 0.8498, 0.8741, 0.8061, 0.846, 0.8751, 0.8856, 0.8919, 0.8934,
        0.894, 0.8957, 0.9047, 0.9129, 0.9209, 0.9219, 0.7739, 0.7681, 0.7665, 0.7703, 0.7702, 0.7761, 0.7809, 0.7961,
        0.8253, 0.8602, 0.8809, 0.8301, 0.8664, 0.8834, 0.8898, 0.8964, 0.8963, 0.9074, 0.9119, 0.9228,
    ];
    const X: [f64; 82] = [
        -6.860120914,
        -4.324130045,
        -4.358625055,
        -4.358426747,
        -6.955852379,
        -6.661145254,
        -6.355462942,
        -6.118102026,
        -7.115148017,
        -6.815308569,
        -6.519993057,
        -6.204119983,
        -5.853871964,
        -6.109523091,
        -5.79832982,
        -5.482672118,
        -5.171791386,
        -4.851705903,
        -4.517126416,
        -4.143573228,
        -3.709075441,
        -3.499489089,
        -6.300769497,
        -5.953504836,
        -5.642065153,
        -5.031376979,
        -4.680685696,
        -4.329846955,
        -3.928486195,
        -8.56735134,
        -8.363211311,
        -8.107682739,
        -7.823908741,
        -7.522878745,
        -7.218819279,
        -6.920818754,
        -6.628932138,
        -6.323946875,
        -5.991399828,
        -8.781464495,
        -8.663140179,
        -8.473531488,
        -8.247337057,
        -7.971428747,
        -7.676129393,
        -7.352812702,
        -7.072065318,
        -6.774174009,
        -6.478861916,
        -6.159517513,
        -6.835647144,
        -6.53165267,
        -6.224098421,
        -5.910094889,
        -5.598599459,
        -5.290645224,
        -4.974284616,
        -4.64454848,
        -4.290560426,
        -3.885055584,
        -3.408378962,
        -3.13200249,
        -8.726767166,
        -8.66695597,
        -8.511026475,
        -8.165388579,
        -7.886056648,
        -7.588043762,
        -7.283412422,
        -6.995678626,
        -6.691862621,
        -6.392544977,
        -6.067374056,
        -6.684029655,
        -6.378719832,
        -6.065855188,
        -5.752272167,
        -5.132414673,
        -4.811352704,
        -4.098269308,
        -3.66174277,
        -3.2644011,
    ];
    Case {
        name: "Filip",
        a: Dense::real(82, 11, |i, j| X[i].powi(j as i32)),
        y: Y.to_vec(),
        certified: vec![
            -1467.48961422980,
            -2772.17959193342,
            -2316.37108160893,
            -1127.97394098372,
            -354.478233703349,
            -75.1242017393757,
            -10.8753180355343,
            -1.06221498588947,
            -0.670191154593408E-01,
            -0.246781078275479E-02,
            -0.402962525080404E-04,
        ],
        digits: 6.0,
    }
}

fn wampler() -> Vec<Case> {
    const NOISE: [f64; 21] = [
        759.0, -2048.0, 2048.0, -2048.0, 2523.0, -2048.0, 2048.0, -2048.0, 1838.0, -2048.0, 2048.0, -2048.0, 1838.0,
        -2048.0, 2048.0, -2048.0, 2523.0, -2048.0, 2048.0, -2048.0, 759.0,
    ];
    let case = |name, base: f64, noise: f64, digits| Case {
        name,
        a: Dense::real(21, 6, |i, j| (i as f64).powi(j as i32)),
        y: (0..21)
            .map(|i| {
                let x = i as f64;
                (0..6).map(|j| base.powi(j) * x.powi(j)).sum::<f64>() + noise * NOISE[i]
            })
            .collect(),
        certified: (0..6).map(|j| base.powi(j)).collect(),
        digits,
    };
    vec![
        case("Wampler1", 1.0, 0.0, 8.0),
        case("Wampler2", 0.1, 0.0, 10.0),
        case("Wampler3", 1.0, 1.0, 8.0),
        case("Wampler4", 1.0, 100.0, 7.0),
        case("Wampler5", 1.0, 10000.0, 5.0),
    ]
}

fn column(device: &Device, y: &[f64]) -> DeviceBuffer<f64> {
    crate::common::up(device, y.to_vec())
}

/// The digits that agree in the worst coefficient.
fn digits(certified: &[f64], x: &[f64]) -> f64 {
    let of = |(c, x): (&f64, &f64)| -((x - c).abs() / c.abs()).max(1e-17).log10();
    certified.iter().zip(x).map(of).fold(17.0, f64::min)
}

/// By QR.
fn by_qr(device: &Device, case: &Case) -> Vec<f64> {
    let of_a = Laid::one(&case.a, 0);
    let of_b = windlass::solver::Matrix::new(case.a.m, 1);
    let (a, b) = (of_a.upload::<f64>(device), column(device, &case.y));
    let solved = device.solver().solve(Structure::General, of_a.shape, a, of_b, b).unwrap().await_result().unwrap();
    down(device, &solved.x)[..case.a.n].to_vec()
}

/// By singular values: `V * diag(1 / s) * U^T * y`.
fn by_svd(device: &Device, case: &Case) -> Vec<f64> {
    let (m, n, of_a) = (case.a.m, case.a.n, Laid::one(&case.a, 0));
    let a = of_a.upload::<f64>(device);
    let svd = device.solver().svd(Vectors::Thin, of_a.shape, a).unwrap().await_result().unwrap();
    let (s, u) = (down(device, &svd.values), down(device, svd.u.as_ref().unwrap()));
    let vh = down(device, svd.vh.as_ref().unwrap());
    let c: Vec<f64> = (0..n).map(|k| (0..m).map(|i| u[i + k * m] * case.y[i]).sum::<f64>() / s[k]).collect();
    (0..n).map(|j| (0..n).map(|k| vh[k + j * n] * c[k]).sum()).collect()
}

#[test]
fn the_certified_digits_are_reached_by_qr_and_by_singular_values() {
    for device in devices() {
        for case in cases() {
            for (how, x) in [("qr", by_qr(&device, &case)), ("svd", by_svd(&device, &case))] {
                let reached = digits(&case.certified, &x);
                println!("{} by {how}: {reached:.1} digits", case.name);
                assert!(reached >= case.digits, "{} by {how}: {reached} of {} digits: {x:?}", case.name, case.digits);
            }
        }
    }
}

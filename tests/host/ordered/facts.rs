//! What NumPy says: `make.py` wrote `facts.json`.

use super::read;
use crate::common::{devices, refused};
use serde::Deserialize;
use windlass::arrays::Method;

#[derive(Deserialize)]
struct Quantiles {
    x: Vec<u64>,
    q: Vec<u64>,
    of: Vec<Vec<u64>>,
}

#[derive(Deserialize)]
struct Histogram {
    x: Vec<u64>,
    bins: usize,
    range: Option<[f64; 2]>,
    counts: Vec<i64>,
    edges: Vec<u64>,
}

#[derive(Deserialize)]
struct Facts {
    quantiles: Vec<Quantiles>,
    histograms: Vec<Histogram>,
}

fn facts() -> Facts {
    serde_json::from_str(include_str!("facts.json")).unwrap()
}

fn numbers(bits: &[u64]) -> Vec<f64> {
    bits.iter().copied().map(f64::from_bits).collect()
}

const METHODS: [Method; 13] = [
    Method::InvertedCdf,
    Method::AveragedInvertedCdf,
    Method::ClosestObservation,
    Method::InterpolatedInvertedCdf,
    Method::Hazen,
    Method::Weibull,
    Method::Linear,
    Method::MedianUnbiased,
    Method::NormalUnbiased,
    Method::Lower,
    Method::Higher,
    Method::Midpoint,
    Method::Nearest,
];

#[test]
fn quantiles_are_those_of_numpy() {
    for device in devices() {
        for case in facts().quantiles {
            let x = device.tensor([case.x.len(), 1], numbers(&case.x)).unwrap();
            for (method, wanted) in METHODS.into_iter().zip(&case.of) {
                let got = device.quantile(&x, &numbers(&case.q), 0, method).unwrap().await_result().unwrap();
                assert_eq!(got.shape(), [case.q.len(), 1]);
                let (got, wanted) = (read(&device, &got), numbers(wanted));
                assert_eq!(got, wanted, "{method:?} of {} elements", case.x.len());
            }
        }
    }
}

#[test]
fn histograms_are_those_of_numpy() {
    for device in devices() {
        for case in facts().histograms {
            let x = device.tensor([case.x.len()], numbers(&case.x)).unwrap();
            let (counts, edges) = device.histogram(&x, case.bins, case.range).unwrap();
            assert_eq!(read(&device, &edges), numbers(&case.edges));
            assert_eq!(read(&device, &counts.await_result().unwrap()), case.counts);
        }
    }
}

#[test]
fn a_nan_makes_a_quantile_nan_and_equal_infinities_stay() {
    for device in devices() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        let x = device.tensor([3, 3], [inf, inf, inf, 1.0, nan, 2.0, -1.0, 5.0, 7.0]).unwrap();
        let got = read(&device, &device.median(&x, 1).unwrap().await_result().unwrap());
        assert!(got[0] == inf && got[1].is_nan() && got[2] == 5.0, "{got:?}");
        let what = |error: windlass::Error| refused(&error).0;
        assert_eq!(what(device.quantile(&x, &[1.5], 0, Method::Linear).unwrap_err()), "q");
        assert_eq!(what(device.quantile(&x, &[], 0, Method::Linear).unwrap_err()), "q");
        assert_eq!(what(device.median(&device.zeros::<f64>([0, 2]).unwrap(), 0).unwrap_err()), "x");
        assert_eq!(what(device.histogram(&x, 0, None).unwrap_err()), "bins");
        assert_eq!(what(device.histogram(&x, 2, Some([1.0, 0.0])).unwrap_err()), "range");
        assert_eq!(what(device.histogram_between(&x, &device.zeros::<f32>([1]).unwrap()).unwrap_err()), "edges");
    }
}

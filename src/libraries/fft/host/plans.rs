//! A cache of planned one-dimensional transforms: a plan of 2^20 points takes 10 to 35 ms to make.

use super::Real;
use crate::core::error::Result;
use crate::core::room::{collected, probe};
use lru::LruCache;
use num_complex::Complex;
use parking_lot::Mutex;
use realfft::{ComplexToReal, RealToComplex};
use rustfft::{Fft, FftDirection};
use std::f64::consts::PI;
use std::sync::Arc;

/// How many plans of each type are kept.
const MOST: usize = 64;
/// How many bytes their tables may have together; the newest is kept however large it is.
const MOST_BYTES: usize = 256 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Complex(usize, bool),
    Forward(usize),
    Backward(usize),
    Turns(Turns),
}

/// `n`, and `count`, `step` and `first` of [`Plans::turns`].
type Turns = (usize, usize, usize, usize);

#[derive(Clone)]
enum Plan<T> {
    Complex(Arc<dyn Fft<T>>),
    Forward(Arc<dyn RealToComplex<T>>),
    Backward(Arc<dyn ComplexToReal<T>>),
    Turns(Arc<Vec<Complex<T>>>),
}

/// Plans, each with its bytes.
type Kept<T> = LruCache<Key, (Plan<T>, usize)>;

/// The plans of one type.
pub(in super::super) struct Plans<T> {
    kept: Mutex<Option<Kept<T>>>,
}

impl<T: Real> Plans<T> {
    pub(super) const fn new() -> Self {
        Plans { kept: Mutex::new(None) }
    }

    /// A complex transform of `n` points.
    pub(super) fn complex(&self, n: usize, inverse: bool) -> Result<Arc<dyn Fft<T>>> {
        let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
        let make = || tables::<T>(n).map(|()| Plan::Complex(T::complex(n, direction)));
        Ok(match self.find(Key::Complex(n, inverse), n, make)? {
            Plan::Complex(plan) => plan,
            _ => T::complex(n, direction), // cannot happen: a key has one kind of plan
        })
    }

    /// A real transform of `n` points to half of its spectrum.
    pub(super) fn forward(&self, n: usize) -> Result<Arc<dyn RealToComplex<T>>> {
        let make = || tables::<T>(n).map(|()| Plan::Forward(T::forward(n)));
        Ok(match self.find(Key::Forward(n), n, make)? {
            Plan::Forward(plan) => plan,
            _ => T::forward(n),
        })
    }

    /// Half of a spectrum to its `n` real points.
    pub(super) fn backward(&self, n: usize) -> Result<Arc<dyn ComplexToReal<T>>> {
        let make = || tables::<T>(n).map(|()| Plan::Backward(T::backward(n)));
        Ok(match self.find(Key::Backward(n), n, make)? {
            Plan::Backward(plan) => plan,
            _ => T::backward(n),
        })
    }

    /// `exp(-i pi (step * k + first) / (4 n))` for every `k` below `count`.
    pub(super) fn turns(&self, turns: Turns) -> Result<Arc<Vec<Complex<T>>>> {
        let make = || {
            let (n, count, step, first) = turns;
            let quarter = PI / (4.0 * n.max(1) as f64);
            let turn = |k: usize| {
                let (sine, cosine) = (quarter * (step * k + first) as f64).sin_cos();
                Complex::new(T::nearest(cosine), T::nearest(-sine))
            };
            collected((0..count).map(turn)).map(Arc::new)
        };
        let (_, count, ..) = turns;
        match self.find(Key::Turns(turns), count, || make().map(Plan::Turns))? {
            Plan::Turns(turns) => Ok(turns),
            _ => make(),
        }
    }

    fn find(&self, key: Key, n: usize, make: impl FnOnce() -> Result<Plan<T>>) -> Result<Plan<T>> {
        if let Some((plan, _)) = self.kept.lock().as_mut().and_then(|kept| kept.get(&key)) {
            return Ok(plan.clone());
        }
        // Not under the lock: other threads need not wait for a large plan. Two threads may make the same one.
        let plan = make()?;
        // An estimate: twiddle factors, and the tables of lengths that need a transform of another length.
        let bytes = n.saturating_mul(4 * size_of::<T>());
        let mut dropped = Vec::new();
        let mut guard = self.kept.lock();
        let kept = guard.get_or_insert_with(LruCache::unbounded);
        dropped.extend(kept.put(key, (plan.clone(), bytes)));
        let mut held: usize = kept.iter().map(|(_, (_, bytes))| *bytes).sum();
        while kept.len() > MOST || (held > MOST_BYTES && kept.len() > 1) {
            let Some((_, old)) = kept.pop_lru() else { break };
            held -= old.1;
            dropped.push(old);
        }
        drop(guard);
        drop(dropped);
        Ok(plan)
    }
}

/// Fails if there is too little memory for the tables of a plan, which `rustfft` takes without a check.
///
/// They have about two complex numbers for each point. For a length with a large prime factor, `rustfft` plans another
/// length of up to three times as many points beside it (Bluestein), or one shorter by 1 (Rader): up to eight.
fn tables<T>(n: usize) -> Result<()> {
    let mut rest = n;
    for small in [2, 3, 5, 7, 11] {
        while rest > 1 && rest.is_multiple_of(small) {
            rest /= small;
        }
    }
    let each = if rest <= 1 { 2 } else { 8 };
    probe(n.saturating_mul(each * size_of::<Complex<T>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(plans: &Plans<f64>) -> (usize, usize) {
        let kept = plans.kept.lock();
        let kept = kept.as_ref().expect("something was planned");
        (kept.len(), kept.iter().map(|(_, (_, bytes))| bytes).sum())
    }

    #[test]
    fn a_plan_is_made_once_and_found_again() {
        let plans = Plans::<f64>::new();
        let (first, again) = (plans.complex(12, false).unwrap(), plans.complex(12, false).unwrap());
        assert!(Arc::ptr_eq(&first, &again));
        assert!(!Arc::ptr_eq(&first, &plans.complex(12, true).unwrap()));
        let (forward, backward) = (plans.forward(12).unwrap(), plans.backward(12).unwrap());
        assert!(
            Arc::ptr_eq(&forward, &plans.forward(12).unwrap()) && Arc::ptr_eq(&backward, &plans.backward(12).unwrap())
        );
        assert_eq!(held(&plans).0, 4);
    }

    #[test]
    fn the_plans_used_the_longest_ago_go_when_there_are_too_many() {
        let plans = Plans::<f64>::new();
        let first = plans.complex(1, false).unwrap();
        for n in 2..=MOST {
            plans.complex(n, false).unwrap();
        }
        assert!(Arc::ptr_eq(&first, &plans.complex(1, false).unwrap()), "the newest 64 are kept");
        let second = plans.complex(2, false).unwrap();
        plans.complex(MOST + 1, false).unwrap();
        plans.complex(MOST + 2, false).unwrap();
        assert_eq!(held(&plans).0, MOST);
        assert!(Arc::ptr_eq(&second, &plans.complex(2, false).unwrap()), "it was used after 3 and 4");
    }

    #[test]
    fn the_bytes_of_all_plans_are_bounded_but_the_newest_stays() {
        let plans = Plans::<f64>::new();
        for n in 1..=10 {
            plans.complex(n, false).unwrap();
        }
        let large = MOST_BYTES / 32 + 1;
        plans
            .find(Key::Complex(large, false), large, || Ok(Plan::Complex(f64::complex(1, FftDirection::Forward))))
            .unwrap();
        assert_eq!(held(&plans), (1, large * 32), "it is larger than all may be together");
        plans.complex(5, false).unwrap();
        assert_eq!(held(&plans).0, 1);
    }
}

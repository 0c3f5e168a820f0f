//! Windows of buffers: narrowed, widened, split, joined, aliased, sliced.

use crate::common::{columns, devices, down, refused, seeds, up, within};
use windlass::tensor::Layout;
use windlass::{DeviceBuffer, Gemm};

fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| i as f64).collect()
}

#[test]
fn a_narrowed_buffer_shows_its_window_and_widens_to_all_of_it() {
    for device in devices() {
        let x = up(&device, numbers(10)).narrow(2..8).unwrap();
        assert_eq!((x.len(), down(&device, &x)), (6, numbers(10)[2..8].to_vec()));
        let x = x.narrow(1..3).unwrap();
        assert_eq!(down(&device, &x), [3.0, 4.0]);
        let x = device.blas().scal(10.0, x).unwrap().into_buffer().widen();
        assert_eq!(down(&device, &x), [0., 1., 2., 30., 40., 5., 6., 7., 8., 9.]);
        let x = x.narrow(4..4).unwrap();
        assert!(x.is_empty() && down(&device, &x).is_empty());
        let x = device.fill(x, 7.0).unwrap().into_buffer().widen();
        assert_eq!(down(&device, &x)[4], 40.0);
    }
}

#[test]
fn parts_are_written_apart_and_join_to_the_whole() {
    for device in devices() {
        for mid in [0, 1, 5, 10] {
            let (left, right) = up(&device, numbers(10)).split_at(mid).unwrap();
            assert_eq!((left.len(), right.len()), (mid, 10 - mid));
            let left = device.fill(left, -1.0).unwrap().into_output();
            let right = device.blas().scal(2.0, right).unwrap().into_buffer();
            let whole = left.into_buffer().join(right).unwrap();
            let want: Vec<f64> = (0..10).map(|i| if i < mid { -1.0 } else { 2.0 * i as f64 }).collect();
            assert_eq!(down(&device, &whole), want, "split at {mid} on {device:?}");
        }
    }
}

#[test]
fn parts_of_parts_join_in_any_order_of_neighbours() {
    for device in devices() {
        seeds(8, |rng, _| {
            let mut parts = vec![up(&device, numbers(32))];
            let mut model = numbers(32);
            for _ in 0..6 {
                let part = parts.remove(rng.below(parts.len()));
                let (left, right) = {
                    let mid = rng.below(part.len() + 1);
                    part.split_at(mid).unwrap()
                };
                parts.extend([left, right]);
            }
            let mut parts: Vec<_> = parts
                .into_iter()
                .map(|part| {
                    let values = down(&device, &part);
                    values.iter().for_each(|v| model[*v as usize] = v * 3.0);
                    (values.first().copied(), device.blas().scal(3.0, part).unwrap().into_buffer())
                })
                .filter(|(first, _)| first.is_some())
                .collect();
            parts.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap());
            let mut parts: Vec<DeviceBuffer<f64>> = parts.into_iter().map(|p| p.1).collect();
            while parts.len() > 1 {
                let at = rng.below(parts.len() - 1);
                let right = parts.remove(at + 1);
                let left = parts.remove(at);
                parts.insert(at, left.join(right).unwrap());
            }
            assert_eq!(down(&device, &parts[0]), model, "{device:?}");
        });
    }
}

#[test]
fn parts_that_are_no_neighbours_do_not_join_and_come_back() {
    for device in devices() {
        let (a, rest) = up(&device, numbers(6)).split_at(2).unwrap();
        let (b, c) = rest.split_at(2).unwrap();
        let (a, c) = a.join(c).unwrap_err().back.expect("both parts");
        let (c, b) = c.join(b).unwrap_err().back.expect("both parts");
        let stranger = up(&device, numbers(2));
        let rejected = b.join(stranger).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "right");
        let (b, _) = rejected.back.expect("both parts");
        assert_eq!(down(&device, &a.join(b).unwrap().join(c).unwrap()), numbers(6));
    }
}

#[test]
fn slices_of_a_shared_buffer_are_windows_and_the_owner_gets_all_of_it_back() {
    for device in devices() {
        let x = up(&device, numbers(8)).share();
        let y = x.slice(2..6).unwrap().slice(1..3).unwrap();
        assert_eq!((y.len(), down(&device, &y)), (2, vec![3.0, 4.0]));
        let x = x.try_unique().expect_err("another handle exists");
        drop(x);
        let x = y.try_unique().expect("the last handle");
        assert_eq!(down(&device, &x), numbers(8));
    }
}

#[test]
fn a_part_is_said_alike_of_owners_of_shared_buffers_and_of_operands_by_any_range() {
    for device in devices() {
        let x = up(&device, numbers(8));
        let owned = [x.slice(2..6), x.slice(2..=5), x.as_in().slice(2..6), x.as_in().slice(2..=5)].map(Result::unwrap);
        owned.iter().for_each(|part| assert_eq!(down(&device, *part), [2.0, 3.0, 4.0, 5.0]));
        assert_eq!(down(&device, x.slice(6..).unwrap()), [6.0, 7.0]);
        assert_eq!(down(&device, x.slice(..1).unwrap().slice(..).unwrap()), [0.0]);
        let any = windlass::op::AnyIn::from(&x).slice(..=1).unwrap().downcast::<f64>().unwrap();
        assert_eq!(down(&device, any), [0.0, 1.0]);
        let shared = x.narrow(1..).unwrap().share();
        assert_eq!(down(&device, shared.slice(..2).unwrap()), [1.0, 2.0]);
        let whole = shared.try_unique().expect("a part that is dropped is no handle");
        assert_eq!(down(&device, &whole), numbers(8));
        for refused in [whole.slice(..9), whole.slice(..=8), whole.slice(9..), whole.slice(..=usize::MAX)] {
            assert!(matches!(refused, Err(windlass::Error::InvalidArgument { .. })), "{refused:?}");
        }
    }
}

#[test]
fn an_alias_writes_tiles_that_no_split_can_express_in_one_order_with_its_owner() {
    for device in devices() {
        // A 4 x 4 matrix; the owner takes the upper left tile, the alias the lower right one.
        let whole = device.zeros::<f64>(16).unwrap();
        let factor = up(&device, vec![1.0, 2.0, 3.0, 4.0]);
        let identity = up(&device, vec![1.0, 0.0, 0.0, 1.0]);
        // SAFETY: no operation gets overlapping windows, and this is the only thread.
        let alias = unsafe { whole.buffer().alias() };
        let tile = |c: DeviceBuffer<f64>, from: usize| {
            let c = c.narrow(from..from + 6).unwrap();
            let c = c.with_layout(Layout::columns(2, 2).ld(4)).unwrap();
            let (factor, unit) = (columns(&factor, 2, 2), columns(&identity, 2, 2));
            device.blas().gemm(Gemm::new().beta(1.0), factor, unit, c).unwrap().into_buffer().widen()
        };
        let (mut whole, mut alias) = (whole, alias);
        for _ in 0..20 {
            whole = tile(whole.into_buffer(), 0).into();
            alias = tile(alias, 10);
        }
        let want = [20., 40., 0., 0., 60., 80., 0., 0., 0., 0., 20., 40., 0., 0., 60., 80.];
        assert_eq!(down(&device, &whole), want, "{device:?}");
        assert_eq!(down(&device, &alias), want, "{device:?}");
        drop(whole);
        assert_eq!(down(&device, &alias), want, "the memory lasts as long as a handle does");
        assert!(alias.share().try_unique().is_ok());
    }
}

#[test]
fn an_operation_may_read_one_part_through_the_alias_and_write_another_through_the_owner() {
    for device in devices() {
        let shown = format!("{device:?}");
        let got = within(20, move || {
            let whole = up(&device, numbers(8));
            // SAFETY: the windows of one operation are apart, and this is the only thread.
            let alias = unsafe { whole.alias() };
            let mut half = whole.narrow(0..4).unwrap();
            let other = alias.narrow(4..8).unwrap();
            for _ in 0..3 {
                half = device.blas().axpy(1.0, &other, half).unwrap().into_buffer();
            }
            // Both written.
            let (half, other) = device.blas().swap(half, other).unwrap().into_output();
            drop(other);
            down(&device, &half.into_buffer().widen())
        });
        assert_eq!(got, [4.0, 5.0, 6.0, 7.0, 12.0, 16.0, 20.0, 24.0], "{shown}");
    }
}

/// Each thread writes its half of two buffers, the one first the one, the other first the other: neither waits for the
/// other, and who comes after them follows both.
#[test]
fn threads_may_write_parts_of_the_same_two_buffers_through_aliases() {
    for device in devices() {
        let shown = format!("{device:?}");
        let rounds = 200;
        let got = within(60, move || {
            let (x, y) = (up(&device, vec![1.0; 64]), up(&device, vec![2.0; 64]));
            // SAFETY: the threads keep to windows that are apart.
            let (ax, ay) = unsafe { (x.alias(), y.alias()) };
            for _ in 0..rounds {
                // SAFETY: as above; the handles of this round are gone before the next.
                let (left, under, right, beside) = unsafe { (x.alias(), y.alias(), ax.alias(), ay.alias()) };
                std::thread::scope(|scope| {
                    let device = &device;
                    let swap = move |a, b| drop(device.blas().swap(a, b).unwrap());
                    scope.spawn(move || swap(left.narrow(0..32).unwrap(), under.narrow(0..32).unwrap()));
                    scope.spawn(move || swap(beside.narrow(32..64).unwrap(), right.narrow(32..64).unwrap()));
                });
                // On another stream, perhaps: it sees both halves.
                let sum = device.blas().asum(&x).unwrap().await_result().unwrap();
                assert!(sum == 64.0 || sum == 128.0, "{sum}");
            }
            (down(&device, &x), down(&device, &y))
        });
        assert_eq!(got, (vec![1.0; 64], vec![2.0; 64]), "{shown}");
    }
}

/// What a handle shows is what it splits; what it does not show goes with its neighbour.
#[test]
fn a_narrowed_buffer_splits_in_its_window() {
    for device in devices() {
        for (window, mid) in [(3..7, 2), (3..7, 0), (3..7, 4), (0..10, 4), (5..5, 0), (0..3, 1), (8..10, 1)] {
            let x = up(&device, numbers(10)).narrow(window.clone()).unwrap();
            let what = format!("{window:?} at {mid}");
            let (left, right) = x.split_at(mid).unwrap();
            assert_eq!((left.len(), right.len()), (mid, window.len() - mid), "{what}");
            assert_eq!(down(&device, &left), numbers(10)[window.start..window.start + mid], "{what}");
            assert_eq!(down(&device, &right), numbers(10)[window.start + mid..window.end], "{what}");
            let left = device.fill(left, -1.0).unwrap().into_output();
            let whole = left.into_buffer().join(right).unwrap();
            assert_eq!(whole.len(), window.len(), "{what}");
            let mut want = numbers(10);
            want[window.start..window.start + mid].fill(-1.0);
            assert_eq!(down(&device, &whole), want[window.clone()], "{what}");
            let (left, right) = whole.split_at(mid).unwrap();
            assert_eq!(down(&device, &left.widen()), want[..window.start + mid], "{what}");
            assert_eq!(down(&device, &right.widen()), want[window.start + mid..], "{what}");
        }
        let x = up(&device, numbers(10)).narrow(3..7).unwrap();
        let rejected = x.split_at(5).unwrap_err();
        assert!(rejected.error.to_string().contains('4'), "{}", rejected.error);
        assert_eq!(rejected.back.unwrap().len(), 4);
    }
}

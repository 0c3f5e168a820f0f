//! Chains of views against NumPy: `views.txt`, written by `views.py`. `WINDLASS_TEST_VIEWS` names another file of it.

use crate::common::devices;
use windlass::tensor::AxisSlice;
use windlass::{Result, TensorRef};

fn numbers<T: std::str::FromStr>(text: &str) -> Vec<T> {
    text.split_whitespace().map(|word| word.parse().unwrap_or_else(|_| panic!("{word}"))).collect()
}

/// One member of a slice: `new`, `rest`, `at 3`, or `1..5 2`.
fn member(text: &str) -> AxisSlice {
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        ["new"] => AxisSlice::New,
        ["rest"] => AxisSlice::Rest,
        ["at", index] => AxisSlice::Index(index.parse().unwrap()),
        [range, step] => {
            let (start, end) = range.split_once("..").unwrap();
            let range: std::ops::Range<isize> = start.parse().unwrap()..end.parse().unwrap();
            AxisSlice::from(range).step(step.parse().unwrap())
        }
        _ => panic!("{text}"),
    }
}

fn view<'a>(x: &TensorRef<'a, i32>, text: &str) -> Result<TensorRef<'a, i32>> {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    if name == "slice" {
        let members: Vec<AxisSlice> = rest.split(',').filter(|text| !text.trim().is_empty()).map(member).collect();
        return x.slice(members);
    }
    let given: Vec<isize> = numbers(rest);
    let sizes = || given.iter().map(|n| *n as usize).collect::<Vec<_>>();
    match (name, &given[..]) {
        ("permute", order) => x.permute(order),
        ("transpose", []) => Ok(x.transpose()),
        ("reshape", _) => x.reshape(sizes()),
        ("broadcast", _) => x.broadcast(sizes()),
        ("squeeze", []) => Ok(x.squeeze()),
        ("unsqueeze", [axis]) => x.unsqueeze(*axis),
        ("swap", [one, other]) => x.swap_axes(*one, *other),
        ("flip", [axis]) => x.flip(*axis),
        ("split", [axis, mid, back]) => x.split(*axis, *mid as usize).map(|(a, b)| if *back == 0 { a } else { b }),
        ("windows", [axis, size, step]) => x.windows(*axis, *size as usize, *step as usize),
        ("diagonal", [above, one, other]) => x.diagonal(*above, *one, *other),
        _ => panic!("{text}"),
    }
}

#[test]
fn views_show_what_numpy_shows() {
    let named = std::env::var("WINDLASS_TEST_VIEWS").ok();
    let text = named.map_or(include_str!("views.txt").to_owned(), |path| std::fs::read_to_string(path).unwrap());
    assert!(text.lines().count() >= 400);
    for device in devices() {
        for line in text.lines() {
            let [extents, chain, shown] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let extents: Vec<usize> = numbers(extents);
            let base =
                device.tensor(&extents, (0..extents.iter().product::<usize>() as i32).collect::<Vec<_>>()).unwrap();
            let made = chain.split(';').map(str::trim).try_fold(base.view(), |x, text| view(&x, text));
            let Some((extents, elements)) = shown.split_once(':') else {
                let error = made.map(|x| format!("{x:?}")).unwrap_err().to_string();
                assert!(error.contains("`contiguous`"), "{line}\n{error}");
                continue;
            };
            let made = made.unwrap_or_else(|e| panic!("{line}\n{e}"));
            assert_eq!(made.shape(), numbers::<usize>(extents), "{line}");
            let got = device.download(&made).unwrap().await_result().unwrap();
            assert_eq!(got, numbers::<i32>(elements), "{line}");
        }
    }
}

//! Devices, their settings, and data that goes up and down.

use super::{Mistake, i, said, waited, x};
use windlass::op::InFlight;
use windlass::tensor::Layout;
use windlass::{Device, HostPool, Recorder, Result};

/// A program of one operand.
fn doubled(r: &Recorder) -> Result<()> {
    drop(r.blas().scal(2.0, r.operand::<f64>(2)?)?);
    Ok(())
}

pub(super) const MISTAKES: &[Mistake] = &[
    ("Device::named, of no device", |_| said(Device::named("gpu")), ["`device`", "`gpu`", "`cuda:N`"]),
    ("Device::named, of a number that is none", |_| said(Device::named("cuda:x")), ["`device`", "`cuda:x`", "`host`"]),
    (
        "Device::named, a standby without isolation",
        |_| said(Device::named("host:standby")),
        ["`device`", "host:standby", ":isolated"],
    ),
    ("slots of none", |_| said(Device::builder().host().slots(0).open()), ["`slots`", "0", "1"]),
    (
        "a limit of no memory",
        |_| said(Device::builder().host().memory_limit(0).open()),
        ["`memory_limit`", "0", "at least"],
    ),
    (
        "staging of nothing",
        |_| said(Device::builder().host().staging_limit(0).open()),
        ["`staging_limit`", "0", "at least"],
    ),
    (
        "a bound of nothing in flight",
        |_| said(Device::builder().host().in_flight(InFlight::Wait(0)).open()),
        ["`in_flight`", "0", "1"],
    ),
    (
        "a pool of no threads",
        |_| said(Device::builder().host().host_pool(HostPool::Threads(0)).open()),
        ["`threads`", "0", "Inline"],
    ),
    (
        "more than the limit",
        |_| said(Device::builder().host().memory_limit(16).open().unwrap().zeros::<f32>(100)),
        ["out of memory", "400 bytes requested", "16"],
    ),
    ("a tensor of too few elements", |d| said(d.tensor([2, 3], [1.0f32; 5])), ["`elements`", "5 elements", "6"]),
    ("a tensor of too many axes", |d| said(d.zeros::<f32>([1; 65])), ["`extents`", "65", "at most 64"]),
    (
        "a tensor that no machine holds",
        |d| said(d.zeros::<f32>([usize::MAX, 2])),
        ["`extents`", "more elements", "than"],
    ),
    (
        "upload_into a shorter buffer",
        |d| said(d.upload_into([1.0f32; 5], x(d, [4]).into_buffer())),
        ["`target`", "5", "4"],
    ),
    (
        "upload_to a tensor of another size",
        |d| said(d.upload_to([1.0f32; 5], x(d, [2, 2]))),
        ["`target`", "5 elements", "4 elements"],
    ),
    ("copy into a longer one", |d| said(d.copy(&x(d, [3]), x(d, [4]))), ["`target`", "3", "4"]),
    (
        "assign of other extents",
        |d| said(d.assign(x(d, [2, 3]), x(d, [3, 2]).view())),
        ["`source`", "[3, 2]", "[2, 3]"],
    ),
    (
        "download into a shorter slice",
        |d| said(d.download(&x(d, [4])).unwrap().await_result_into(&mut [0.0; 3])),
        ["`target`", "3", "4"],
    ),
    (
        "to_vec of what was never written",
        |d| said(d.to_vec(&d.uninit::<f32>(3).unwrap())),
        ["`source`", "never written", ""],
    ),
    ("item of several elements", |d| said(d.item(&x(d, [2, 3]))), ["`x`", "6 elements", "one"]),
    ("allclose of other extents", |d| said(d.allclose(&x(d, [2]), &x(d, [3]), 1e-6, 0.0)), ["`b`", "[3]", "[2]"]),
    (
        "a slice past the end of a buffer",
        |d| said(x(d, [4]).into_buffer().slice(2..9).map(drop)),
        ["`range`", "2..9", "4"],
    ),
    ("narrow past the end", |d| said(x(d, [4]).into_buffer().narrow(5..9)), ["`range`", "5..9", "4"]),
    ("split_at past the end", |d| said(x(d, [4]).into_buffer().split_at(5)), ["`mid`", "5", "4"]),
    (
        "join of two buffers",
        |d| said(x(d, [4]).into_buffer().join(x(d, [4]).into_buffer())),
        ["`right`", "0..16", "adjacent"],
    ),
    ("growing without an axis", |d| said(d.growing::<f32>([], 3)), ["`shape`", "axis", ""]),
    ("growing to less than there is", |d| said(d.growing::<f32>([3], 2)), ["`rows`", "2", "3"]),
    (
        "grow beyond the reserve",
        |d| said(d.growing::<f32>([2], 4).unwrap().grow(1000)),
        ["`rows`", "1000 rows more than 2", "the reserve has 4"],
    ),
    ("grow of another tensor", |d| said(x(d, [2]).grow(1)), ["growing", "", ""]),
    ("to_array of other axes", |d| said(d.to_array::<f32, ndarray::Ix1>(&x(d, [2, 3]))), ["`x`", "2 axes", "1"]),
    ("load_npy of no file", |d| said(d.load_npy("/nowhere/x.npy")), ["/nowhere/x.npy", "", ""]),
    ("read_npy of another file", |d| said(d.read_npy(&b"PNG.."[..])), ["`file`", "does not begin", "NumPy"]),
    (
        "an array that an archive has not",
        |d| {
            let mut file = std::io::Cursor::new(Vec::new());
            let mut writer = windlass::npy::NpzWriter::new(&mut file);
            writer.add(d, "weights", &x(d, [2])).unwrap();
            writer.finish().unwrap();
            said(windlass::npy::Npz::new(file).unwrap().read(d, "weight"))
        },
        ["`name`", "`weight`", "weights"],
    ),
    (
        "a file of safetensors that is not there",
        |_| said(windlass::safetensors::Safetensors::open("/nowhere/m")),
        ["/nowhere/m", "", ""],
    ),
    (
        "a buffer of another device",
        |d| {
            let other = Device::host().unwrap();
            said(d.blas().dot(&x(d, [2]), &x(&other, [2])))
        },
        ["`y`", "belongs to", ""],
    ),
    (
        "a buffer of an earlier generation",
        |_| {
            let device = Device::host().unwrap();
            let old = x(&device, [2]);
            device.rebuild(std::time::Duration::from_secs(10)).unwrap();
            said(device.blas().nrm2(&old))
        },
        ["stale", "0", "1"],
    ),
    (
        "a wait inside a recording",
        |d| said(d.record(|r| r.blas().nrm2(&r.input::<f64>(4)?)?.await_result())),
        ["Recorder::later", "", ""],
    ),
    (
        "a replay without its operands",
        |d| {
            let (program, _) = d.record(doubled).unwrap();
            said(program.replay((), ()))
        },
        ["`writes`", "0", "1"],
    ),
    (
        "a replay with an operand of another length",
        |d| {
            let (program, _) = d.record(doubled).unwrap();
            said(program.replay((), (d.zeros::<f64>(3).unwrap().into_buffer(),)))
        },
        ["`operand 0`", "[3]", "[2]"],
    ),
    (
        "a part of what is not there",
        |d| said(x(d, [2, 3]).part(|all| all.index(0, 2))),
        ["`index`", "index 2", "2 elements"],
    ),
    (
        "a layout beyond the buffer",
        |d| said(x(d, [6]).with_layout(Layout::rows(3, 4))),
        ["`layout`", "element 11", "6"],
    ),
    (
        "a place that is not there",
        |d| waited(d.take(&x(d, [3]), &i(d, [0, 3]), 0)),
        ["`indices`", "number 1", "3 elements"],
    ),
];

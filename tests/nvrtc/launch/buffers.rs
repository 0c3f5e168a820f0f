//! Buffers without their types, and operations over any number of them.

use crate::common::{assert_back_at, devices, down, holdings, is_host, up};
use windlass::{
    DType, DeviceBuffer, Error, Result,
    op::{AnyBuffer, AnyBuffers, AnyIn, Dyn, Op, Slices, SlicesMut, Spans},
};

#[test]
fn a_buffer_without_its_type_becomes_typed_again_by_its_own_type_only() {
    for device in devices() {
        let base = holdings(&device);
        let any: AnyBuffer = up(&device, [1.0f32, 2.0, 3.0]).narrow(1..3).unwrap().into();
        assert_eq!((any.dtype(), any.len(), any.is_empty()), (DType::F32, 2, false));
        assert!(any.as_in().downcast::<u32>().is_none());
        assert_eq!(down(&device, any.as_in().downcast::<f32>().unwrap()), [2.0, 3.0]);
        let any = any.downcast::<u32>().unwrap_err();
        let x: DeviceBuffer<f32> = any.downcast().unwrap();
        assert_eq!(down(&device, &x.widen()), [1.0, 2.0, 3.0]);
        assert_back_at(&device, base);
    }
}

#[test]
fn the_handle_stays_counted_without_its_type() {
    for device in devices() {
        let shared = up(&device, [1u8]).share();
        let other = shared.clone();
        let shared = shared.try_unique().unwrap_err();
        drop(other);
        let any: AnyBuffer = shared.try_unique().unwrap().into();
        let shared = any.downcast::<u8>().unwrap().share();
        assert!(shared.try_unique().is_ok());
        let base = (0, 0, 0);
        drop(AnyBuffer::from(up(&device, [1u64; 100])));
        assert_back_at(&device, base);
    }
}

/// Adds what it reads, of whatever types, into each of what it writes.
#[derive(serde::Serialize, serde::Deserialize)]
struct AddAll(String);

impl Op for AddAll {
    const NAME: &'static str = "add_all";
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        let mut lengths = reads.iter().chain(writes).map(|span| span.len());
        match lengths.next().is_none_or(|first| lengths.all(|len| len == first)) {
            true => Ok(()),
            false => Err(Error::invalid(self.0.clone(), "lengths differ")),
        }
    }
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        let number = |slice: windlass::op::AnySlice<'_>, i: usize| match slice.dtype() {
            DType::F32 => slice.downcast::<f32>().map(|s| f64::from(s[i])),
            DType::I64 => slice.downcast::<i64>().map(|s| s[i] as f64),
            _ => None,
        };
        for target in writes {
            let target = target.downcast::<f64>().ok_or_else(|| Error::unsupported("only f64 is written"))?;
            for (i, t) in target.iter_mut().enumerate() {
                *t += reads.iter().filter_map(|read| number(*read, i)).sum::<f64>();
            }
        }
        Ok(())
    }
    fn wire() -> Option<windlass::op::Wire<Self>> {
        windlass::op::Wire::plain()
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

#[test]
fn an_operation_takes_any_number_of_buffers_of_any_types() {
    for device in devices().iter().filter(|device| is_host(device)) {
        let (a, b) = (up(device, [0.5f32, 1.5]), up(device, [10i64, 20]).share());
        let mut reads = windlass::op::AnyIns::new();
        reads.extend([AnyIn::from(&a), AnyIn::from(&b), AnyIn::from(&a)]);
        let writes = [up(device, [0.0f64, 0.0]).into(), up(device, [100.0f64, 100.0]).into()].into_iter().collect();
        let written = device.dispatch(AddAll("x".into()), reads, writes).unwrap().await_result().unwrap();
        let (x, y) = written.downcast::<(DeviceBuffer<f64>, DeviceBuffer<f64>)>().unwrap();
        assert_eq!((down(device, &x), down(device, &y)), (vec![11.0, 23.0], vec![111.0, 123.0]));
    }
}

#[test]
fn a_list_becomes_a_tuple_of_the_right_number_and_types_only() {
    for device in devices() {
        let list = || -> AnyBuffers { [up(&device, [1u8]).into(), up(&device, [2.0f64]).into()].into_iter().collect() };
        assert!(list().downcast::<DeviceBuffer<u8>>().is_err());
        assert!(list().downcast::<(DeviceBuffer<f64>, DeviceBuffer<u8>)>().is_err());
        let back = list().downcast::<()>().unwrap_err();
        assert_eq!(back.iter().map(AnyBuffer::dtype).collect::<Vec<_>>(), [DType::U8, DType::F64]);
        let error: Error = back.into();
        assert!(error.to_string().contains("u8, f64"), "{error}");
        let (a, b) = list().downcast::<(DeviceBuffer<u8>, DeviceBuffer<f64>)>().unwrap();
        assert_eq!((down(&device, &a), down(&device, &b)), (vec![1], vec![2.0]));
    }
}

//! The elementary functions of single numbers, for the evaluator: asked of the library, whose accuracy is proven apart.

use super::oracle::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use windlass::expressions::{Expr, Function, Node, Op};
use windlass::tensor::Layout;
use windlass::{Complex, DType, Device, Element, HostPool};

/// Answers by a host device without threads.
pub(super) struct Functions {
    device: Device,
    formulas: RefCell<HashMap<(Function, DType), Expr>>,
}

impl Functions {
    pub(super) fn new() -> Self {
        let device = Device::builder().host().host_pool(HostPool::Inline).open().unwrap();
        Functions { device, formulas: RefCell::default() }
    }

    fn call<T: Element>(&self, function: Function, arguments: &[T]) -> T {
        let mut formulas = self.formulas.borrow_mut();
        let expr = formulas.entry((function, T::DTYPE)).or_insert_with(|| {
            let inputs = vec![T::DTYPE; arguments.len()];
            let mut nodes: Vec<Node> =
                (0..arguments.len()).map(|k| Node { op: Op::Input(k as u8), dtype: T::DTYPE }).collect();
            let second = (arguments.len() == 2).then_some(1);
            nodes.push(Node { op: Op::Call(function, 0, second), dtype: T::DTYPE });
            let last = (nodes.len() - 1) as u16;
            Expr::admit(inputs, vec![], nodes, vec![last]).unwrap()
        });
        let one = Layout::row_major([1]).unwrap();
        let inputs: Vec<_> = arguments.iter().map(|x| self.device.upload(vec![*x]).unwrap().into_output()).collect();
        let reads = inputs.iter().map(|x| (x.into(), one.clone())).collect();
        let out = self.device.uninit::<T>(1).unwrap();
        let pending = self.device.evaluate(expr, &[], reads, vec![(out.into_buffer().into(), one)]).unwrap();
        let out = pending.await_result().unwrap().into_iter().next().unwrap().downcast::<T>().unwrap();
        self.device.download(&out).unwrap().await_result().unwrap()[0]
    }

    pub(super) fn single(&self, function: Function, x: f32, y: f32) -> f32 {
        self.call(function, &[x, y][..function.arity()])
    }

    pub(super) fn double(&self, function: Function, x: f64, y: f64) -> f64 {
        self.call(function, &[x, y][..function.arity()])
    }

    pub(super) fn complex(&self, function: Function, z: Value) -> Value {
        match z {
            Value::F32([re, im]) => {
                let z = self.call(function, &[Complex::new(re, im)]);
                Value::F32([z.re, z.im])
            }
            Value::F64([re, im]) => {
                let z = self.call(function, &[Complex::new(re, im)]);
                Value::F64([z.re, z.im])
            }
            other => other,
        }
    }
}

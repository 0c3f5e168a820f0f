//! The trivial operations that the library's own cost is measured with.

use windlass::{
    DeviceBuffer, Result,
    op::{Enqueue, LaunchDims, Op, Ptx, Slices, SlicesMut, Spans, WritesOf},
};

/// A kernel that does nothing, one that adds 1 to each element, one that does nothing with sixteen arguments, and one
/// that runs for so many nanoseconds.
pub(crate) const PTX: &str = "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry empty()
{
    ret;
}

.visible .entry add_one_f32(.param .u64 data, .param .u64 count)
{
    .reg .u64 %address, %limit, %index, %offset;
    .reg .u32 %block, %size, %thread;
    .reg .f32 %value;
    .reg .pred %outside;
    ld.param.u64 %address, [data];
    ld.param.u64 %limit, [count];
    mov.u32 %block, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %thread, %tid.x;
    cvt.u64.u32 %offset, %thread;
    mad.wide.u32 %index, %block, %size, %offset;
    setp.ge.u64 %outside, %index, %limit;
    @%outside bra END;
    cvta.to.global.u64 %address, %address;
    shl.b64 %offset, %index, 2;
    add.u64 %address, %address, %offset;
    ld.global.f32 %value, [%address];
    add.f32 %value, %value, 0f3F800000;
    st.global.f32 [%address], %value;
END:
    ret;
}

.visible .entry sixteen(
    .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u64 e, .param .u64 f, .param .u64 g, .param .u64 h,
    .param .f32 i, .param .f64 j, .param .u8 k, .param .u16 l, .param .u32 m, .param .u64 n, .param .f32 o, .param .f64 p)
{
    ret;
}

.visible .entry busy(.param .u64 nanoseconds)
{
    .reg .u64 %start, %now, %limit;
    .reg .pred %early;
    ld.param.u64 %limit, [nanoseconds];
    mov.u64 %start, %globaltimer;
AGAIN:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %start;
    setp.lt.u64 %early, %now, %limit;
    @%early bra AGAIN;
    ret;
}
";

static KERNELS: Ptx = Ptx::new(PTX);

/// One thread.
const ONE: LaunchDims = LaunchDims { grid: (1, 1, 1), block: (1, 1, 1), shared: 0 };

/// An op that only has a CUDA half.
macro_rules! op {
    ($(#[$meta:meta])* $Name:ident $(($field:ty))? = $name:literal: $reads:ty => $output:ty, |$op:ident, $queue:ident| $cuda:expr) => {
        $(#[$meta])*
        pub(crate) struct $Name $((pub(crate) $field))?;

        impl Op for $Name {
            const NAME: &'static str = $name;
            type Reads = $reads;
            type Output = $output;
            type Raw = ();

            fn check(&self, _: &Spans<Self::Reads>, _: &Spans<WritesOf<Self>>) -> Result<()> {
                Ok(())
            }
            fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
                Ok(())
            }
            fn cuda(&self, $queue: &mut Enqueue<'_, Self>) -> Result<()> {
                let $op = self;
                $cuda
            }
            fn finish(&self, (): ()) -> Result<()> {
                Ok(())
            }
        }
    };
}

op! {
    /// The empty kernel without operands, so it follows nothing.
    Empty = "empty": () => (), |_op, queue| {
        // SAFETY: the kernel has no parameters and touches nothing.
        unsafe { queue.launch(&KERNELS, c"empty", ONE, &[]) }
    }
}

op! {
    /// The empty kernel on one buffer that it may write.
    EmptyOn = "empty_on": () => DeviceBuffer<f32>, |_op, queue| {
        // SAFETY: as for `Empty`.
        unsafe { queue.launch(&KERNELS, c"empty", ONE, &[]) }
    }
}

op! {
    /// The empty kernel on two buffers that it reads and one that it may write.
    EmptyOnThree = "empty_on_three": (f32, f32) => DeviceBuffer<f32>, |_op, queue| {
        // SAFETY: as for `Empty`.
        unsafe { queue.launch(&KERNELS, c"empty", ONE, &[]) }
    }
}

op! {
    /// Adds 1 to the first element: what a chain did can be checked.
    AddOne = "add_one": () => DeviceBuffer<f32>, |_op, queue| {
        let (x,) = *queue.writes();
        let count = x.len().min(1);
        // SAFETY: an address and a count, as the kernel has them; it writes that many elements of the operand.
        unsafe { queue.launch(&KERNELS, c"add_one_f32", ONE, &[x.into(), count.into()]) }
    }
}

op! {
    /// Keeps its stream busy for so many nanoseconds.
    Busy(u64) = "busy": () => (), |op, queue| {
        // SAFETY: one 64-bit parameter, as the kernel has it; it touches no memory.
        unsafe { queue.launch(&KERNELS, c"busy", ONE, &[op.0.into()]) }
    }
}

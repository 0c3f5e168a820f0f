//! What is moved in a sort.

pub(super) use crate::libraries::arrays::sort::order::Bits;
use crate::libraries::arrays::sort::order::Order;

/// What is moved: a key in the upper half and a place in the lower one, or an element.
pub(super) trait Item: Copy + Ord + Send + Sync + Default {
    /// Whether it is an element.
    const IS_ELEMENT: bool = false;
    fn new(key: u64, with: u64) -> Self;
    fn key(self, order: Order) -> u64;
    fn with(self) -> u64;

    /// Whether it comes before one that stood behind it, or is equal to it.
    #[inline(always)]
    fn comes_first(self, behind: Self, order: Order) -> bool {
        if Self::IS_ELEMENT { self.key(order) <= behind.key(order) } else { self <= behind }
    }
}

/// An element alone.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Alone<T>(T);

impl<T: Bits> Item for Alone<T> {
    const IS_ELEMENT: bool = true;
    #[inline(always)]
    fn new(_: u64, with: u64) -> Self {
        Alone(T::narrow(with))
    }
    #[inline(always)]
    fn key(self, order: Order) -> u64 {
        order.key_of(self.0).widen()
    }
    #[inline(always)]
    fn with(self) -> u64 {
        self.0.widen()
    }
}

macro_rules! pairs { ($($t:ty, $bits:expr;)*) => { $(
    impl Item for $t {
        #[inline(always)]
        fn new(key: u64, with: u64) -> Self {
            (key as $t) << $bits | with as $t
        }
        #[inline(always)]
        fn key(self, _: Order) -> u64 {
            (self >> $bits) as u64
        }
        #[inline(always)]
        fn with(self) -> u64 {
            (self & (<$t>::MAX >> $bits)) as u64
        }
    }
)* } }
pairs! {
    u64, 32;
    u128, 64;
}

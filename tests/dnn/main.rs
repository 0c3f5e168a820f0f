//! Neural networks: the same program on every device (`WINDLASS_TEST_DEVICE`).

import numpy as np
import pytest

from likewise.byte_lanes import BYTES, add_looked_up, add_multiplied, can_look_up, no_bytes
from likewise.compiled import kernel


@kernel
def looked_up(codes, tables, sums, unit):
    """Add what each table has for the codes to 64 sums in the middle, if that can be done."""
    if not can_look_up():
        return False
    found = no_bytes()
    for table in range(len(tables) // 16):
        found = add_looked_up(found, codes, np.uintp(1), tables, np.uintp(16 * table))
    add_multiplied(sums, np.uintp(3), found, unit)
    return True


def test_codes_are_looked_up_added_and_multiplied():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, 33).astype(np.uint8)
    tables = rng.integers(0, 86, 48).astype(np.uint8)
    sums = rng.integers(0, 1000, BYTES + 6).astype(np.uint16)
    expected = sums.copy()
    if not looked_up(codes, tables, sums, np.uint16(200)):
        pytest.skip("the processor does not look up bytes in one instruction")
    order = np.concatenate([codes[1:] & 15, codes[1:] >> 4])
    more = sum(table[order].astype(np.uint16) for table in tables.reshape(3, 16))
    expected[3 : 3 + BYTES] += more * np.uint16(200)
    assert sums.tolist() == expected.tolist()

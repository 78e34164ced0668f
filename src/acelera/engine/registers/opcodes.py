"""The instructions of the register machine, as numbers."""

from __future__ import annotations

# What a value's tag says of it; a register that is forgotten is UNSET.
UNSET, VALUE, NULL, FAILED = range(4)

# What kind of numbers an instruction works on. Times are integers in the plan's unit, such as columns hold; a wide time
# is one that was computed: two numbers, in nanoseconds, so that what is computed of times never overflows.
INTEGERS, FLOATS, STRINGS, TIMES, WIDE, FLAVOURS = range(6)

# Comparisons.
EQ, NE, LT, LE, GT, GE = range(6)

(
    CONSTANT,
    INPUT,
    POSITION,
    MOMENT,
    LATEST,
    OLD,
    NEW,
    STORE,
    KEEP,
    CLEAR,
    IDENTITY,
    FOLD,
    FINISH,
    LARGEST,
    SMALLEST,
    COMMON,
    KNOWN,
    COMPARE,
    COMPARE_IF_SET,
    OR_UNSET,
    IDENTICAL,
    AND,
    OR,
    NOT,
    IS_NULL,
    NEGATE,
    ADD,
    SUBTRACT,
    MULTIPLY,
    REMAINDER,
    DIVIDE,
    TO_FLOAT,
    FLOAT_BELOW,
    ABSOLUTE,
    SQUARE_ROOT,
    COALESCE,
    COLLECT,
    REQUIRE,
    WIDEN,
    NARROW,
) = range(40)

PUSHING = frozenset({CONSTANT, INPUT, POSITION, MOMENT, LATEST, OLD, NEW, FINISH, KNOWN})
LEAVING = frozenset(
    {
        OR_UNSET,
        KEEP,
        CLEAR,
        IDENTITY,
        NOT,
        IS_NULL,
        NEGATE,
        TO_FLOAT,
        FLOAT_BELOW,
        ABSOLUTE,
        SQUARE_ROOT,
        WIDEN,
        NARROW,
    }
)
"""Instructions that make the stack larger by one, and those that leave its size as it is; all others take one off."""

_WIDTHS = {
    "count": 1,
    "sum": 1,
    "min": 1,
    "max": 1,
    "avg": 2,
    "range": 2,
    "product": 1,
    "variance": 3,
    "stddev": 3,
    "bool_and": 1,
    "bool_or": 1,
    "first": 2,
    "last": 2,
}
"""Aggregate functions that have instructions, and how many numbers the state of each is."""

AGGREGATES = tuple(_WIDTHS)
WIDTHS = tuple(_WIDTHS.values())
(COUNT, SUM, MIN, MAX, AVG, RANGE, PRODUCT, VARIANCE, STDDEV, BOOL_AND, BOOL_OR, FIRST, LAST) = range(len(AGGREGATES))

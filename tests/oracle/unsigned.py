"""Cases of unsigned integers of 16, 32 and 64 bits, which the other parts do not draw."""

from elementwise import binary_sections, cast_sections, choice_sections, unary_sections, weak_sections
from index import element_sections
from linear import exact_sections as product_sections
from oracle import WIDE_UNSIGNED
from reduce import exact_sections, order_sections, scan_sections
from shape import move_sections


def sections(rng):
    for part in (unary_sections, binary_sections, weak_sections, cast_sections, choice_sections, exact_sections, scan_sections,
                 order_sections, product_sections, element_sections, move_sections):
        yield from part(rng, WIDE_UNSIGNED)

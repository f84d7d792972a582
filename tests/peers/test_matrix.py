"""Any client at any server, as directly: by every pair of revision, transport, server and feature; with `--whole` by all of them at once,
and with `--record` into the page on revisions."""

import asyncio

import pytest

from matrix import cells, marks
from matrix.visits import Matrix


@pytest.fixture(scope="module")
def chosen(request):
    return cells.every_cell() if request.config.getoption("--whole") else cells.by_pairs()


@pytest.fixture(scope="module")
def outcomes(chosen, tmp_path_factory):
    with Matrix(tmp_path_factory.mktemp("matrix")) as matrix:
        return asyncio.run(matrix.examine(chosen))


def test_every_pair_is_there(chosen):
    pairs = [set().union(*map(cells.pairs_of, some)) for some in (chosen, cells.every_cell())]
    assert pairs[0] == pairs[1]


def test_each_cell_is_as_directly_or_has_its_reason(outcomes):
    wrong = [marks.told(outcome) for outcome in outcomes if marks.mark(outcome) is None]
    assert not wrong, "\n" + "\n".join(wrong)


def test_the_page_says_what_came_of_it(request, outcomes):
    found = marks.marks(outcomes)
    if not request.config.getoption("--whole"):
        page = marks.cells_on_page()
        other = {place: (seen, page.get(place)) for place, seen in found.items() if not seen <= page.get(place, set())}
        assert not other
        return
    table = marks.table(found)
    if request.config.getoption("--record"):
        marks.write(table)
    assert marks.on_page() == table

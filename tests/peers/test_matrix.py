"""Any client at any server, as directly: by every pair of revision, transport, server and feature; with `--whole` all there are, and
with `--record` into the page on revisions."""

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
    if request.config.getoption("--record"):
        marks.write(marks.table(found))
    page = marks.cells_on_page()
    known = {place: signs for place, signs in page.items() if signs != {marks.UNSEEN}}
    other = {place: (seen, known[place]) for place, seen in found.items() if place in known and not seen <= known[place]}
    assert known and not other

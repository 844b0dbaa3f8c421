"""Tensor images to memory words and addresses, and results back."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fuseflow.samml.errors import CapacityError, TensorError
from fuseflow.samml.image import TensorImage
from fuseflow.samml.values import BF16, FP32, INT8, INT16, ValueType
from gen import host
from gen.cells import ARRAY
from gen.manifest import manifest
from gen.plan import Plan
from tests.gen import graphs

B = TensorImage((3, 7), (None, (0, 2, 2, 5)), (None, (1, 5, 0, 2, 3)), (4, -9, 7, 1, 3))


@pytest.fixture(scope="module")
def row_sums() -> dict[str, Any]:
    return manifest(graphs.row_sums())


@pytest.fixture(scope="module")
def product() -> dict[str, Any]:
    return manifest(graphs.product(2))


def test_contents_split_segments_and_keep_raw_bits(row_sums: dict[str, Any]) -> None:
    found = host.contents(row_sums, "B", B)
    assert {name: words.tolist() for name, words in found.items()} == {
        "mem_B_seg1_even.mem.rows": [0, 2],
        "mem_B_seg1_odd.mem.rows": [2, 5],
        "mem_B_crd1.mem.rows": [1, 5, 0, 2, 3],
        "mem_B_val.mem.rows": [4, 0x1_0000_0000 - 9, 7, 1, 3],
    }


def test_back_door_and_axi_place_the_same_words(product: dict[str, Any]) -> None:
    image = TensorImage((20,), ([0, 3],), ([2, 5, 7],), [10, -20, 30])
    by_row = {
        (memory, row): word
        for memory, words in host.contents(product, "b", image).items()
        for row, word in enumerate(words.tolist())
    }
    by_address = dict(host.writes(product, "b", image))
    assert by_address.pop(product["tensors"][0]["shape"][0]) == 20
    for array in host.arrays(product, "b"):
        banks = array["banks"]
        for number in range(array["words"]):
            word = by_address.pop(array["base"] + 4 * number, None)
            for copy in banks[number % len(banks)]:
                assert by_row.pop((copy["memory"], number // len(banks)), None) == word
    assert not by_address
    assert not by_row


def test_an_image_beyond_the_capacity_is_refused(row_sums: dict[str, Any]) -> None:
    wide = TensorImage((3, 8), B.segs, B.crds, B.vals)
    with pytest.raises(CapacityError, match="mode 1 has size 8, the tile holds 7"):
        host.contents(row_sums, "B", wide)
    long = TensorImage((3, 7), (None, (0, 4, 8, 12)), (None, range(12)), range(12))
    with pytest.raises(CapacityError, match="crd1 has 12 words, the tile holds 11"):
        list(host.writes(row_sums, "B", long))


def test_an_image_of_another_format_is_refused(row_sums: dict[str, Any]) -> None:
    dense = TensorImage((3, 7), (None, None), (None, None), range(21))
    with pytest.raises(TensorError, match="no array seg1, the tile stores format ds:0,1"):
        host.contents(row_sums, "B", dense)
    with pytest.raises(TensorError, match="has rank 2, got the shape"):
        host.contents(row_sums, "B", TensorImage((3,), (None,), (None,), ()))
    with pytest.raises(TensorError, match="has no tensor 'C', only B, x"):
        host.contents(row_sums, "C", B)


def test_results_come_back(product: dict[str, Any]) -> None:
    words = host.result_words(product, "x", (20,), {"crd0": 3, "val": 3})
    assert words == {"seg0": 2, "crd0": 3, "val": 3}
    found = host.image(
        product, "x", (20,), {"seg0": [0, 3], "crd0": [1, 4, 9], "val": [7, 0xFFFF_FFFF, 1 << 31]}
    )
    assert np.asarray(found.vals).tolist() == [7, -1, -(1 << 31)]
    assert host.result_words(manifest(graphs.row_sums()), "x", (4,), {"val": 4}) == {"val": 4}


@pytest.mark.parametrize(
    ("value", "words", "stored"),
    [
        (INT8, [-1, 127, -128, 5, 0], [0xFF, 0x7F, 0x80, 5, 0]),
        (INT16, [-1, 1, 2, 3, 4], [0xFFFF, 1, 2, 3, 4]),
        (BF16, [0x8000, 0xFFFF, 0x3F80, 1, 0], [0x8000, 0xFFFF, 0x3F80, 1, 0]),
        (FP32, [0x8000_0000, 0xFFC0_0000, 1, 2, 3], [0x8000_0000, 0xFFC0_0000, 1, 2, 3]),
    ],
    ids=lambda each: each.name if isinstance(each, ValueType) else "",
)
def test_values_of_every_width(value: ValueType, words: list[int], stored: list[int]) -> None:
    description = manifest(replace(graphs.row_sums(), value=value))
    image = replace(B, vals=words)
    assert host.contents(description, "B", image)["mem_B_val.mem.rows"].tolist() == stored
    (array,) = (array for array in host.arrays(description, "B") if array["name"] == "val")
    assert array["width"] == value.bits
    written = dict(host.writes(description, "B", image))
    assert [written[array["base"] + 4 * k] for k in range(5)] == stored
    found = host.image(description, "x", (5,), {"val": stored})
    assert np.asarray(found.vals).tolist() == words


def test_the_manifest_tells_the_value_type() -> None:
    graph = replace(graphs.row_sums(), value=BF16)
    tensor = replace(graph.tensor("B"), fill=float("-inf"))
    description = manifest(replace(graph, tensors=(tensor, graph.tensor("x"))))
    assert description["value"] == {"name": "bf16", "bits": 16, "signed": False, "wide": "fp32"}
    assert [each["fill"] for each in description["tensors"]] == [0xFF80, 0]
    json.dumps(description, allow_nan=False)


def test_the_manifest_names_what_the_plan_holds(product: dict[str, Any]) -> None:
    plan = Plan.of(graphs.product(2))
    memories = {f"{memory.name}.{ARRAY}" for array in plan.arrays for memory in array.memories}
    listed = {
        copy["memory"] for array in product["arrays"] for bank in array["banks"] for copy in bank
    }
    assert memories == listed
    assert [edge["name"] for edge in product["edges"]] == [edge.name for edge in plan.units.edges]
    for edge in product["edges"]:
        token = edge["token"]
        fields = token["fields"]
        bits = token["close"]["width"] + token["empty"]["width"]
        bits += sum(field["width"] + ("null" in field) for field in fields)
        assert bits == token["width"]


def test_nothing_is_loaded_of_an_image_beyond_the_capacity(row_sums: dict[str, Any]) -> None:
    long = TensorImage((3, 7), (None, (0, 4, 8, 12)), (None, range(12)), range(12))
    with pytest.raises(CapacityError, match="crd1 has 12 words, the tile holds 11"):
        next(host.writes(row_sums, "B", long))

"""What nvidia-smi prints, in all the ways in which it says that it does not know."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.remote import probe_smi
from tests.remote import smi_text

MIB = 1 << 20


def test_an_h200_with_header_and_units() -> None:
    (row,) = probe_smi.rows(smi_text.H200_LOADED)
    assert (row["memory_used"], row["memory_total"]) == (132613 * MIB, 143771 * MIB)
    assert (row["power_w"], row["power_limit_w"], row["temperature_c"]) == (125.86, 700.0, 40.0)
    assert (row["sm_mhz"], row["sm_mhz_max"], row["memory_mhz"]) == (1980, 1980, 3201)
    assert (row["throttle"], row["mig"], row["ecc_corrected"], row["ecc_uncorrected"]) == ([], False, 0, 0)
    assert row["bus"] == "00000000:00:06.0"
    assert row["why"]["sm_active"] == "not given by nvidia-smi"


def test_our_own_query_has_neither_header_nor_units() -> None:
    text = smi_text.plain_row(0, probe_smi.FIELDS) + smi_text.plain_row(1, probe_smi.FIELDS)
    rows = probe_smi.rows(text)
    assert [row["index"] for row in rows] == [0, 1]
    assert rows[1]["memory_used"] == 132613 * MIB
    assert rows[0]["throttle"] == ["power cap"]
    assert probe_smi.driver(text) == "580.159.04"


def test_unified_memory_is_unknown_and_the_rest_is_read() -> None:
    (row,) = probe_smi.rows(smi_text.GB10)
    assert "memory_used" not in row
    assert "power_limit_w" not in row
    assert row["why"]["memory_total"] == "N/A"
    assert (row["util"], row["power_w"], row["temperature_c"]) == (0.96, 38.21, 61.0)
    holders = probe_smi.holders(smi_text.GB10_APPS)[row["uuid"]]
    assert [(holder["pid"], holder["memory"]) for holder in holders] == [(114701, 19212 * MIB), (115020, 402 * MIB)]


@pytest.mark.parametrize(
    ("text", "bus", "why"),
    zip(
        smi_text.LOST,
        ("00000000:0b:00.0", "00000000:20:00.0", "00000000:02:00.0", "00000000:ba:80.0", "00000000:b1:00.0"),
        (
            "Unknown Error",
            "Unknown Error",
            "GPU is lost.  Reboot the system to recover this GPU",
            *["Unknown Error"] * 2,
        ),
        strict=True,
    ),
)
def test_a_lost_gpu_in_every_spelling(text: str, bus: str, why: str) -> None:
    assert probe_smi.rows(text) == [{"index": -1, "uuid": "", "name": "", "bus": bus, "error": why}]


def test_a_lost_gpu_that_keeps_its_row_is_one_error() -> None:
    changes = {name.replace(".", "_"): "[GPU is lost]" for name in probe_smi._NUMBERS}
    (row,) = probe_smi.rows(smi_text.plain_row(3, probe_smi.FIELDS, **changes))
    assert row["error"] == "GPU is lost"
    assert row["index"] == 3
    assert "memory_used" not in row


@pytest.mark.parametrize(
    "cell",
    [
        "[N/A]",
        "N/A",
        "[Not Supported]",
        "Not Supported",
        "[Insufficient Permissions]",
        "[Unknown Error]",
        "ERR!",
        "[ERR!]",
        "",
    ],
)
def test_no_spelling_of_unknown_is_a_number(cell: str) -> None:
    text = smi_text.plain_row(0, probe_smi.FIELDS, power_draw=cell, utilization_gpu=cell, memory_used=cell)
    (row,) = probe_smi.rows(text)
    assert not {"power_w", "util", "memory_used"} & row.keys()
    assert row["why"]["power_w"] == cell.strip("[]") or row["why"]["power_w"] == "not given by nvidia-smi"


def test_mig_says_why_utilisation_is_missing() -> None:
    text = smi_text.plain_row(0, probe_smi.FIELDS, mig_mode_current="Enabled", utilization_gpu="[N/A]")
    (row,) = probe_smi.rows(text)
    assert row["mig"] is True
    assert row["why"]["util"] == "not counted while MIG is on"


def test_a_process_that_is_not_there_has_no_name() -> None:
    (holder,) = probe_smi.holders(smi_text.UNKNOWN_PID)[""]
    assert holder == {"pid": 31794, "name": "", "memory": 10151 * MIB, "unit": None}


def test_processes_with_header_units_commas_and_unknown_memory() -> None:
    text = smi_text.H200_APPS + "GPU-1, 5, /opt/a, b/python, [N/A]\nGPU-1, [N/A], x, 3 MiB\n"
    found = probe_smi.holders(text)
    (core,) = found["GPU-00000000-0000-0000-0000-000000000000"]
    assert (core["pid"], core["name"], core["memory"]) == (2774, "VLLM::EngineCore", 132604 * MIB)
    assert found["GPU-1"] == [{"pid": 5, "name": "/opt/a, b/python", "memory": None, "unit": None}]


def test_failures_are_told_apart() -> None:
    assert probe_smi.failure(smi_text.NO_DRIVER) == "the NVIDIA driver is not loaded"
    assert "580.178" in str(probe_smi.failure(smi_text.MISMATCH))
    assert "reboot" in str(probe_smi.failure(smi_text.MISMATCH))
    assert probe_smi.failure("No devices were found\n") == "the driver sees no GPU"
    assert probe_smi.failure(smi_text.H200_LOADED) is None


def test_a_field_unknown_to_the_driver_is_left_out_or_spelt_otherwise() -> None:
    field = probe_smi.unknown_field(smi_text.UNKNOWN_FIELD.format("clocks_throttle_reasons.active"))
    assert field == "clocks_throttle_reasons.active"
    other = probe_smi.without(probe_smi.FIELDS, field)
    assert "clocks_event_reasons.active" in other
    assert len(other) == len(probe_smi.FIELDS)
    assert len(probe_smi.without(other, "clocks_event_reasons.active")) == len(other) - 1
    assert "mig.mode.current" not in probe_smi.without(probe_smi.FIELDS, "mig.mode.current")
    assert probe_smi.unknown_field(smi_text.H200_LOADED) is None


@pytest.mark.parametrize("cell", ["²", "٣", "9" * 400, "0xzz", "1e999", "nan", "inf", "-", "1.2.3"])
def test_what_only_looks_like_a_number_is_unknown(cell: str) -> None:
    _, rest = smi_text.plain_row(0, probe_smi.FIELDS).split(",", 1)
    text = f"{cell},{rest}".replace("125.86", cell).replace("0x0000000000000004", cell)
    (row,) = probe_smi.rows(text)
    assert not {"power_w", "throttle"} & row.keys()


@given(st.text(max_size=400))
def test_no_text_is_too_strange(text: str) -> None:
    for row in probe_smi.rows(text):
        assert {"index", "uuid", "name"} <= row.keys()
    probe_smi.holders(text)
    probe_smi.failure(text)
    probe_smi.unknown_field(text)
    probe_smi.driver(text)


@given(
    st.lists(
        st.text(st.characters(exclude_characters=",\n\r", exclude_categories=["C", "Z"]), max_size=12),
        min_size=21,
        max_size=21,
    )
)
def test_no_cells_are_too_strange(cells: list[str]) -> None:
    for row in probe_smi.rows(", ".join(cells)):
        numbers = {name: value for name, value in row.items() if isinstance(value, (int, float)) and name != "index"}
        assert not numbers.keys() & row.get("why", {}).keys()

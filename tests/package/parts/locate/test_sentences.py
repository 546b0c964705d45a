"""Sentences name the suspect, count the measurements across it, and suggest the next one."""

from __future__ import annotations

import json

from plumbline.parts.locate.document import document, explanations
from plumbline.parts.locate.next_probe import Candidates, next_probe
from plumbline.parts.locate.sentences import HEADERS, listed, remarks, rows, sentence, summary
from plumbline.parts.locate.suspects import Located, locate
from tests.package.parts.locate.scenes import (
    LAB,
    REDSTORM,
    LaneRates,
    Scene,
    both,
    made,
    observation,
    rate,
)


def sentences(scene: Scene, remaining: LaneRates, *silent: str) -> list[str]:
    """Return the sentences on the suspects of some losses."""
    return described(scene, scene.locate(remaining, silent))


def described(scene: Scene, located: Located) -> list[str]:
    """Return the sentences on all ambiguity sets, with what to measure next."""
    texts = []
    for ambiguity in located.sets:
        slow = [located.observations[index].of.component for index in ambiguity.explains]
        names = [suspect.name for suspect in ambiguity.suspects]
        candidates = scene.candidates.crossing(names, slow)
        probe = None if ambiguity.certain else next_probe(located, ambiguity, candidates)
        texts.append(sentence(located, ambiguity, scene.plan.parts, probe))
    return texts


def test_a_certain_suspect_is_shown_with_its_evidence() -> None:
    assert sentences(REDSTORM, {"ddn01a-data": both(150e6)}) == [
        "Suspect: channel ddn01a-data (4 of 4 slow targets cross it, 316 healthy ones do not). "
        "Reads get 150.0 MB/s of 200.0 MB/s (rated 800.0 MB/s), "
        "writes get 150.0 MB/s of 200.0 MB/s (rated 800.0 MB/s). "
        "Raw reads 75 % of what is expected, targets 75 % of what is expected."
    ]


def test_ambiguous_suspects_come_with_the_measurement_that_divides_them() -> None:
    (text,) = sentences(LAB, {"oss2-disk1": both(80e6)}, "raw")
    assert text == (
        "Suspects, ambiguous: disk oss2-disk1 or target scratch-OST0002 "
        "(1 of 1 slow target crosses them, 5 healthy ones do not). "
        "Reads get 80.0 MB/s of 119.6 MB/s, writes get 80.0 MB/s of 119.6 MB/s. "
        "Targets 67 % of what is expected. "
        "Next: a raw read of oss2-disk1 on oss2 (if it is at 40 % of what is expected, "
        "disk oss2-disk1; if it is fine, target scratch-OST0002)."
    )


def test_a_measurement_from_before_the_loss_is_no_evidence_and_is_next() -> None:
    faults, before, begun, now = {"oss2-disk1": both(80e6)}, 1000.0, 2000.0, 3000.0
    observations = [
        observation(of, of.expected, at=before)
        if of.layer == "raw"
        else observation(of, rate(of, faults), at=now, since=begun)
        for of in LAB.measurables
    ]
    (text,) = described(LAB, locate(observations))
    assert "Raw reads last measured before the loss, targets 67 % of what is expected." in text
    assert "Next: a raw read of oss2-disk1 on oss2 (" in text
    later = [item._replace(at=now) if item.of.layer == "raw" else item for item in observations]
    (text,) = described(LAB, locate(later))
    assert text.startswith("Suspect: target scratch-OST0002")


def test_healthy_layers_are_named() -> None:
    (text,) = sentences(LAB, {"oss3-nic": both(100e6)})
    assert "2 of 2 slow targets cross it, 4 healthy ones do not" in text
    assert "Network 84 % of what is expected, targets 84 % of what is expected." in text
    (text,) = sentences(LAB, {"scratch-OST0002": both(60e6)})
    assert "target scratch-OST0002" in text


def test_two_faults_are_two_sentences() -> None:
    texts = sentences(LAB, {"oss2-disk1": both(80e6), "oss3-nic": both(25e6)})
    assert [line.partition(" (")[0] for line in texts] == [
        "Suspect: nic oss3-nic",
        "Suspect: disk oss2-disk1",
    ]


def test_suspects_that_no_measurement_divides_are_marked() -> None:
    (text,) = sentences(LAB, {"client1-nic": both(25e6)})
    assert text.endswith("No further measurement at this site can tell them apart.")


def test_sets_of_several_parts_are_shown_as_sets() -> None:
    located = locate([made("ost 1", "a b", 80), made("ost 2", "b c", 80), made("ost 3", "a c", 80)])
    text = sentence(located, located.sets[0], {})
    assert text.startswith("Suspects, ambiguous: a and b or a and c or b and c")


def test_unexplained_losses_are_named() -> None:
    observations = [made("net ab", "a sw b", 80), made("net ac", "a sw c", 200)]
    located = locate([*observations, made("net bc", "b sw c", 200)])
    (remark,) = remarks(located, {})
    assert remark.startswith("Not explained by any component: net ab;")
    assert list(remarks(locate([]), {})) == []


def test_a_server_with_equally_slow_disks_is_the_suspect() -> None:
    assert sentences(LAB, {f"oss2-disk{number}": both(80e6) for number in (1, 2)}) == [
        "Suspect: server oss2 (both of its disks run at 40 % of their expected rate). "
        "Reads get 80.0 MB/s of 200.0 MB/s each, writes get 80.0 MB/s of 119.6 MB/s each. "
        "Raw reads 40 % of what is expected, network fine, targets 67 % of what is expected. "
        "Less likely: two faults at once that happen to be alike, disk oss2-disk1 and disk "
        "oss2-disk2. Next: look at what its disks share: cache mode (write-through), battery, "
        "firmware, cabling, power saving."
    ]


def test_all_parts_shared_by_equally_slow_devices_are_named() -> None:
    (text,) = sentences(REDSTORM, {f"ddn01{letter}-lun1": both(80e6) for letter in "ab"})
    assert text.startswith(
        "Suspects, ambiguous: server oss001 or hba oss001-hba "
        "(both of their disks run at 40 % of their expected rate)."
    )
    assert "two faults at once that happen to be alike, such as port ddn01a-fc1 and port" in text


def test_devices_that_could_not_be_judged_are_not_counted() -> None:
    located = LAB.locate({f"oss2-disk{number}": both(80e6) for number in (1, 2)})
    (ambiguity,) = located.sets
    alone = ambiguity.suspects[0]._replace(alike=("oss2-disk1",))
    text = sentence(
        located, ambiguity._replace(suspects=(alone, *ambiguity.suspects[1:])), LAB.plan.parts
    )
    assert "(all 1 of its 2 disks that could be judged run at 40 % of" in text


def test_with_symptoms_of_the_devices_the_two_faults_come_first() -> None:
    located = LAB.locate({f"oss2-disk{number}": both(80e6) for number in (1, 2)})
    (ambiguity,) = located.sets
    turned = ambiguity._replace(alternatives=ambiguity.alternatives[::-1])
    text = sentence(located, turned, LAB.plan.parts)
    assert text.startswith(
        "Suspects, ambiguous: disk oss2-disk1 and disk oss2-disk2 or server oss2"
    )


def test_a_host_with_unequally_slow_devices_has_a_remark() -> None:
    parts = LAB.plan.parts
    slow = {"oss2-disk1": both(80e6), "oss2-disk2": both(40e6)}
    (remark,) = remarks(LAB.locate(slow), parts)
    assert remark.startswith("All 2 devices of server oss2 are slow: look first at what they share")
    assert list(remarks(LAB.locate({"oss2-disk1": both(80e6)}), parts)) == []
    assert list(remarks(LAB.locate({f"oss2-disk{n}": both(80e6) for n in (1, 2)}), parts)) == []
    assert list(remarks(LAB.locate({"oss2": both(25e6)}), parts)) == []


def test_the_table_has_slow_measurements_and_good_ones_across_a_suspect() -> None:
    votes = [made("ost a", "port a", 100), made("ost b", "port b", 90, 90), made("ost c", "c", 200)]
    located = locate(votes, equal=100.0)
    table = list(rows(located, located.sets[0]))
    assert all(len(row) == len(HEADERS) for row in table)
    assert [row[:5] for row in table] == [
        ("bad", "ost a", "100.0 MB/s", "200.0 MB/s", "50 %"),
        ("good", "ost b", "90.0 MB/s", "90.0 MB/s", "100 %"),
    ]


def test_long_lists_are_cut() -> None:
    assert listed(["a", "b"], " or ") == "a or b"
    assert listed([f"t{n}" for n in range(9)], ", ") == "t0, t1, t2, t3, 5 more"


def test_the_summary_counts_votes_and_names_a_search_cut_short() -> None:
    located = LAB.locate({"oss2-disk1": both(80e6)})
    text = "4 slow, 44 good, 0 inconclusive measurements"
    assert summary(located) == f"{text}."
    assert summary(located._replace(complete=False)).startswith(f"{text}; the search was cut")


def shape(located: Located) -> dict[str, object]:
    raw: dict[str, object] = json.loads(
        json.dumps(document(located, LAB.plan.parts, [None] * len(located.sets)), allow_nan=False)
    )
    return raw


def test_the_document_has_suspects_slow_measurements_and_explanations() -> None:
    located = LAB.locate({"oss2-disk1": both(80e6), "oss3-nic": both(25e6)})
    raw = document(located, LAB.plan.parts, [None, None])
    assert raw["schema"] == 1
    assert raw["complete"] is True
    assert raw["votes"] == {"bad": 20, "good": 28, "does not vote": 0}
    nic, disk = raw["sets"]
    assert nic["alternatives"] == [["oss3-nic"]]
    assert disk["suspects"][0]["kind"] == "disk"
    assert disk["certain"] is True
    assert {item["name"] for item in disk["slow"]} == {
        "ost scratch-OST0002 read",
        "ost scratch-OST0002 write",
        "raw oss2-disk1 read",
        "raw oss2-disk1 read together",
    }
    explained = {(item["layer"], item["component"]): item["set"] for item in raw["explained"]}
    assert explained["ost", "scratch-OST0005"] == 0
    assert explained["net", "client1"] == 0
    assert explained["raw", "oss2-disk1"] == 1
    assert raw["unexplained"] == []
    assert raw["remarks"] == []


def test_the_document_has_the_next_measurement() -> None:
    located = LAB.locate({"oss2-disk1": both(80e6)}, ("raw",))
    (ambiguity,) = located.sets
    names = [suspect.name for suspect in ambiguity.suspects]
    probe = next_probe(located, ambiguity, Candidates(LAB.plan.expectations).crossing(names, ()))
    raw = json.loads(json.dumps(document(located, {}, [probe]), allow_nan=False))
    assert raw["sets"][0]["next"]["kind"] == "raw_read"
    assert raw["sets"][0]["next"]["node"] == "oss2"
    assert raw["sets"][0]["next"]["outcomes"][1] == {
        "ratio": 1.0,
        "alternatives": [["scratch-OST0002"]],
    }
    assert raw["sets"][0]["suspects"][0]["kind"] is None


def test_a_slow_component_is_explained_by_the_larger_set() -> None:
    located = LAB.locate({"oss2-disk1": both(80e6), "oss2-nic": both(100e6)})
    explained = explanations(located)
    assert explained["ost", "scratch-OST0003"].alternatives == (("oss2-nic",),)
    assert explained["raw", "oss2-disk1"].alternatives == (("oss2-disk1",),)
    assert ("ost", "scratch-OST0000") not in explained


def test_a_document_without_suspects_is_valid() -> None:
    assert shape(locate([]))["sets"] == []

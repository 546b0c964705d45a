"""A sentence names the part, counts the measurements across it, and asks for the next one."""

from __future__ import annotations

import json

from plumbline.locate.document import document, explanations
from plumbline.locate.next_probe import Candidates, next_probe
from plumbline.locate.sentences import HEADERS, listed, remarks, rows, sentence, summary
from plumbline.locate.suspects import Located, locate
from tests.package.locate.scenes import Left, Scene, both, lab, made, redstorm

LAB = Scene(lab())
REDSTORM = redstorm()


def said(scene: Scene, left: Left, *silent: str) -> list[str]:
    """Return the sentences on all ambiguity sets, with what to measure next."""
    located = scene.locate(left, silent)
    found = []
    for one in located.sets:
        slow = [located.observations[index].of.component for index in one.explains]
        names = [suspect.name for suspect in one.suspects]
        candidates = scene.candidates.crossing(names, slow)
        probe = None if one.certain else next_probe(located, one, candidates)
        found.append(sentence(located, one, scene.plan.parts, probe))
    return found


def test_a_certain_suspect_is_said_with_its_evidence() -> None:
    assert said(REDSTORM, {"ddn01a-data": both(150e6)}) == [
        "Suspect: channel ddn01a-data (4 of 4 slow targets cross it, 316 healthy ones do not). "
        "Reads get 150.0 MB/s of 200.0 MB/s (rated 800.0 MB/s), "
        "writes get 150.0 MB/s of 200.0 MB/s (rated 800.0 MB/s). "
        "Raw reads 75 % of what is expected, targets 75 % of what is expected."
    ]


def test_suspects_that_cannot_be_told_apart_come_with_what_would_divide_them() -> None:
    (found,) = said(LAB, {"oss2-disk1": both(80e6)}, "raw")
    assert found == (
        "Suspects, ambiguous: disk oss2-disk1 or target scratch-OST0002 "
        "(1 of 1 slow target crosses them, 5 healthy ones do not). "
        "Reads get 80.0 MB/s of 119.6 MB/s, writes get 80.0 MB/s of 119.6 MB/s. "
        "Targets 67 % of what is expected. "
        "Next: a raw read of oss2-disk1 on oss2 (if it is at 40 % of what is expected, "
        "disk oss2-disk1; if it is fine, target scratch-OST0002)."
    )


def test_a_layer_that_is_fine_is_said_to_be() -> None:
    (found,) = said(LAB, {"oss3-nic": both(100e6)})
    assert "2 of 2 slow targets cross it, 4 healthy ones do not" in found
    assert "Network 84 % of what is expected, targets 84 % of what is expected." in found
    (found,) = said(LAB, {"scratch-OST0002": both(60e6)})
    assert "target scratch-OST0002" in found


def test_two_faults_are_two_sentences() -> None:
    found = said(LAB, {"oss2-disk1": both(80e6), "oss3-nic": both(25e6)})
    assert [one.partition(" (")[0] for one in found] == [
        "Suspect: nic oss3-nic",
        "Suspect: disk oss2-disk1",
    ]


def test_nothing_to_divide_them_is_said() -> None:
    (found,) = said(LAB, {"client1-nic": both(25e6)})
    assert found.endswith("No measurement of this site would divide them.")


def test_sets_of_several_parts_are_said_as_sets() -> None:
    located = locate([made("ost 1", "a b", 80), made("ost 2", "b c", 80), made("ost 3", "a c", 80)])
    text = sentence(located, located.sets[0], {})
    assert text.startswith("Suspects, ambiguous: a and b or a and c or b and c")


def test_what_nothing_explains_is_said() -> None:
    seen = [made("net ab", "a sw b", 80), made("net ac", "a sw c", 200)]
    located = locate([*seen, made("net bc", "b sw c", 200)])
    (remark,) = remarks(located, {})
    assert remark.startswith("Not explained by any component: net ab;")
    assert list(remarks(locate([]), {})) == []


def test_a_server_all_of_whose_disks_are_slow_alike_is_the_suspect() -> None:
    assert said(LAB, {f"oss2-disk{one}": both(80e6) for one in (1, 2)}) == [
        "Suspect: server oss2 (all 2 of its 2 disks are slow alike, at 40 % of what is expected). "
        "Reads get 80.0 MB/s of 200.0 MB/s each, writes get 80.0 MB/s of 119.6 MB/s each. "
        "Raw reads 40 % of what is expected, network fine, targets 67 % of what is expected. "
        "Less likely: two faults at once that happen to be alike, disk oss2-disk1 and disk "
        "oss2-disk2. Next: look at what its disks share: cache mode (write-through), battery, "
        "firmware, cabling, power saving."
    ]


def test_of_parts_that_may_slow_their_devices_alike_each_is_named() -> None:
    (found,) = said(REDSTORM, {f"ddn01{one}-lun1": both(80e6) for one in "ab"})
    assert found.startswith(
        "Suspects, ambiguous: server oss001 or hba oss001-hba "
        "(all 2 of their 2 disks are slow alike, at 40 % of what is expected)."
    )
    assert "two faults at once that happen to be alike, such as port ddn01a-fc1 and port" in found


def test_devices_that_could_not_be_judged_are_told_from_all() -> None:
    located = LAB.locate({f"oss2-disk{one}": both(80e6) for one in (1, 2)})
    (one,) = located.sets
    alone = one.suspects[0]._replace(alike=("oss2-disk1",))
    text = sentence(located, one._replace(suspects=(alone, *one.suspects[1:])), LAB.plan.parts)
    assert "(all 1 of its 2 disks that could be judged are slow alike" in text


def test_symptoms_of_the_devices_bring_the_two_faults_to_the_front() -> None:
    located = LAB.locate({f"oss2-disk{one}": both(80e6) for one in (1, 2)})
    (one,) = located.sets
    turned = one._replace(alternatives=one.alternatives[::-1])
    text = sentence(located, turned, LAB.plan.parts)
    assert text.startswith(
        "Suspects, ambiguous: disk oss2-disk1 and disk oss2-disk2 or server oss2"
    )


def test_a_host_with_slow_devices_alone_is_named_with_what_they_may_share() -> None:
    parts = LAB.plan.parts
    slow = {"oss2-disk1": both(80e6), "oss2-disk2": both(40e6)}
    (remark,) = remarks(LAB.locate(slow), parts)
    assert remark.startswith("All 2 devices of server oss2 are slow: look first at what they share")
    assert list(remarks(LAB.locate({"oss2-disk1": both(80e6)}), parts)) == []
    assert list(remarks(LAB.locate({f"oss2-disk{n}": both(80e6) for n in (1, 2)}), parts)) == []
    assert list(remarks(LAB.locate({"oss2": both(25e6)}), parts)) == []


def test_the_table_has_the_slow_ones_and_the_good_ones_that_cross_a_suspect() -> None:
    seen = [made("ost a", "port a", 100), made("ost b", "port b", 90, 90), made("ost c", "c", 200)]
    located = locate(seen, equal=100.0)
    table = list(rows(located, located.sets[0]))
    assert all(len(row) == len(HEADERS) for row in table)
    assert [row[:5] for row in table] == [
        ("bad", "ost a", "100.0 MB/s", "200.0 MB/s", "50 %"),
        ("good", "ost b", "90.0 MB/s", "90.0 MB/s", "100 %"),
    ]


def test_long_lists_are_cut() -> None:
    assert listed(["a", "b"], " or ") == "a or b"
    assert listed([f"t{n}" for n in range(9)], ", ") == "t0, t1, t2, t3, 5 more"


def test_the_summary_counts_votes_and_admits_a_search_cut_short() -> None:
    located = LAB.locate({"oss2-disk1": both(80e6)})
    text = "4 slow and 44 good measurements, 0 that speak neither for nor against a part"
    assert summary(located) == f"{text}."
    assert summary(located._replace(complete=False)).startswith(f"{text}; the search was cut")


def shape(located: Located) -> dict[str, object]:
    found: dict[str, object] = json.loads(
        json.dumps(document(located, LAB.plan.parts, [None] * len(located.sets)), allow_nan=False)
    )
    return found


def test_the_document_names_suspects_slow_ones_and_who_is_explained_by_which_set() -> None:
    located = LAB.locate({"oss2-disk1": both(80e6), "oss3-nic": both(25e6)})
    raw = document(located, LAB.plan.parts, [None, None])
    assert raw["schema"] == 1
    assert raw["complete"] is True
    assert raw["votes"] == {"bad": 20, "good": 28, "does not vote": 0}
    nic, disk = raw["sets"]
    assert nic["alternatives"] == [["oss3-nic"]]
    assert disk["suspects"][0]["kind"] == "disk"
    assert disk["certain"] is True
    assert {one["name"] for one in disk["slow"]} == {
        "ost scratch-OST0002 read",
        "ost scratch-OST0002 write",
        "raw oss2-disk1 read",
        "raw oss2-disk1 read together",
    }
    explained = {(one["layer"], one["component"]): one["set"] for one in raw["explained"]}
    assert explained["ost", "scratch-OST0005"] == 0
    assert explained["net", "client1"] == 0
    assert explained["raw", "oss2-disk1"] == 1
    assert raw["unexplained"] == []
    assert raw["remarks"] == []


def test_the_document_has_the_next_measurement() -> None:
    located = LAB.locate({"oss2-disk1": both(80e6)}, ("raw",))
    (one,) = located.sets
    names = [suspect.name for suspect in one.suspects]
    probe = next_probe(located, one, Candidates(LAB.plan.expectations).crossing(names, ()))
    raw = json.loads(json.dumps(document(located, {}, [probe]), allow_nan=False))
    assert raw["sets"][0]["next"]["kind"] == "raw_read"
    assert raw["sets"][0]["next"]["node"] == "oss2"
    assert raw["sets"][0]["next"]["outcomes"][1] == {
        "ratio": 1.0,
        "alternatives": [["scratch-OST0002"]],
    }
    assert raw["sets"][0]["suspects"][0]["kind"] is None


def test_a_slow_component_is_explained_by_the_set_that_explains_most() -> None:
    located = LAB.locate({"oss2-disk1": both(80e6), "oss2-nic": both(100e6)})
    found = explanations(located)
    assert found["ost", "scratch-OST0003"].alternatives == (("oss2-nic",),)
    assert found["raw", "oss2-disk1"].alternatives == (("oss2-disk1",),)
    assert ("ost", "scratch-OST0000") not in found


def test_an_empty_document_is_a_document() -> None:
    assert shape(locate([]))["sets"] == []

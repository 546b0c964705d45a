"""Suspects in sentences and tables, with advice and symptoms.

Symptoms never add or remove a suspect: only measurements do.
"""

from __future__ import annotations

from typing import Iterable, Iterator, Mapping, Optional, Sequence

from plumbline.model.layers import BY_DEPTH, LAYERS
from plumbline.model.service import SitePart
from plumbline.model.symptom import Suspicion, Symptom, phrase, suspicion
from plumbline.model.units import format_rate
from plumbline.parts.locate.next_probe import NextProbe, Outcome
from plumbline.parts.locate.observation import NETWORK, Observation, Vote
from plumbline.parts.locate.parts import device_of
from plumbline.parts.locate.suspects import AmbiguitySet, Located, Loss, Suspect

_WEIGHTS = {Suspicion.RAISED: -1, Suspicion.NONE: 0, Suspicion.LOWERED: 1}


def ordered(located: Located, symptoms: Sequence[Symptom]) -> Located:
    """Return the same sets, each with the alternatives first that symptoms incriminate.

    An alternative of several components counts with their mean, so that its length is no advantage.
    """
    return located._replace(
        sets=tuple(_ordered(ambiguity_set, symptoms) for ambiguity_set in located.sets)
    )


def _ordered(ambiguity: AmbiguitySet, symptoms: Sequence[Symptom]) -> AmbiguitySet:
    weights = {
        suspect.name: _WEIGHTS[suspicion(suspect.name, symptoms)] for suspect in ambiguity.suspects
    }
    alternatives = sorted(
        ambiguity.alternatives, key=lambda names: sum(weights[name] for name in names) / len(names)
    )
    suspects = sorted(ambiguity.suspects, key=lambda suspect: weights[suspect.name])
    return ambiguity._replace(alternatives=tuple(alternatives), suspects=tuple(suspects))


def quoted(ambiguity: AmbiguitySet, parts: Parts, symptoms: Sequence[Symptom]) -> str:
    """Return the symptoms of each suspect for the end of a sentence, empty without any.

    For example `` Symptoms of disk oss2-disk1: kernel: I/O errors of sdb (14 times).``
    """
    phrases = [(suspect.name, phrase(suspect.name, symptoms)[2:]) for suspect in ambiguity.suspects]
    texts = [f" Symptoms of {titled(name, parts)}: {text}." for name, text in phrases if text]
    return "".join(texts)


Parts = Mapping[str, SitePart]

HEADERS = ("vote", "measurement", "measured", "expected", "share", "crosses", "verdict")

_MAX_NAMED = 4
_FINE_RATIO = 0.97


def sentence(
    located: Located, ambiguity: AmbiguitySet, parts: Parts, probe: Optional[NextProbe] = None
) -> str:
    """Return e.g. ``Suspect: controller ddn03-b (3 of 3 slow targets cross it, ...). ...``."""
    choices = headline(ambiguity)
    named = [joined(choice, parts) for choice in choices]
    if len(choices) == 1:
        begin = f"Suspect{'s' if len(choices[0]) > 1 else ''}: {named[0]}"
    else:
        begin = f"Suspects, ambiguous: {listed(named, ' or ')}"
    alike = _alike(ambiguity)
    tally = _alike_tally(located, alike, parts) if alike else _tally(located, ambiguity)
    lines = [f"{begin} ({tally})."]
    lines += _loss_lines(alike or ambiguity.suspects, ambiguity, parts)
    layers = _layer_text(located, ambiguity)
    if layers:
        lines.append(f"{layers[0].upper()}{layers[1:]}.")
    return " ".join([*lines, *_ending(ambiguity, parts, probe)])


def headline(ambiguity: AmbiguitySet) -> tuple[tuple[str, ...], ...]:
    """Return the alternatives to name first: all, or those that slow their devices by one share."""
    shared = {suspect.name for suspect in _alike(ambiguity)}
    return tuple(
        alternative
        for alternative in ambiguity.alternatives
        if not shared or shared.issuperset(alternative)
    )


def title(ambiguity: AmbiguitySet) -> str:
    """Return the names of the suspects to look at first, such as ``a and b or c``."""
    return listed([" and ".join(names) for names in headline(ambiguity)], " or ")


def _alike(ambiguity: AmbiguitySet) -> tuple[Suspect, ...]:
    """Return the suspects that slow their devices by one share, empty if others come first."""
    suspects = tuple(suspect for suspect in ambiguity.suspects if suspect.alike)
    first = ambiguity.alternatives[0]
    return suspects if {suspect.name for suspect in suspects}.issuperset(first) else ()


def joined(names: Sequence[str], parts: Parts) -> str:
    """Return the kinds and names of components that are slow together."""
    return " and ".join(titled(name, parts) for name in names)


def _ending(ambiguity: AmbiguitySet, parts: Parts, probe: Optional[NextProbe]) -> Iterator[str]:
    """Yield the less likely suspects, and the next measurement."""
    alike, first = _alike(ambiguity), headline(ambiguity)
    pairs = [alternative for alternative in ambiguity.alternatives if alternative not in first]
    if pairs:
        such = "" if len(pairs) == 1 else "such as "
        faults = f"{such}{joined(pairs[0], parts)}"
        yield f"Less likely: two faults at once that happen to be alike, {faults}."
    if probe:
        yield f"Next: {probe_text(probe, parts)}."
    elif alike:
        yield f"Next: look at what its {_devices_of(alike[0], parts)} share: {_SHARED_CAUSES}."
    elif not ambiguity.certain:
        yield "No further measurement at this site can tell them apart."


_SHARED_CAUSES = "cache mode (write-through), battery, firmware, cabling, power saving"


_BOTH = 2


def _alike_tally(located: Located, alike: Sequence[Suspect], parts: Parts) -> str:
    """Return e.g. ``both of its disks run at 40 % of their expected rate``."""
    suspect = alike[0]
    behind = {
        device_of(observation.of)
        for observation in located.observations
        if suspect.name in observation.of.path[:-1]
    } - {None, suspect.name}
    slow, measured = len(suspect.alike), len(behind | set(suspect.alike))
    whose, what = "its" if len(alike) == 1 else "their", _devices_of(suspect, parts)
    counted = "both" if slow == _BOTH else f"all {slow}"
    if slow < measured:
        counted += f" of {whose} {measured} {what} that could be judged"
    else:
        counted += f" of {whose} {what}"
    lanes = [loss for loss in suspect.losses if not loss.lane.startswith(NETWORK)]
    share = min(loss.left_Bps / loss.needed_Bps for loss in lanes)
    return f"{counted} run at {100 * share:.0f} % of their expected rate"


def _devices_of(suspect: Suspect, parts: Parts) -> str:
    kinds = {parts[name].kind if name in parts else "device" for name in suspect.alike}
    return f"{kinds.pop()}s" if len(kinds) == 1 else "devices"


def titled(name: str, parts: Parts) -> str:
    """Return kind and name of a component, the name alone if the kind is unknown."""
    part = parts.get(name)
    return f"{part.kind} {name}" if part else name


def probe_text(probe: NextProbe, parts: Parts) -> str:
    """Return a measurement and the meaning of each of its outcomes."""
    meanings = "; ".join(_meaning(outcome, parts) for outcome in probe.outcomes)
    return f"{probe.candidate.words} ({meanings})"


def remarks(located: Located, parts: Parts) -> Iterator[str]:
    """Yield remarks on the suspects: their common parts, and unexplained measurements."""
    yield from _shared_host(located, parts)
    names = [located.observations[index].of.name for index in located.unexplained]
    if names:
        yield (
            f"Not explained by any component: {listed(names, ', ')}; everything that they cross is "
            "fast in other measurements. Measure them again, and look at what they alone use."
        )


def _shared_host(located: Located, parts: Parts) -> Iterator[str]:
    """Yield hosts whose devices are all slow, with a suspect each.

    Two faults at once are rare compared with one adapter or shelf missing in the topology.
    """
    accused = {
        located.observations[index].of.name: ambiguity_set.alternatives
        for ambiguity_set in located.sets
        for index in ambiguity_set.explains
    }
    hosts: dict[str, dict[str, object]] = {}
    for observation in located.observations:
        if (
            LAYERS[observation.of.layer].on_devices
            and observation.vote is not Vote.NONE
            and observation.of.node in parts
        ):
            suspects = accused.get(observation.of.name)
            hosts.setdefault(observation.of.node, {}).setdefault(observation.of.component, suspects)
    for host, devices in hosts.items():
        if None not in devices.values() and len(set(devices.values())) > 1:
            yield (
                f"All {len(devices)} devices of {titled(host, parts)} are slow: look first at what "
                "they share there, such as an adapter, a shelf, power or a setting."
            )


def summary(located: Located) -> str:
    """Return the number of votes, and whether the search was cut short."""
    votes = [observation.vote for observation in located.observations]
    text = (
        f"{votes.count(Vote.BAD)} slow, {votes.count(Vote.GOOD)} good, "
        f"{votes.count(Vote.NONE)} inconclusive measurements"
    )
    if not located.complete:
        text += "; the search was cut short: other or fewer components may explain it too"
    return f"{text}."


def listed(names: Sequence[str], joint: str) -> str:
    """Return the first names, and the number of further ones."""
    if len(names) <= _MAX_NAMED + 1:
        return joint.join(names)
    return joint.join([*names[:_MAX_NAMED], f"{len(names) - _MAX_NAMED} more"])


def rows(located: Located, ambiguity: AmbiguitySet) -> Iterator[tuple[str, ...]]:
    """Yield the evidence on an ambiguity set as rows under ``HEADERS``, the slow ones first.

    Good measurements that cross a suspect without being slowed follow.
    """
    suspects = {suspect.name for suspect in ambiguity.suspects}
    passes = {index for suspect in ambiguity.suspects for index in suspect.passes}
    passes -= set(ambiguity.explains)
    for index in (*ambiguity.explains, *sorted(passes)):
        observation = located.observations[index]
        crossed = [name for name in observation.of.path if name in suspects]
        yield (
            observation.vote.value,
            observation.of.name,
            *_figures(observation),
            listed(crossed, ", "),
            observation.reason,
        )


def _figures(observation: Observation) -> tuple[str, str, str]:
    if not observation.of.is_rate:
        return "", "", ""
    share = f"{100 * observation.ratio:.0f} %"
    return format_rate(observation.measured), format_rate(observation.of.expected), share


def _tally(located: Located, ambiguity: AmbiguitySet) -> str:
    """Return how many slow and healthy components, or pairs of these, cross the suspects.

    Those of the main layer count, and if the suspects differ, those that cross any of them.  What
    was measured before the fault does not.
    """
    explained = [located.observations[index] for index in ambiguity.explains]
    layer, begun = _main_layer(explained), _begun(explained)
    suspects = {suspect.name for suspect in ambiguity.suspects}
    slow: dict[frozenset[str], bool] = {}
    healthy: dict[frozenset[str], bool] = {}
    for observation in located.observations:
        votes = observation.vote is not Vote.NONE and observation.at >= begun
        if observation.of.layer == layer and votes:
            side = slow if observation.vote is Vote.BAD else healthy
            crosses = not suspects.isdisjoint(observation.of.path)
            # a pair is the same one, whichever of its hosts measured it
            name = frozenset((observation.of.component, observation.of.partner))
            side[name] = side.get(name, False) or crosses
    fine = [crosses for name, crosses in healthy.items() if name not in slow]
    noun, rest = LAYERS[layer].noun, ""
    if LAYERS[layer].paired:
        noun, rest = "pair", f" of {noun}s"
    them = "it" if len(suspects) == 1 else "them"
    crossing = sum(slow.values())
    what = f"{noun}{'s' * (len(slow) != 1)}{rest}"
    if any(located.observations[index].of.is_rate for index in ambiguity.explains):
        what = f"slow {what}"
    else:
        what += f" that lose{'s' * (len(slow) == 1)} segments"
    text = f"{crossing} of {len(slow)} {what} {'crosses' if len(slow) == 1 else 'cross'} {them}"
    if len(fine) - sum(fine):
        text += f", {_counted(len(fine) - sum(fine))} not"
    if sum(fine):
        text += f", {_counted(sum(fine))} and need less than what is left"
    return text


def _begun(explained: Iterable[Observation]) -> float:
    """Return when a loss began; what was measured before is no evidence on it."""
    return min(observation.since for observation in explained)


def _counted(count: int) -> str:
    return "1 healthy one does" if count == 1 else f"{count} healthy ones do"


def _main_layer(explained: Iterable[Observation]) -> str:
    """Return the layer to count in: targets are the most asked for, then disks, then hosts."""
    layers = {observation.of.layer for observation in explained}
    return next((layer for layer in LAYERS if layer in layers), min(layers))


def _loss_lines(suspects: Sequence[Suspect], ambiguity: AmbiguitySet, parts: Parts) -> list[str]:
    """Return the sentence on the remaining rate of the suspects, if it is the same for all."""
    if any(len(alternative) > 1 for alternative in headline(ambiguity)):
        return []
    texts = {_loss_text(suspect, parts) for suspect in suspects}
    if len(texts) > 1:
        texts = {_loss_text(suspect, {}) for suspect in suspects}
    text = texts.pop()
    return [f"{text[0].upper()}{text[1:]}."] if text and not texts else []


def _loss_text(suspect: Suspect, parts: Parts) -> str:
    if suspect.drops:
        return "segments are lost, which slows each connection by another amount"
    part = parts.get(suspect.name)
    texts = []
    for loss in suspect.losses:
        rated = {"read": part.read_Bps, "write": part.write_Bps}.get(loss.lane) if part else None
        per_stream = suspect.alike and not loss.lane.startswith(NETWORK)
        texts.append(f"{_lane_text(loss, None)} each" if per_stream else _lane_text(loss, rated))
    return ", ".join(dict.fromkeys(texts))


def _lane_text(loss: Loss, rated: Optional[float]) -> str:
    text = f"{loss.lane}s get {format_rate(loss.left_Bps)} of {format_rate(loss.needed_Bps)}"
    if rated is not None and rated > 1.5 * loss.needed_Bps:
        text += f" (rated {format_rate(rated)})"
    return text


def _layer_text(located: Located, ambiguity: AmbiguitySet) -> str:
    """Return for each layer that crosses the suspects whether it is slow there since the loss."""
    suspects = {suspect.name for suspect in ambiguity.suspects}
    begun = _begun(located.observations[index] for index in ambiguity.explains)
    layers: dict[str, list[Observation]] = {}
    for observation in located.observations:
        if (
            observation.vote is not Vote.NONE
            and observation.of.is_rate
            and not suspects.isdisjoint(observation.of.path)
        ):
            layers.setdefault(observation.of.layer, []).append(observation)
    texts = []
    drops = any(suspect.drops for suspect in ambiguity.suspects)
    for layer in BY_DEPTH:
        words = f"{layer.results} rates" if drops and layer.paired else layer.results
        slow = [vote.ratio for vote in layers.get(layer.name, ()) if vote.vote is Vote.BAD]
        if slow:
            texts.append(f"{words} {_share(slow)} of what is expected")
        elif any(vote.at >= begun for vote in layers.get(layer.name, ())):
            texts.append(f"{words} fine")
        elif layer.name in layers:
            texts.append(f"{words} last measured before the loss")
    return ", ".join(texts)


def _share(ratios: Sequence[float]) -> str:
    low, high = round(100 * min(ratios)), round(100 * max(ratios))
    return f"{low} %" if low == high else f"{low} to {high} %"


def _meaning(outcome: Outcome, parts: Parts) -> str:
    names = listed([joined(names, parts) for names in outcome.alternatives], " or ")
    if outcome.ratio >= _FINE_RATIO:
        return f"if it is fine, {names}"
    return f"if it is at {100 * outcome.ratio:.0f} % of what is expected, {names}"


_WIRE = "read its link speed and error counters at both ends, then change transceiver and cable"
_HOST = "look at its load, memory and CPU frequency, its kernel's messages and what changed there"
_ADVICE = {
    "disk": "read its SMART values, the state of its array and its server's kernel messages, "
    "and replace it when they agree",
    "array": "look whether it is rebuilt or scrubbed, and which of its members is slow",
    "enclosure": "read what sg_ses says of its fans, power supplies and links",
    "controller": "look at its cache and battery, at its log and whether its partner has failed",
    "port": _WIRE,
    "channel": _WIRE,
    "link": _WIRE,
    "hba": _WIRE,
    "nic": _WIRE,
    "switch": "read the load and the error counters of its ports",
    "router": "look at its load and the error counters of its interfaces",
    "server": _HOST,
    "client": f"measure from another client; {_HOST}",
    "target": "look how full and fragmented it is, and at what its server allows it",
}
_DROPS = "change its cable and transceiver, one at a time; ethtool -S counts what is lost"
_FAILS = (
    "read its server's kernel messages and SMART values, and save its data before it is touched"
)


def advice(ambiguity: AmbiguitySet, parts: Mapping[str, SitePart], fails: bool = False) -> str:
    """Return e.g. `` Next: read its SMART values, ...``, empty for a part of unknown kind.

    It is empty for a part that slows its devices by one share: that sentence has its own advice.
    """
    if headline(ambiguity) != ambiguity.alternatives or ambiguity.suspects[0].alike:
        return ""
    if len(ambiguity.alternatives) > 1:
        return " Next: look at each of them, in this order."
    kinds = {
        parts[suspect.name].kind if suspect.name in parts else "" for suspect in ambiguity.suspects
    }
    if len(kinds) > 1:
        return " Next: look at each of them."
    kind = kinds.pop()
    text = _ADVICE.get(kind, "")
    if fails and kind in ("disk", "array", "target"):
        text = _FAILS
    elif any(suspect.drops for suspect in ambiguity.suspects):
        text = _DROPS
    return f" Next: {text}." if text else ""

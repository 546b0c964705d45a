"""Why there is no verdict on what a check was asked: it is not expected, or was never judged."""

from __future__ import annotations

from plumbline.errors import DocumentError
from plumbline.layers import WHOLE
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.store.snapshot import load_expectations

if TYPE_CHECKING:
    from plumbline.model.evidence import Subject


def refuse_unexpected(expectations: str, subject: Subject) -> None:
    """Raise DocumentError where this node is not to measure a component or group."""
    layer, name, is_group = subject
    node = load_expectations(expectations)
    if not is_group:
        node.find(layer, name)
    elif layer not in WHOLE:
        node.members(layer, name)
    elif not any(one.parallel and one.component == name for one in node.find(layer)):
        raise DocumentError(
            f"expectations have no file system {name} in layer {layer}; name its first client in "
            "the policy and deploy the role agent again"
        )

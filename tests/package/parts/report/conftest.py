"""The lab with a slow disk and a bad cable, for the whole session."""

from __future__ import annotations

import pytest

from plumbline.parts.report.site import Metrics, Site, find_metrics
from tests.package.parts.report.sites import sick


@pytest.fixture(scope="session")
def site() -> Site:
    return sick()


@pytest.fixture(scope="session")
def metrics(site: Site) -> Metrics:
    return find_metrics(site)

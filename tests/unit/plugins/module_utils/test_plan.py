"""A plan is compiled only if its sources have changed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from ansible_collections.hpcops.plumbline.plugins.module_utils.command import Plumbline
from ansible_collections.hpcops.plumbline.plugins.module_utils.plan import (
    Plan,
    PlanSource,
    plan_of,
    program_of,
)
from ansible_collections.hpcops.plumbline.tests.unit.plugins.fakes import (
    COMPILED,
    PLAN,
    Ended,
    Module,
)


class Site:
    """An inventory with its documents, a checkout and a cache in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "mysite"
        self.documents = self.folder / "group_vars" / "all"
        self.documents.mkdir(parents=True)
        (self.documents / "topology.yml").write_text("plumbline_topology: {}")
        self.package = folder / "checkout" / "src" / "plumbline"
        self.package.mkdir(parents=True)
        (self.package / "plan.py").write_text("SCHEMA = 1")
        self.cache = folder / "cache"
        self.module = Module(COMPILED)

    def plan(self) -> Plan:
        source = str(self.package.parents[1])
        plumbline = Plumbline(self.module, source=source)
        made_from = PlanSource(self.folder, program_of(plumbline, source))
        return plan_of(plumbline, made_from, self.cache)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_plan_is_compiled_once(site: Site) -> None:
    assert site.plan() == (PLAN, True, None)
    assert site.plan() == (PLAN, False, None)
    assert [argv for argv, _ in site.module.calls] == [
        ["plumbline", "plan", "--inventory", str(site.folder), "--json"]
    ]


@pytest.mark.parametrize("name", ["topology.yml", "policy.yml", "baselines.yml"])
def test_a_changed_document_compiles_it_again(site: Site, name: str) -> None:
    site.plan()
    (site.documents / name).write_text("another: one")
    assert site.plan().compiled


def test_a_changed_package_compiles_it_again(site: Site) -> None:
    site.plan()
    (site.package / "plan.py").write_text("SCHEMA = 2")
    assert site.plan().compiled


def test_temporary_files_of_editors_compile_nothing(site: Site) -> None:
    site.plan()
    (site.documents / ".topology.yml.swp").write_text("x")
    assert not site.plan().compiled


@pytest.mark.parametrize("damage", ["", "x\n", "{}", "\x00", '{key}\n{{"site": ', "{key}\n[]"])
def test_a_damaged_file_compiles_it_again(site: Site, damage: str) -> None:
    site.plan()
    (cached,) = site.cache.iterdir()
    key = cached.read_text().partition("\n")[0]
    cached.write_text(damage.format(key=key) if "{key}" in damage else damage)
    assert site.plan().compiled
    assert not site.plan().compiled


def test_inventories_with_a_shared_cache_have_a_file_each(site: Site, tmp_path: Path) -> None:
    site.plan()
    other = Site(tmp_path / "other")
    other.cache = site.cache
    assert other.plan().compiled
    assert not site.plan().compiled
    assert not other.plan().compiled


def test_the_cached_plan_is_private(site: Site) -> None:
    site.plan()
    (cached,) = site.cache.iterdir()
    assert stat.S_IMODE(cached.stat().st_mode) == 0o600
    assert stat.S_IMODE(site.cache.stat().st_mode) == 0o700


def test_an_unwritable_cache_is_named_and_the_plan_returned(site: Site) -> None:
    site.cache.write_text("a file")
    plan = site.plan()
    assert plan.document == PLAN
    assert plan.unkept is not None
    assert str(site.cache) in plan.unkept


def test_a_refused_inventory_is_not_cached(site: Site) -> None:
    site.module.answer = (65, "", "plumbline: topology.yml has no parts\n")
    with pytest.raises(Ended, match="no parts"):
        site.plan()
    assert not site.cache.exists()


def test_an_installed_program_is_identified_by_its_version() -> None:
    assert program_of(Plumbline(Module((0, "plumbline 0.1.0\n", ""))), None) == "plumbline 0.1.0"

"""Example files for several machines: compose and Kubernetes, held against the image and the settings."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from config import Settings
from tests.source import ROOT

UID = re.search(r"--uid (\d+)", (ROOT / "Dockerfile").read_text(encoding="utf-8"))


def documents(name: str) -> list[Any]:
    return [*yaml.safe_load_all((ROOT / "examples" / name).read_text(encoding="utf-8"))]


@pytest.fixture
def services() -> dict[str, Any]:
    [compose] = documents("compose.cluster.yaml")
    found: dict[str, Any] = compose["services"]
    return found


@pytest.fixture
def pod() -> dict[str, Any]:
    [deployment] = [one for one in documents("kubernetes.yaml") if one["kind"] == "Deployment"]
    assert deployment["spec"]["replicas"] == 3
    found: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return found


def test_compose_has_three_replicas_with_a_copy_in_memory_and_one_proxy(services: dict[str, Any]) -> None:
    assert UID
    soul = services["soul"]
    assert services["postgres"]["image"] == "postgres:17"
    assert soul["deploy"]["replicas"] == 3
    assert soul["read_only"]
    assert any(one.startswith(f"/soul:uid={UID[1]},") for one in soul["tmpfs"]), "the image's user owns it"
    assert "/livez" in soul["healthcheck"]["test"][-1]
    assert [name for name, one in services.items() if "ports" in one] == ["proxy"]


def test_compose_names_settings_that_there_are(services: dict[str, Any]) -> None:
    environment = services["soul"]["environment"]
    settings = Settings.from_env(
        {name: value.replace("${POSTGRES_PASSWORD}", "tea") for name, value in environment.items()}
    )
    assert settings.database_url == "postgresql://soul:tea@postgres/soul"


def test_kubernetes_runs_the_image_as_its_user_on_a_root_that_is_read_only(pod: dict[str, Any]) -> None:
    assert UID
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsUser"] == int(UID[1])
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["readinessProbe"]["httpGet"]["path"] == "/healthz"
    places = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    memory = {one["name"] for one in pod["volumes"] if one.get("emptyDir", {}).get("medium") == "Memory"}
    assert {places["/soul"], places["/tmp"]} <= memory


def test_kubernetes_starts_all_new_daemons_before_it_stops_old_ones() -> None:
    [deployment] = [one for one in documents("kubernetes.yaml") if one["kind"] == "Deployment"]
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": "100%", "maxUnavailable": 0}


def test_the_secret_of_kubernetes_names_settings_that_there_are() -> None:
    [secret] = [one for one in documents("kubernetes.yaml") if one["kind"] == "Secret"]
    known = {one.upper() for one in Settings.__dataclass_fields__}
    assert secret["stringData"].keys() <= known

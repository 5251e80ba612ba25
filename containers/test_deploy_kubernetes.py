"""deploy/kubernetes, built by kustomize: valid, allowed by the restricted profile, and consistent."""

import shutil
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from conftest import ROOT, docker

MANIFESTS = ROOT / "deploy" / "kubernetes"


def build(directory):
    """Standard output, and the pod security profile's objections: `manifests` prints both."""
    tool = subprocess.run([ROOT / "bin/tools/manifests", directory], capture_output=True, text=True, check=False)
    return tool.stdout, tool.stderr


@pytest.fixture(scope="module")
def resources():
    text, objections = build(MANIFESTS)
    assert objections == ""
    return {resource["kind"]: resource for resource in yaml.safe_load_all(text)}


@pytest.fixture
def changed(tmp_path):
    """changed(file, old, new): the manifests with one change."""

    def change(file, old, new):
        directory = Path(shutil.copytree(MANIFESTS, tmp_path / "kubernetes"))
        text = (directory / file).read_text()
        assert old in text
        (directory / file).write_text(text.replace(old, new))
        return build(directory)

    return change


def validate(resource):
    kubernetes_validate.validate(resource, "1.37", strict=True)


def test_every_resource_is_valid(resources):
    assert set(resources) == {"Namespace", "ConfigMap", "Deployment", "Service", "Ingress", "PodDisruptionBudget"}
    for resource in resources.values():
        validate(resource)


def test_what_is_misspelt_is_found(changed):
    text, _ = changed("deployment.yaml", "periodSeconds", "periodSecond")
    deployment = next(resource for resource in yaml.safe_load_all(text) if resource["kind"] == "Deployment")
    with pytest.raises(kubernetes_validate.ValidationError):
        validate(deployment)


@pytest.mark.parametrize(
    ("old", "new", "objection"),
    [
        ("drop: [ALL]", "drop: []", "unrestricted capabilities"),
        ("drop: [ALL]", "drop: [ALL]\n              add: [SYS_ADMIN]", "must not include \"SYS_ADMIN\""),
        ("allowPrivilegeEscalation: false", "privileged: true", "privileged"),
        ("runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot != true"),
        ("runAsUser: 65532", "runAsUser: 0", "runAsUser=0"),
        ("type: RuntimeDefault", "type: Unconfined", "seccompProfile"),
        ("configMap:\n            name: policy", "hostPath:\n            path: /etc", "restricted volume types"),
        ("enableServiceLinks: false", "hostNetwork: true", "host namespaces"),
    ],
)
def test_what_the_restricted_profile_forbids_is_found(changed, old, new, objection):
    _, objections = changed("deployment.yaml", old, new)
    assert "kcup: forbidden: " in objections and objection in objections


def test_the_namespace_enforces_that_profile(resources):
    assert resources["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_parts_find_each_other(resources):
    spec = resources["Deployment"]["spec"]
    pod, labels = spec["template"]["spec"], spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    assert resources["Service"]["spec"]["selector"].items() <= labels.items()
    assert resources["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert pod["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"].items() <= labels.items()
    (container,) = pod["containers"]
    ports = {port["name"] for port in container["ports"]}
    assert {container[probe]["httpGet"]["port"] for probe in ("readinessProbe", "livenessProbe")} | {
        port["targetPort"] for port in resources["Service"]["spec"]["ports"]
    } == ports
    assert pod["volumes"][0]["configMap"]["name"] == resources["ConfigMap"]["metadata"]["name"]
    (path,) = resources["Ingress"]["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"] == {"name": resources["Service"]["metadata"]["name"], "port": {"name": "http"}}
    assert resources["PodDisruptionBudget"]["spec"]["minAvailable"] < spec["replicas"]


def test_a_changed_policy_is_a_rollout(resources, changed):
    text, _ = changed("mta-sts.txt", "testing", "enforce")
    other = next(resource for resource in yaml.safe_load_all(text) if resource["kind"] == "ConfigMap")
    assert other["metadata"]["name"] != resources["ConfigMap"]["metadata"]["name"]


def test_the_container_answers_its_probes(resources, image, new_name, tmp_path):
    """With the pod's environment, user, memory and restrictions, in an engine instead of a cluster."""
    (container,) = resources["Deployment"]["spec"]["template"]["spec"]["containers"]
    identity = resources["Deployment"]["spec"]["template"]["spec"]["securityContext"]
    (tmp_path / "mta-sts.txt").write_bytes(resources["ConfigMap"]["data"]["mta-sts.txt"].encode())
    tmp_path.chmod(0o755)
    name = new_name()
    memory = container["resources"]["limits"]["memory"].removesuffix("i").lower()
    docker(
        "run", "--detach", "--name", name, "--publish=127.0.0.1::5000", "--publish=127.0.0.1::9000",
        "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", f"--memory={memory}",
        f"--user={identity['runAsUser']}:{identity['runAsGroup']}", f"--volume={tmp_path}:/policy:ro",
        *(f"--env={variable['name']}={variable['value']}" for variable in container["env"]), image,
    )
    probes = [container[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe")]
    for port, path in [("9000", probes[0]), ("9000", probes[1]), ("5000", "/.well-known/mta-sts.txt")]:
        address = docker("port", name, port).stdout.split("\n")[0]
        url = f"http://{address}{path}"
        subprocess.run(["curl", "--silent", "--fail", "--retry", "5", "--retry-all-errors", url], check=True)

"""All of deploy/kubernetes: kcup.yaml as it is, and what kustomize makes of it with each of the components, is valid,
allowed by the restricted profile, and consistent. The container is started with what its pod says."""

import re
import shutil
import subprocess
from pathlib import Path

import custom
import jsonschema
import kubernetes_validate
import pytest
import yaml
from conftest import ROOT, docker
from debian import program

MANIFESTS = ROOT / "deploy" / "kubernetes"
COMPONENTS = {
    "ingress": {"Ingress"},
    "httproute": {"HTTPRoute"},
    "traefik": {"IngressRoute", "Middleware", "Certificate"},
    "networkpolicy": {"NetworkPolicy"},
    "monitoring": {"PodMonitor", "PrometheusRule"},
    "autoscaling": {"HorizontalPodAutoscaler"},
}
BASE = {"Namespace", "Deployment", "Service", "PodDisruptionBudget"}
# What kcup.yaml states as its oldest, and the newest that the validator knows.
VERSIONS = ["1.30", "1.37"]
POLICY_PATH = "/.well-known/mta-sts.txt"


def build(directory):
    """Standard output, and the pod security profile's objections: `manifests` prints both."""
    tool = subprocess.run([ROOT / "bin/tools/manifests", directory], capture_output=True, text=True, check=False)
    return tool.stdout, tool.stderr


def read(text):
    return {resource["kind"]: resource for resource in yaml.safe_load_all(text)}


@pytest.fixture
def changed(tmp_path):
    """changed(file, old, new, components): what kustomize makes of the manifests with one change."""

    def change(file, old, new, components=("ingress",)):
        directory = Path(shutil.copytree(MANIFESTS, tmp_path / "kubernetes"))
        text = (directory / file).read_text()
        assert old in text
        (directory / file).write_text(text.replace(old, new))
        kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text())
        kustomization["components"] = [f"components/{name}" for name in components]
        (directory / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        return build(directory)

    return change


@pytest.fixture
def everything(changed):
    text, objections = changed("kcup.yaml", "", "", COMPONENTS)
    assert objections == ""
    return read(text)


def validate(resource, version=VERSIONS[-1]):
    if resource["kind"] in custom.KINDS:
        custom.validate(resource)
    else:
        kubernetes_validate.validate(resource, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_base_is_valid_alone(version):
    resources = list(yaml.safe_load_all((MANIFESTS / "kcup.yaml").read_text()))
    assert resources[0]["kind"] == "Namespace" and {resource["kind"] for resource in resources} == BASE
    for resource in resources:
        validate(resource, version)
        assert resource["kind"] == "Namespace" or resource["metadata"]["namespace"] == "mta-sts"


def test_it_is_valid_as_it_is():
    text, objections = build(MANIFESTS)
    assert objections == "" and set(read(text)) == BASE | {"ConfigMap", "Ingress"}


def test_every_component_is_listed():
    assert {path.name for path in (MANIFESTS / "components").iterdir()} == set(COMPONENTS)
    listed = re.findall(r"- components/(\S+)", (MANIFESTS / "kustomization.yaml").read_text())
    assert sorted(listed) == sorted(COMPONENTS)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("component", COMPONENTS)
def test_every_component_is_valid(component, version, changed):
    text, objections = changed("kcup.yaml", "", "", [component])
    resources = read(text)
    assert objections == "" and set(resources) == BASE | {"ConfigMap"} | COMPONENTS[component]
    for resource in resources.values():
        validate(resource, version)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("kcup.yaml", "periodSeconds", "periodSecond"),
        ("components/httproute/httproute.yaml", "hostnames", "hostname"),
        ("components/traefik/traefik.yaml", "attempts: 3", "attempts: three"),
        ("components/traefik/traefik.yaml", "dnsNames", "dnsName"),
        ("components/monitoring/monitoring.yaml", "- port: admin", "- ports: admin"),
        ("components/monitoring/monitoring.yaml", "expr: absent", "exp: absent"),
        ("components/autoscaling/autoscaling.yaml", "averageValue", "averageValues"),
    ],
)
def test_what_is_misspelt_is_found(changed, file, old, new):
    text, _ = changed(file, old, new, [component for component in COMPONENTS if component in file])
    with pytest.raises((kubernetes_validate.ValidationError, jsonschema.ValidationError)):
        for resource in read(text).values():
            validate(resource)


@pytest.mark.parametrize(
    ("old", "new", "objection"),
    [
        ("drop: [ALL]", "drop: []", "unrestricted capabilities"),
        ("drop: [ALL]", "drop: [ALL]\n              add: [SYS_ADMIN]", 'must not include "SYS_ADMIN"'),
        ("allowPrivilegeEscalation: false", "privileged: true", "privileged"),
        ("runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot != true"),
        ("runAsUser: 65532", "runAsUser: 0", "runAsUser=0"),
        ("type: RuntimeDefault", "type: Unconfined", "seccompProfile"),
        ("configMap:\n            name: policy", "hostPath:\n            path: /etc", "restricted volume types"),
        ("enableServiceLinks: false", "hostNetwork: true", "host namespaces"),
    ],
)
def test_what_the_restricted_profile_forbids_is_found(changed, old, new, objection):
    _, objections = changed("kcup.yaml", old, new)
    assert "kcup: forbidden: " in objections and objection in objections


def test_the_namespace_enforces_that_profile(everything):
    assert everything["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_parts_find_each_other(everything):
    spec = everything["Deployment"]["spec"]
    pod, labels = spec["template"]["spec"], spec["template"]["metadata"]["labels"]
    assert everything["Service"]["spec"]["selector"].items() <= labels.items()
    selectors = [spec["selector"], *(each["labelSelector"] for each in pod["topologySpreadConstraints"])]
    selectors += [everything[kind]["spec"]["selector"] for kind in ("PodDisruptionBudget", "PodMonitor")]
    selectors += [everything["NetworkPolicy"]["spec"]["podSelector"]]
    for selector in selectors:
        assert selector["matchLabels"].items() <= labels.items()
    assert everything["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": everything["Deployment"]["metadata"]["name"],
    }
    assert "replicas" not in spec  # which the autoscaler counts
    assert pod["volumes"][0]["configMap"]["name"] == everything["ConfigMap"]["metadata"]["name"]
    middleware = everything["IngressRoute"]["spec"]["routes"][0]["middlewares"]
    assert middleware == [{"name": everything["Middleware"]["metadata"]["name"]}]
    assert everything["IngressRoute"]["spec"]["tls"]["secretName"] == everything["Certificate"]["spec"]["secretName"]


def test_every_named_port_exists(everything):
    (container,) = everything["Deployment"]["spec"]["template"]["spec"]["containers"]
    ports = {port["name"] for port in container["ports"]}
    assert container["readinessProbe"]["httpGet"]["port"] == "http"
    assert container["livenessProbe"]["httpGet"]["port"] == "admin"
    (service,) = everything["Service"]["spec"]["ports"]
    rules = everything["NetworkPolicy"]["spec"]["ingress"]
    named = {service["targetPort"], *(rule["ports"][0]["port"] for rule in rules)}
    assert named | {each["port"] for each in everything["PodMonitor"]["spec"]["podMetricsEndpoints"]} == ports
    (path,) = everything["Ingress"]["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"] == {"name": "kcup", "port": {"name": service["name"]}}
    (backend,) = everything["HTTPRoute"]["spec"]["rules"][0]["backendRefs"]
    (traefik,) = everything["IngressRoute"]["spec"]["routes"][0]["services"]
    assert backend == {"name": "kcup", "port": service["port"]} and traefik == {"name": "kcup", "port": service["name"]}


def test_every_way_in_is_to_the_policy(everything):
    """The one path and the one host, which the certificate is for."""
    host = "mta-sts.example.com"
    (rule,) = everything["Ingress"]["spec"]["rules"]
    assert (rule["host"], rule["http"]["paths"][0]["path"]) == (host, POLICY_PATH)
    route = everything["HTTPRoute"]["spec"]
    assert (route["hostnames"], route["rules"][0]["matches"][0]["path"]["value"]) == ([host], POLICY_PATH)
    assert everything["IngressRoute"]["spec"]["routes"][0]["match"] == f"Host(`{host}`) && Path(`{POLICY_PATH}`)"
    assert everything["Certificate"]["spec"]["dnsNames"] == everything["Ingress"]["spec"]["tls"][0]["hosts"] == [host]


def test_alerts_are_about_metrics_that_exist(everything, tmp_path):
    spec = everything["PrometheusRule"]["spec"]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(spec))
    promtool = program("prometheus", "usr/bin/promtool")
    subprocess.run([promtool, "check", "rules", tmp_path / "rules.yaml"], check=True)
    rules = spec["groups"][0]["rules"]
    named = {name for rule in rules for name in re.findall(r"\b(?:kcup|process)_\w+", rule["expr"])}
    assert named and named <= set(re.findall(r"^\| `(\w+)` \|", (ROOT / "SPEC.md").read_text(), re.MULTILINE))
    reasons = re.search(r'reason=~"([^"]+)"', "".join(rule["expr"] for rule in rules))[1].split("|")
    assert all(f"`{reason}`" in (ROOT / "SPEC.md").read_text() for reason in reasons)


def test_a_changed_policy_is_a_rollout(everything, tmp_path):
    directory = Path(shutil.copytree(MANIFESTS, tmp_path / "other"))
    policy = directory / "mta-sts.txt"
    policy.write_bytes(policy.read_bytes().replace(b"testing", b"enforce"))
    other = read(build(directory)[0])["ConfigMap"]
    assert other["metadata"]["name"] != everything["ConfigMap"]["metadata"]["name"]


def test_the_container_answers_its_probes(everything, image, new_name, tmp_path):
    """With the pod's environment, user, memory and restrictions, in an engine instead of a cluster."""
    pod = everything["Deployment"]["spec"]["template"]["spec"]
    (container,), identity = pod["containers"], pod["securityContext"]
    directory = tmp_path / "policy"
    directory.mkdir(mode=0o755)
    (directory / "mta-sts.txt").write_bytes(everything["ConfigMap"]["data"]["mta-sts.txt"].encode())
    tmp_path.chmod(0o755)
    name = new_name()
    memory = container["resources"]["limits"]["memory"].removesuffix("i").lower()
    docker(
        "run",
        "--detach",
        "--name",
        name,
        "--publish=127.0.0.1::5000",
        "--publish=127.0.0.1::9000",
        "--read-only",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        f"--memory={memory}",
        f"--user={identity['runAsUser']}:{identity['runAsGroup']}",
        f"--volume={directory}:/policy:ro",
        *(f"--env={variable['name']}={variable['value']}" for variable in container["env"]),
        image,
    )
    ports = {port["name"]: str(port["containerPort"]) for port in container["ports"]}
    for probe in (container["readinessProbe"]["httpGet"], container["livenessProbe"]["httpGet"]):
        address = docker("port", name, ports[probe["port"]]).stdout.split("\n")[0]
        url = f"http://{address}{probe['path']}"
        subprocess.run(["curl", "--silent", "--fail", "--retry", "5", "--retry-all-errors", url], check=True)

"""Schemas of the resources that Kubernetes itself does not have, from the Go modules that define them."""

import functools
import json
import subprocess
from pathlib import Path

import jsonschema
import yaml

OPERATOR = (
    "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    "example/prometheus-operator-crd/monitoring.coreos.com_",
)
TRAEFIK = (
    "github.com/traefik/traefik/v3@v3.7.13",
    "docs/content/reference/dynamic-configuration/kubernetes-crd-definition-v1",
)
CERTIFICATES = "github.com/cert-manager/cert-manager@v1.21.2", "deploy/crds/cert-manager.io_"
GATEWAY = "sigs.k8s.io/gateway-api@v1.4.1", "config/crd/standard/gateway.networking.k8s.io_"
# For each kind a module, and its file that defines the kind.
KINDS = {
    "Certificate": (*CERTIFICATES, "certificates.yaml"),
    "HTTPRoute": (*GATEWAY, "httproutes.yaml"),
    "IngressRoute": (*TRAEFIK, ".yml"),
    "Middleware": (*TRAEFIK, ".yml"),
    "PodMonitor": (*OPERATOR, "podmonitors.yaml"),
    "PrometheusRule": (*OPERATOR, "prometheusrules.yaml"),
}
TOP = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}


@functools.cache
def definitions(module, file):
    command = ["go", "mod", "download", "-json", module]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    text = Path(json.loads(done.stdout)["Dir"], file).read_text()
    text = text.replace("^(?i)", "(?i)^")  # as Python wants it
    return {found["spec"]["names"]["kind"]: found["spec"] for found in yaml.load_all(text, yaml.CSafeLoader) if found}


@functools.cache
def schema_of(api, kind):
    module, *file = KINDS[kind]
    spec = definitions(module, "".join(file))[kind]
    (schema,) = (each["schema"] for each in spec["versions"] if f"{spec['group']}/{each['name']}" == api)
    schema = closed(schema["openAPIV3Schema"])
    return schema | {"properties": schema["properties"] | TOP}


def closed(schema):
    """The schema without room for fields that it does not name, as an API server with strict validation has it."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {name: closed(part) for name, part in schema.items()}
    is_object = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    if is_object and not schema.get("x-kubernetes-preserve-unknown-fields"):
        schema.setdefault("additionalProperties", False)
    return schema


def validate(resource):
    jsonschema.validate(resource, schema_of(resource["apiVersion"], resource["kind"]))

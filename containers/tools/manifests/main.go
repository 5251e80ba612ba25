// Command manifests builds a kustomization, prints it as YAML, and holds the pods of its Deployments to the restricted profile of
// the Pod Security Standards, with the code that an API server does it with. A pod that the profile forbids is exit status 1.
package main

import (
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manifests DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

func run(directory string) error {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return err
	}
	text, err := built.AsYaml()
	if err != nil {
		return err
	}
	fmt.Print(string(text))
	return judge(built)
}

func judge(built resmap.ResMap) error {
	restricted, err := policy.NewEvaluator(policy.DefaultChecks())
	if err != nil {
		return err
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, resource := range built.Resources() {
		if resource.GetKind() != "Deployment" {
			continue
		}
		var deployment appsv1.Deployment
		if err := yaml.Unmarshal([]byte(resource.MustYaml()), &deployment); err != nil {
			return err
		}
		pod := deployment.Spec.Template
		verdict := policy.AggregateCheckResults(restricted.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec))
		if !verdict.Allowed {
			return fmt.Errorf("%s: forbidden: %s", deployment.Name, verdict.ForbiddenDetail())
		}
	}
	return nil
}

{{/* true where gardener-operator injects its block; `enabled` is the string "true" there. */}}
{{- define "tar.isRuntime" -}}
{{- if eq (toString ((.Values.gardener).runtimeCluster).enabled) "true" -}}true{{- end -}}
{{- end -}}
{{/* true where gardenlet injects its block; a self-hosted shoot that is no Seed has none. */}}
{{- define "tar.isSeed" -}}
{{- if (.Values.gardener).seed -}}true{{- end -}}
{{- end -}}
{{/* Names end in -runtime on a garden runtime, where a seed's installation may stand beside this one. */}}
{{- define "tar.globalName" -}}
gardener-extension-topology-aware-routing{{ if include "tar.isRuntime" . }}-runtime{{ end }}
{{- end -}}

{{/* true where a mode runs: switched on, or auto and its condition holds. */}}
{{- define "tar.mode.seed" -}}
{{- if eq (toString .Values.modes.seed) "auto" -}}{{ include "tar.isSeed" . }}{{- else if .Values.modes.seed -}}true{{- end -}}
{{- end -}}
{{- define "tar.mode.garden" -}}
{{- if eq (toString .Values.modes.garden) "auto" -}}{{ include "tar.isRuntime" . }}{{- else if .Values.modes.garden -}}true{{- end -}}
{{- end -}}
{{- define "tar.mode.cluster" -}}
{{- if eq (toString .Values.modes.cluster) "auto" -}}
{{- if not (or (include "tar.mode.seed" .) (include "tar.mode.garden" .)) -}}true{{- end -}}
{{- else if .Values.modes.cluster -}}true{{- end -}}
{{- end -}}

{{/* true where the settings-reconciler has a Gardener extension's duties: Extension resources and the heartbeat. */}}
{{- define "tar.followsExtensions" -}}
{{- if and .Values.settingsReconciler.extensions (or (include "tar.mode.seed" .) (include "tar.mode.garden" .)) -}}true{{- end -}}
{{- end -}}

{{- define "tar.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else if hasPrefix "sha256:" .Values.image.tag -}}
{{ .Values.image.repository }}@{{ .Values.image.tag }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "tar.priorityClassName" -}}
{{- if .Values.priorityClassName -}}
{{ .Values.priorityClassName }}
{{- else if include "tar.isRuntime" . -}}
{{ .Values.gardener.runtimeCluster.priorityClassName | default "gardener-garden-system-200" }}
{{- else if include "tar.isSeed" . -}}
gardener-system-900
{{- end -}}
{{- end -}}

{{/* Arguments: dict "root" . "component" NAME */}}
{{- define "tar.selectorLabels" -}}
app.kubernetes.io/name: gardener-extension-topology-aware-routing
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}
{{- define "tar.labels" -}}
{{ include "tar.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{- define "tar.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}
{{- define "tar.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}
{{/*
The token that the ServiceAccount and the Pod do not mount by themselves: here, not as long-lived, and the same whether Gardener's
resource manager would mount one or not.
*/}}
{{- define "tar.tokenMount" -}}
- { name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }
{{- end -}}
{{- define "tar.tokenVolume" -}}
- name: token
  projected:
    sources:
    - serviceAccountToken: { path: token, expirationSeconds: 3600 }
    - configMap: { name: kube-root-ca.crt, items: [{ key: ca.crt, path: ca.crt }] }
    - downwardAPI: { items: [{ path: namespace, fieldRef: { fieldPath: metadata.namespace } }] }
{{- end -}}

{{/* Where NetworkPolicies of Gardener's allow nothing that no Service asks for: the way of its Prometheus to the metrics. */}}
{{- define "tar.scrapeAnnotations" -}}
{{- if or (include "tar.isSeed" .) (include "tar.isRuntime" .) -}}
{{- if include "tar.isSeed" . }}
networking.resources.gardener.cloud/from-all-seed-scrape-targets-allowed-ports: '[{"protocol":"TCP","port":8080}]'
{{- end }}
{{- if include "tar.isRuntime" . }}
networking.resources.gardener.cloud/from-all-garden-scrape-targets-allowed-ports: '[{"protocol":"TCP","port":8080}]'
{{- end }}
networking.resources.gardener.cloud/namespace-selectors: '[{"matchLabels":{"kubernetes.io/metadata.name":"garden"}}]'
# What the labels of those who may come in call this namespace.
networking.resources.gardener.cloud/pod-label-selector-namespace-alias: extensions
{{- end -}}
{{- end -}}

{{/* true where the webhook is installed. */}}
{{- define "tar.hasWebhook" -}}
{{- $webhook := .Values.endpointsliceWebhook -}}
{{- $old := semverCompare "< 1.32-0" .Capabilities.KubeVersion.Version -}}
{{- $needed := or $old (ne .Values.settingsReconciler.keep "off") .Values.flowController.enabled -}}
{{- if eq (toString $webhook.enabled) "auto" -}}
{{- if or $needed (eq $webhook.registration "chart") }}true{{ end -}}
{{- else if $webhook.enabled }}true{{ end -}}
{{- end -}}

{{/* Names of the components that are on, as JSON. */}}
{{- define "tar.components" -}}
{{- $names := list -}}
{{- if .Values.settingsReconciler.enabled }}{{ $names = append $names "settings-reconciler" }}{{ end -}}
{{- if include "tar.hasWebhook" . }}{{ $names = append $names "endpointslice-webhook" }}{{ end -}}
{{- if .Values.flowController.enabled }}{{ $names = append $names "flow-controller" }}{{ end -}}
{{- toJson $names -}}
{{- end -}}

{{/*
true where VerticalPodAutoscalers are rendered. Gardener wants one in every seed and garden runtime, and does not pass to charts what
the API server serves.
*/}}
{{- define "tar.vpa" -}}
{{- if ne (toString .Values.vpa.enabled) "auto" -}}
{{- if .Values.vpa.enabled -}}true{{- end -}}
{{- else if or (include "tar.isSeed" .) (include "tar.isRuntime" .) (.Capabilities.APIVersions.Has "autoscaling.k8s.io/v1") -}}
true
{{- end -}}
{{- end -}}
{{/* As gardenlet injects it; v0.0.0 where it does not, or where it is no version. */}}
{{- define "tar.gardenerVersion" -}}
{{- $version := (.Values.gardener).version | default "" -}}
{{- if regexMatch "^v?[0-9]+\\.[0-9]+\\.[0-9]+([-+].*)?$" $version -}}{{ $version }}{{- else -}}v0.0.0{{- end -}}
{{- end -}}

{{/* Resizing in place is refused by a VerticalPodAutoscaler before 1.4; Gardener v1.142 and newer bring a later one. */}}
{{- define "tar.vpaUpdateMode" -}}
{{- if .Values.vpa.updateMode -}}
{{ .Values.vpa.updateMode }}
{{- else if and (include "tar.isSeed" .) (semverCompare ">= 1.142-0" (include "tar.gardenerVersion" .)) -}}
InPlaceOrRecreate
{{- else -}}
Recreate
{{- end -}}
{{- end -}}

{{/* On Gardener the resource manager spreads what carries its high-availability label. */}}
{{- define "tar.spread" -}}
{{- if not (or (include "tar.isSeed" .root) (include "tar.isRuntime" .root)) -}}
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "tar.selectorLabels" . | nindent 6 }}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "tar.selectorLabels" . | nindent 6 }}
{{- end -}}
{{- end -}}

{{/* Modes of the settings-reconciler as JSON. What gardenlet injects speaks of the seed only, so the garden gets none of it. */}}
{{- define "tar.modes" -}}
{{- $modes := dict -}}
{{- $known := dict -}}
{{- if not (kindIs "invalid" .Values.settingsReconciler.layerSevenDefault) -}}
{{- $_ := set $known "layerSevenDefault" .Values.settingsReconciler.layerSevenDefault -}}
{{- end -}}
{{- if include "tar.mode.garden" . -}}
{{- $_ := set $modes "garden" (dict "gardener" $known) -}}
{{- end -}}
{{- if include "tar.mode.seed" . -}}
{{- $_ := set $modes "seed" (include "tar.seedMode" (dict "gardener" .Values.gardener "known" $known) | fromJson) -}}
{{- end -}}
{{- if include "tar.mode.cluster" . -}}
{{- $_ := set $modes "cluster" dict -}}
{{- end -}}
{{- toJson $modes -}}
{{- end -}}

{{/* Of gardenlet's gates only the one that is read: the others would restart Pods for nothing. */}}
{{- define "tar.seedMode" -}}
{{- $known := deepCopy .known -}}
{{- with (.gardener).version -}}{{- $_ := set $known "version" . -}}{{- end -}}
{{- with ((.gardener).gardenlet).featureGates -}}
{{- $_ := set $known "featureGates" (pick . "IstioTLSTermination") -}}
{{- end -}}
{{- $mode := dict "gardener" $known -}}
{{- with (.gardener).seed -}}
{{- with .name -}}{{- $_ := set $mode "seedName" . -}}{{- end -}}
{{- with .spec -}}
{{- $provider := dict "zones" ((.provider).zones | default list) -}}
{{- $routing := dict "enabled" (((.settings).topologyAwareRouting).enabled | default false) -}}
{{- $_ := set $mode "seed" (dict "spec" (dict "provider" $provider "settings" (dict "topologyAwareRouting" $routing))) -}}
{{- end -}}
{{- end -}}
{{- toJson $mode -}}
{{- end -}}

{{/* true where a seed's and a garden runtime's installation may stand side by side; they meet in the namespace garden. */}}
{{- define "tar.isShared" -}}
{{- if or (include "tar.isSeed" .) (include "tar.isRuntime" .) -}}true{{- end -}}
{{- end -}}
{{/* The Lease of the one flow-controller that plans: admission and the settings-reconciler go by its age. */}}
{{- define "tar.flowLeaseNamespace" -}}
{{- if include "tar.isShared" . -}}garden{{- else -}}{{ .Release.Namespace }}{{- end -}}
{{- end -}}
{{- define "tar.flowLease" -}}
{{- if include "tar.isShared" . -}}topology-aware-routing-flow-controller{{- else -}}flow-controller{{- end -}}
{{- end -}}
{{/* The Lease of the one installation that changes slices. */}}
{{- define "tar.admissionLease" -}}topology-aware-routing-admission{{- end -}}

{{/* Value of the namespace label by which an installation keeps settings: each its own. */}}
{{- define "tar.routingLabel" -}}
{{- if include "tar.isRuntime" . -}}runtime{{- else -}}true{{- end -}}
{{- end -}}

{{/* The installation section of components that take part in admission. */}}
{{- define "tar.sharing" -}}
{{- if include "tar.isShared" .root }}
claim:
  namespace: garden
  name: {{ include "tar.admissionLease" .root }}
{{- end }}
{{- if include "tar.isRuntime" .root }}
routingLabel: {{ include "tar.routingLabel" .root }}
{{- end }}
{{- end -}}
{{- define "tar.flowInformation" -}}
{{- if include "tar.isShared" . }}
flowController:
  lease:
    namespace: {{ include "tar.flowLeaseNamespace" . }}
    name: {{ include "tar.flowLease" . }}
{{- end }}
{{- end -}}

{{/* Its own ClusterRole is the owner of what a component writes in the whole cluster, and the namespace that of the ClusterRole. */}}
{{- define "tar.ownerRules" -}}
# Owners: what is written in the whole cluster goes with this role, and this role with the namespace. No right can be added.
- apiGroups: [rbac.authorization.k8s.io]
  resources: [clusterroles]
  resourceNames: ["{{ include "tar.globalName" .root }}:{{ .component }}"]
  verbs: [get, patch]
- apiGroups: [""]
  resources: [namespaces]
  resourceNames: [{{ .root.Release.Namespace | quote }}]
  verbs: [get]
{{- end -}}

{{/* Rights in the namespace where installations meet. Arguments: root, component, rules */}}
{{- define "tar.commonRole" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "tar.globalName" .root }}:{{ .component }}
  namespace: garden
  labels:
    {{- include "tar.labels" . | nindent 4 }}
rules:
{{ .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "tar.globalName" .root }}:{{ .component }}
  namespace: garden
  labels:
    {{- include "tar.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "tar.globalName" .root }}:{{ .component }}
subjects:
- kind: ServiceAccount
  name: {{ .component }}
  namespace: {{ .root.Release.Namespace | quote }}
{{- end -}}

{{/* Arguments: root, take (whether it may take the claim) */}}
{{- define "tar.claimRules" -}}
# Which installation changes slices.
{{- if .take }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
{{- end }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "tar.admissionLease" .root }}]
  verbs: [{{ ternary "get, update" "get" .take }}]
{{- end -}}
{{- define "tar.watchFlowRules" -}}
# Whether the flow controller is alive: a watch of this one Lease.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "tar.flowLease" . }}]
  verbs: [list, watch]
{{- end -}}
{{- define "tar.leadFlowRules" -}}
# A name cannot be given for create: the server does not know it yet.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
# delete: --cleanup, after which there is no planner.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "tar.flowLease" . }}]
  verbs: [get, update, delete]
{{- end -}}

{{- define "tar.routerRules" -}}
# Who routes: which data plane runs, and whether it follows hints. Optional: without these rights no condition vouches for effect.
- apiGroups: [apps]
  resources: [daemonsets]
  verbs: [list]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [cilium-config]
  verbs: [get]
- apiGroups: [crd.projectcalico.org]
  resources: [felixconfigurations]
  resourceNames: [default]
  verbs: [get]
{{- end }}

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

{{- define "tar.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
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

{{/*
What the settings-reconciler is told: a registration that this chart renders cannot follow what it decides, so `auto` is the
webhook there.
*/}}
{{- define "tar.admission" -}}
{{- if and (eq .Values.admission "auto") .Values.endpointsliceWebhook.enabled (eq .Values.endpointsliceWebhook.registration "chart") -}}
webhook
{{- else -}}
{{ .Values.admission }}
{{- end -}}
{{- end -}}
{{/* What the webhook is told: with a settings-reconciler beside it to follow that one, so that no slice is ever without a carrier. */}}
{{- define "tar.admission.webhook" -}}
{{- if .Values.settingsReconciler.enabled -}}auto{{- else -}}{{ .Values.admission }}{{- end -}}
{{- end -}}
{{/* Names of the policies and their bindings, as the settings-reconciler builds them. */}}
{{- define "tar.policyNames" -}}
{{- $names := list -}}
{{- range list "same-zone" "same-node" "proportional" "load-aware" "service-settings" "etcd-settings" -}}
{{- $names = append $names (printf "%s.%s" (include "tar.globalName" $) .) -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{/* The meter's image: as the project's own, with conntrack and, of Node.js, another user (hack/image/Dockerfile.traffic-meter). */}}
{{- define "tar.meter.image" -}}
{{- $image := .Values.trafficMeter.image -}}
{{- /* Of the other image's tag its version alone: the digest is not this image's. */ -}}
{{- $version := regexReplaceAll "@?sha256:.*" .Values.image.tag "" -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else if hasPrefix "sha256:" $image.tag -}}
{{ $image.repository }}@{{ $image.tag }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default $version | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Its network is the Node's, so Pod Security has to let it: never in the namespace of the others. */}}
{{- define "tar.meter.namespace" -}}
{{- if eq .Values.trafficMeter.namespace .Release.Namespace -}}
{{- fail "trafficMeter.namespace: must not be the namespace of the release, whose Pods are held to the standard `restricted`" -}}
{{- end -}}
{{ .Values.trafficMeter.namespace }}
{{- end -}}

{{/* Sources of load, as JSON: those that are named, else the meters where they are installed, whose windows are of two seconds. */}}
{{- define "tar.flowSources" -}}
{{- $default := list (dict "name" "metrics.k8s.io" "type" "ResourceMetrics") -}}
{{- if .Values.trafficMeter.enabled -}}
{{- $default = prepend $default (dict "name" "meters" "type" "TrafficMeter" "cacheSeconds" 2) -}}
{{- end -}}
{{- toJson (default $default .Values.flowController.metricSources) -}}
{{- end -}}

{{/* ServiceAccounts that read meters, as JSON: for the condition TrafficDistributionHonored and as a source of load without a Prometheus. */}}
{{- define "tar.meter.readers" -}}
{{- $flow := .Values.flowController -}}
{{- $reads := $flow.trafficProof -}}
{{- range include "tar.flowSources" . | fromJsonArray -}}
{{- if and (eq .type "TrafficMeter") (not .url) -}}{{- $reads = true -}}{{- end -}}
{{- end -}}
{{- $readers := list -}}
{{- if and $flow.enabled $reads -}}{{- $readers = append $readers "flow-controller" -}}{{- end -}}
{{- toJson $readers -}}
{{- end -}}

{{/* Who scrapes on Gardener: the value of the label `prometheus`. */}}
{{- define "tar.prometheus" -}}
{{- if include "tar.isRuntime" . -}}garden{{- else if include "tar.isSeed" . -}}seed{{- end -}}
{{- end -}}

{{/* Annotations by which Pods are found; a garden runtime's Prometheus finds them by ServiceMonitors instead. Arguments: root, component */}}
{{- define "tar.podScrapeAnnotations" -}}
{{- if .root.Values.monitoring.annotations -}}
prometheus.io/scrape: "true"
prometheus.io/port: "8080"
prometheus.io/name: {{ .component }}
{{- end -}}
{{- end -}}

{{- define "tar.serviceMonitors" -}}
{{- if eq (toString .Values.monitoring.serviceMonitors) "auto" -}}
{{- include "tar.isRuntime" . -}}
{{- else if .Values.monitoring.serviceMonitors -}}true{{- end -}}
{{- end -}}

{{/* gardener-operator deploys extensions since it has the operator of Prometheus; gardenlet did so before. */}}
{{- define "tar.alerts" -}}
{{- if ne .Values.monitoring.alerts "auto" -}}
{{- .Values.monitoring.alerts -}}
{{- else if include "tar.isRuntime" . -}}
prometheusRule
{{- else if and (include "tar.isSeed" .) (semverCompare ">= 1.95-0" (include "tar.gardenerVersion" .)) -}}
prometheusRule
{{- else -}}
none
{{- end -}}
{{- end -}}

{{- define "tar.dashboards" -}}
{{- if eq (toString .Values.monitoring.dashboards) "auto" -}}
{{- if include "tar.prometheus" . -}}true{{- end -}}
{{- else if .Values.monitoring.dashboards -}}true{{- end -}}
{{- end -}}

{{/* Labels of what a Prometheus selects. */}}
{{- define "tar.monitoringLabels" -}}
{{ include "tar.labels" (dict "root" . "component" "monitoring") }}
{{- with include "tar.prometheus" . }}
prometheus: {{ . }}
{{- end }}
{{- with .Values.monitoring.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The rules of every command, then of those that are installed: name of the file → content, as JSON. */}}
{{- define "tar.alertFiles" -}}
{{- $root := . -}}
{{- $files := dict -}}
{{- $about := concat (list "commands") (include "tar.components" . | fromJsonArray) -}}
{{- if .Values.trafficMeter.enabled }}{{ $about = append $about "traffic-meter" }}{{ end -}}
{{- range $about -}}
{{- $text := $root.Files.Get (printf "monitoring/alerts/%s.yaml" .) -}}
{{- $runbooks := printf "runbook_url: %sdocs/" $root.Values.monitoring.runbookBase -}}
{{- $_ := set $files . ($text | replace "runbook_url: docs/" $runbooks) -}}
{{- end -}}
{{- toJson $files -}}
{{- end -}}

{{/* true where ValidatingAdmissionPolicies hold the components to what they need. */}}
{{- define "tar.guards" -}}
{{- if and .Values.guards.enabled (semverCompare ">= 1.30-0" .Capabilities.KubeVersion.Version) -}}true{{- end -}}
{{- end -}}

{{- define "tar.guard.settingLabels" -}}
["endpoint-slice-hints.resources.gardener.cloud/consider", "topology.extensions.gardener.cloud/strategy"]
{{- end -}}
{{- define "tar.guard.settingAnnotations" -}}
["service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints"]
{{- end -}}

{{/*
CEL: two maps are equal but for some keys. Fields are not written out, so that those which a later Kubernetes adds are guarded as well.
Arguments: new, old (expressions), but (list of keys)
*/}}
{{- define "tar.guard.same" -}}
{{- $but := toJson .but | replace "\"" "'" -}}
{{ .new }}.all(k, k in {{ $but }} || (k in {{ .old }} && {{ .new }}[k] == {{ .old }}[k])) && {{ .old }}.all(k, k in {{ $but }} || k in {{ .new }})
{{- end -}}
{{/* The same as a validation. Arguments: new, old, but, message */}}
{{- define "tar.guard.rule" -}}
- message: {{ .message }}
  reason: Forbidden
  expression: >-
    {{ include "tar.guard.same" . }}
{{- end -}}

{{/* Beside the labels, annotations and fields of routing nothing of a Service. */}}
{{- define "tar.guard.services" -}}
{{ include "tar.guard.rule" (dict "message" "of spec this component changes trafficDistribution alone" "new" "object.spec" "old" "oldObject.spec" "but" (list "trafficDistribution")) }}
{{- end -}}

{{/* One pass over the endpoints, whose number is not bounded by much: each as a list of all its fields but hints. */}}
{{- define "tar.guard.endpointSlices" -}}
- message: of endpoints this component changes hints alone
  reason: Forbidden
  expression: >-
    (has(object.endpoints) && object.endpoints != null ? object.endpoints : []).map(e, [{{ include "tar.guard.endpoint" . }}]) ==
    (has(oldObject.endpoints) && oldObject.endpoints != null ? oldObject.endpoints : []).map(e, [{{ include "tar.guard.endpoint" . }}])
{{- end -}}
{{- define "tar.guard.endpoint" -}}
dyn(e.addresses)
{{- range list "conditions" "hostname" "nodeName" "targetRef" "zone" "deprecatedTopology" -}}
, has(e.{{ . }}) ? dyn(e.{{ . }}) : dyn(0)
{{- end -}}
{{- end -}}

{{- define "tar.guard.extensions" -}}
- message: this component changes Extensions of its own type alone
  reason: Forbidden
  expression: oldObject.spec.type == 'topology-aware-routing'
- message: this component changes no finalizer but its own
  reason: Forbidden
  expression: >-
    (has(object.metadata.finalizers) ? object.metadata.finalizers : []).filter(f, f != 'extensions.gardener.cloud/topology-aware-routing') ==
    (has(oldObject.metadata.finalizers) ? oldObject.metadata.finalizers : []).filter(f, f != 'extensions.gardener.cloud/topology-aware-routing')
{{- end -}}

{{- define "tar.guard.registration" -}}
- message: the webhook registers itself under its own name alone
  reason: Forbidden
  expression: object.metadata.name == '{{ include "tar.globalName" . }}'
- message: the webhook registers its own Service alone
  reason: Forbidden
  expression: >-
    !has(object.webhooks) || object.webhooks.all(w, has(w.clientConfig.service) &&
    w.clientConfig.service.namespace == '{{ .Release.Namespace }}' && w.clientConfig.service.name == 'endpointslice-webhook')
- message: the webhook asks for reviews of EndpointSlices and Services alone
  reason: Forbidden
  expression: >-
    !has(object.webhooks) || object.webhooks.all(w, !has(w.rules) || w.rules.all(r,
    r.apiGroups.all(g, g in ['', 'discovery.k8s.io']) &&
    r.resources.all(n, n in ['endpointslices', 'services']) && r.operations.all(o, o in ['CREATE', 'UPDATE'])))
{{- end -}}

{{/*
A policy and its binding. Dry runs are let through: nothing of them is stored. Versions are `*`: for a certain one the API server would
check types, and report that an object is no map.
Arguments: root, name, users (components), group, resources, operations, variables, validations
*/}}
{{- define "tar.guard" -}}
{{- $name := printf "%s.guard-%s" (include "tar.globalName" .root) .name -}}
{{- $users := list -}}
{{- range .users }}{{ $users = append $users (printf "system:serviceaccount:%s:%s" $.root.Release.Namespace .) }}{{ end -}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ $name }}
  labels:
    {{- include "tar.labels" (dict "root" .root "component" (first .users)) | nindent 4 }}
spec:
  # Fail for those who meet it: for all others the first condition is false.
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [{{ .group | quote }}]
      apiVersions: ["*"]
      resources: {{ toJson .resources }}
      operations: {{ toJson .operations }}
  matchConditions:
  - name: is-ours
    expression: request.userInfo.username in {{ toJson $users | replace "\"" "'" }}
  - name: is-stored
    expression: "!has(request.dryRun) || !request.dryRun"
  {{- with .variables }}
  variables:
  {{- . | trim | nindent 2 }}
  {{- end }}
  validations:
  {{- .validations | trim | nindent 2 }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ $name }}
  labels:
    {{- include "tar.labels" (dict "root" .root "component" (first .users)) | nindent 4 }}
spec:
  policyName: {{ $name }}
  validationActions: [Deny]
{{- end -}}

{{/* Maps that are always there. */}}
{{- define "tar.guard.variables" -}}
{{- range list "object" "oldObject" }}
- name: {{ . }}Labels
  expression: "has({{ . }}.metadata.labels) ? {{ . }}.metadata.labels : {}"
- name: {{ . }}Annotations
  expression: "has({{ . }}.metadata.annotations) ? {{ . }}.metadata.annotations : {}"
{{- end }}
{{- end -}}

{{/*
A guard of updates: what may change, and nothing else.
Arguments: root, name, users, group, resources; fields, metadata, labels, annotations (lists of keys); more (validations)
*/}}
{{- define "tar.guard.update" -}}
{{- $rules := list
  (dict "message" "this component changes no other field" "new" "object" "old" "oldObject" "but" (concat (list "metadata") (.fields | default list)))
  (dict "message" "this component changes no other metadata" "new" "object.metadata" "old" "oldObject.metadata" "but" (concat (list "labels" "annotations" "managedFields" "resourceVersion" "generation") (.metadata | default list)))
  (dict "message" "this component changes no other label" "new" "variables.objectLabels" "old" "variables.oldObjectLabels" "but" (.labels | default list))
  (dict "message" "this component changes no other annotation" "new" "variables.objectAnnotations" "old" "variables.oldObjectAnnotations" "but" (.annotations | default list)) -}}
{{- $validations := .more | default "" -}}
{{- range $rules }}{{ $validations = printf "%s\n%s" $validations (include "tar.guard.rule" .) }}{{ end -}}
{{- include "tar.guard" (dict "root" .root "name" .name "users" .users "group" .group "resources" .resources "operations" (list "UPDATE") "variables" (include "tar.guard.variables" .) "validations" $validations) -}}
{{- end -}}

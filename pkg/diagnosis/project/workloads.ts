// Pods, the workloads that own them and what scales those, reduced to where Pods may run and how many there may be.
import { type Fields, defined, isFields } from '../../apis/values.ts';
import type { ObjectMeta, StringMap } from '../../apis/meta.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { milliFromNano, nanoOf } from '../../apis/quantity.ts';
import type { Autoscaler, PodSummary, SpreadConstraint, Toleration, Workload } from '../snapshot.ts';
import { matchesSelector } from '../../routing/types.ts';
import { selectorOf } from './routers.ts';
import {
  DEFAULT_NAMESPACE,
  asFields,
  fieldsAt,
  listAt,
  metadataOf,
  objectAt,
  stringsAt,
  textAt,
  wholeAt,
} from './fields.ts';

/** Undefined means that no figure is shown. */
const milliOf = (value: unknown): number | undefined => {
  const nano = nanoOf(value);
  return nano === undefined ? undefined : milliFromNano(nano);
};

const requestOf = (spec: Fields): number | undefined => {
  const requests = listAt(spec, 'containers', (item) =>
    objectAt(asFields(item), 'resources', (resources) =>
      objectAt(resources, 'requests', (inner) => milliOf(inner['cpu'])),
    ),
  );
  return requests?.reduce<number | undefined>(
    (sum, own) => (sum === undefined || own === undefined ? undefined : sum + own),
    0,
  );
};

/** Sidecars by the name of their container. */
const SIDECARS: Readonly<Record<string, string>> = {
  'istio-proxy': 'istio',
  'linkerd-proxy': 'linkerd',
  'kuma-sidecar': 'kuma',
  'consul-dataplane': 'consul',
};

/** A sidecar may be an init container that goes on running. */
const meshOf = (spec: Fields, { labels = {}, annotations = {} }: ObjectMeta): string | undefined => {
  if (labels['app'] === 'ztunnel') return undefined;
  const named = ['containers', 'initContainers'].flatMap((key) => listAt(spec, key, asFields) ?? []);
  const found = named.flatMap(({ name }) => (typeof name === 'string' ? (SIDECARS[name] ?? []) : []))[0];
  if (found !== undefined) return found;
  return annotations['consul.hashicorp.com/connect-inject-status'] === 'injected' ? 'consul' : undefined;
};

export const podOf = (object: Fields): PodSummary => {
  const metadata = metadataOf(object, true);
  const { namespace = DEFAULT_NAMESPACE, name, labels = {} } = metadata;
  const spec = objectAt(object, 'spec', (inner) => ({
    nodeName: textAt(inner, 'nodeName') ?? '',
    requestMilliCpu: requestOf(inner),
    mesh: meshOf(inner, metadata),
  }));
  const status = objectAt(object, 'status', (inner) => ({
    phase: textAt(inner, 'phase') ?? '',
    ready: (listAt(inner, 'conditions', asFields) ?? []).some(
      (condition) => condition['type'] === 'Ready' && condition['status'] === 'True',
    ),
  }));
  return {
    namespace,
    name,
    labels,
    nodeName: spec?.nodeName ?? '',
    phase: status?.phase ?? '',
    ready: status?.ready ?? false,
    ...defined({ requestMilliCpu: spec?.requestMilliCpu, mesh: spec?.mesh }),
  };
};

/** A constraint without a selector counts no Pod; `matchLabelKeys` only narrows it to Pods like this one. */
const constraintOf = (item: unknown, podLabels: StringMap): SpreadConstraint => {
  const fields = asFields(item);
  const selector = objectAt(fields, 'labelSelector', selectorOf);
  return {
    topologyKey: textAt(fields, 'topologyKey') ?? '',
    whenUnsatisfiable: textAt(fields, 'whenUnsatisfiable') ?? 'DoNotSchedule',
    maxSkew: wholeAt(fields, 'maxSkew') ?? 1,
    selectsOwn: selector !== undefined && matchesSelector(selector, podLabels),
  };
};

/** Zones that one node selector term allows; undefined: any. */
const zonesOfTerm = (term: unknown): string[] | undefined =>
  (listAt(asFields(term), 'matchExpressions', asFields) ?? []).find(
    (expression) => expression['key'] === LABEL_ZONE && expression['operator'] === 'In',
  )?.['values'] as string[] | undefined;

const affinityZones = (affinity: Fields): string[] | undefined =>
  objectAt(affinity, 'nodeAffinity', (nodeAffinity) =>
    objectAt(nodeAffinity, 'requiredDuringSchedulingIgnoredDuringExecution', (required) => {
      const terms = listAt(required, 'nodeSelectorTerms', zonesOfTerm) ?? [];
      // Terms are alternatives: one that names no zones allows all.
      return terms.some((zones) => zones === undefined) ? undefined : terms.flatMap((zones) => zones ?? []);
    }),
  );

const hasZoneAntiAffinity = (affinity: Fields): boolean =>
  JSON.stringify(affinity['podAntiAffinity'] ?? {}).includes(LABEL_ZONE);

const tolerationOf = (item: unknown): Toleration => {
  const fields = asFields(item);
  return {
    key: textAt(fields, 'key') ?? '',
    operator: textAt(fields, 'operator') ?? 'Equal',
    value: textAt(fields, 'value') ?? '',
    effect: textAt(fields, 'effect') ?? '',
  };
};

/** Undefined where no roll-out is under way. */
const updatedOf = (object: Fields, spec: Fields): number | undefined => {
  const status = objectAt(object, 'status', (inner) => inner);
  if (status === undefined) return undefined;
  const updated = wholeAt(status, 'updatedReplicas') ?? 0;
  return wholeAt(status, 'replicas') !== undefined && updated < (wholeAt(spec, 'replicas') ?? 1) ? updated : undefined;
};

export const workloadOf = (object: Fields): Workload => {
  const { namespace = DEFAULT_NAMESPACE, name } = metadataOf(object, true);
  const spec = isFields(object['spec']) ? object['spec'] : {};
  const template = objectAt(object, 'spec', (inner) => objectAt(inner, 'template', (own) => own)) ?? {};
  const podLabels = objectAt(template, 'metadata', (inner) => stringsAt(inner, 'labels')) ?? {};
  const podSpec = fieldsAt(template, 'spec');
  const affinity = fieldsAt(podSpec, 'affinity');
  const selected = stringsAt(podSpec, 'nodeSelector')?.[LABEL_ZONE];
  const allowedZones = selected === undefined ? affinityZones(affinity) : [selected];
  return {
    kind: textAt(object, 'kind') ?? 'Deployment',
    namespace,
    name,
    replicas: wholeAt(spec, 'replicas') ?? 1,
    podLabels,
    spread: listAt(podSpec, 'topologySpreadConstraints', (item) => constraintOf(item, podLabels)) ?? [],
    ...(allowedZones === undefined || allowedZones.length === 0 ? {} : { allowedZones }),
    zoneAntiAffinity: hasZoneAntiAffinity(affinity),
    ...defined({ tolerations: listAt(podSpec, 'tolerations', tolerationOf), updatedReplicas: updatedOf(object, spec) }),
  };
};

/** HorizontalPodAutoscaler and ScaledObject name a scaleTargetRef, VerticalPodAutoscaler a targetRef. */
export const autoscalerOf = (object: Fields): Autoscaler => {
  const { namespace = DEFAULT_NAMESPACE, name } = metadataOf(object, true);
  const kind = textAt(object, 'kind') ?? '';
  const spec = fieldsAt(object, 'spec');
  const target = objectAt(spec, kind === 'VerticalPodAutoscaler' ? 'targetRef' : 'scaleTargetRef', (inner) => ({
    kind: textAt(inner, 'kind') ?? 'Deployment',
    name: textAt(inner, 'name') ?? '',
  }));
  const mode = objectAt(spec, 'updatePolicy', (inner) => textAt(inner, 'updateMode'));
  return {
    kind,
    namespace,
    name,
    targetKind: target?.kind ?? '',
    targetName: target?.name ?? '',
    ...defined({ maxReplicas: wholeAt(spec, 'maxReplicas') ?? wholeAt(spec, 'maxReplicaCount') }),
    off: mode === 'Off' || mode === 'Initial',
  };
};

// Objects that show who load-balances Services, reduced to agents' images, arguments and Nodes, and to settings.
// Webhook configurations and events, reduced to what shows whether hints are written and used.
import type { LabelSelector } from '../../apis/admission.ts';
import { type Fields, defined, isFields } from '../../apis/values.ts';
import type { StringMap } from '../../apis/meta.ts';
import { KUBE_PROXY_AGENT, KUBE_PROXY_CONFIGS, PLANES, isAgent } from '../routers/planes.ts';
import type { RouterContainer, RouterObject } from '../routers/types.ts';
import type { EventSummary, WebhookSummary } from '../snapshot.ts';
import {
  DEFAULT_NAMESPACE,
  asFields,
  asText,
  fieldsAt,
  flatYaml,
  listAt,
  metadataOf,
  objectAt,
  stringsAt,
  textAt,
} from './fields.ts';

const OPERATORS: ReadonlySet<string> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist']);

export const selectorOf = (fields: Fields): LabelSelector => ({
  matchLabels: stringsAt(fields, 'matchLabels') ?? {},
  matchExpressions: (listAt(fields, 'matchExpressions', asFields) ?? []).flatMap((inner) => {
    const operator = textAt(inner, 'operator') ?? '';
    if (!OPERATORS.has(operator)) return [];
    return [
      {
        key: textAt(inner, 'key') ?? '',
        operator: operator as 'In',
        values: listAt(inner, 'values', asText) ?? [],
      },
    ];
  }),
});

const covers = (values: readonly string[] | undefined, wanted: string): boolean =>
  (values ?? []).some((value) => value === wanted || value === '*');

const servesSlices = (rule: unknown): boolean => {
  const fields = asFields(rule);
  return (
    covers(listAt(fields, 'apiGroups', asText), 'discovery.k8s.io') &&
    covers(listAt(fields, 'resources', asText), 'endpointslices') &&
    covers(listAt(fields, 'operations', asText), 'UPDATE')
  );
};

/** The webhooks of one MutatingWebhookConfiguration; `caNotAfter` is filled in where certificates can be read. */
export const webhooksOf = (object: Fields): WebhookSummary[] => {
  const { name: configuration } = metadataOf(object, false);
  const read = (item: unknown): WebhookSummary => {
    const fields = asFields(item);
    const client = objectAt(fields, 'clientConfig', (inner) =>
      defined({
        service: objectAt(inner, 'service', (service) => ({
          namespace: textAt(service, 'namespace') ?? '',
          name: textAt(service, 'name') ?? '',
        })),
        caBundle: textAt(inner, 'caBundle'),
      }),
    );
    return {
      configuration,
      name: textAt(fields, 'name') ?? '',
      slices: (listAt(fields, 'rules', servesSlices) ?? []).some(Boolean),
      objectSelector: objectAt(fields, 'objectSelector', selectorOf) ?? {},
      namespaceSelector: objectAt(fields, 'namespaceSelector', selectorOf) ?? {},
      failurePolicy: textAt(fields, 'failurePolicy') ?? 'Fail',
      ...client,
    };
  };
  return listAt(object, 'webhooks', read) ?? [];
};

/** An event about a Service; undefined for any other. Reads core/v1 and events.k8s.io/v1. */
export const eventOf = (object: Fields): EventSummary | undefined => {
  const { namespace = DEFAULT_NAMESPACE } = metadataOf(object, true);
  const regarding = objectAt(object, 'involvedObject', (inner) => inner) ?? fieldsAt(object, 'regarding');
  if (regarding['kind'] !== 'Service') return undefined;
  const series = objectAt(object, 'series', (inner) => textAt(inner, 'lastObservedTime'));
  const lastSeen = textAt(object, 'lastTimestamp') ?? series ?? textAt(object, 'eventTime') ?? '';
  return {
    namespace: textAt(regarding, 'namespace') ?? namespace,
    service: textAt(regarding, 'name') ?? '',
    type: textAt(object, 'type') ?? '',
    reason: textAt(object, 'reason') ?? '',
    message: textAt(object, 'message') ?? textAt(object, 'note') ?? '',
    lastSeen,
  };
};

const envOf = (container: Fields): StringMap => {
  const entries = (listAt(container, 'env', asFields) ?? []).flatMap((entry) => {
    const [name, value] = [entry['name'], entry['value']];
    return typeof name === 'string' && typeof value === 'string' && name.startsWith('FELIX_') ? [[name, value]] : [];
  });
  return Object.fromEntries(entries) as StringMap;
};

const containerOf = (item: unknown): RouterContainer => {
  const container = asFields(item);
  return {
    name: textAt(container, 'name') ?? '',
    image: textAt(container, 'image') ?? '',
    args: [...(listAt(container, 'command', asText) ?? []), ...(listAt(container, 'args', asText) ?? [])],
    env: envOf(container),
  };
};

/** Node selector and the terms of a required node affinity, as alternatives. */
const selectorsOf = (podSpec: Fields): LabelSelector[] => {
  const matchLabels = stringsAt(podSpec, 'nodeSelector') ?? {};
  const affinity = objectAt(podSpec, 'affinity', (inner) => objectAt(inner, 'nodeAffinity', (own) => own)) ?? {};
  const terms =
    objectAt(affinity, 'requiredDuringSchedulingIgnoredDuringExecution', (inner) =>
      listAt(inner, 'nodeSelectorTerms', (term) => selectorOf(asFields(term)).matchExpressions ?? []),
    ) ?? [];
  if (terms.length > 0) return terms.map((matchExpressions) => ({ matchLabels, matchExpressions }));
  return Object.keys(matchLabels).length === 0 ? [] : [{ matchLabels, matchExpressions: [] }];
};

const configMapsOf = (podSpec: Fields): string[] =>
  (listAt(podSpec, 'volumes', asFields) ?? []).flatMap((volume) => {
    const source = isFields(volume['configMap']) ? volume['configMap'] : {};
    return typeof source['name'] === 'string' ? [source['name']] : [];
  });

const specAt = (object: Fields, ...path: readonly string[]): Fields => {
  let inner: unknown = object;
  for (const key of path) inner = isFields(inner) ? inner[key] : undefined;
  return isFields(inner) ? inner : {};
};

const base = (object: Fields, kind: string): RouterObject => {
  const { namespace = '', name, labels = {} } = metadataOf(object, false);
  return {
    kind,
    namespace,
    name,
    labels,
    nodeName: '',
    owner: '',
    nodes: [],
    containers: [],
    configMaps: [],
    settings: {},
    rolling: false,
  };
};

const numberAt = (object: Fields, key: string): number => {
  const value = object[key];
  return typeof value === 'number' ? value : 0;
};

/** Undefined while the DaemonSet's controller has not seen its last change, or a Pod is still to come or of an older template. */
const scheduledOf = (object: Fields): { scheduled?: number } => {
  const [metadata, status] = [specAt(object, 'metadata'), specAt(object, 'status')];
  const [desired, updated] = [numberAt(status, 'desiredNumberScheduled'), numberAt(status, 'updatedNumberScheduled')];
  const seen = status['observedGeneration'] !== undefined && status['observedGeneration'] === metadata['generation'];
  return seen && updated === desired ? { scheduled: desired } : {};
};

export const daemonSetOf = (object: Fields): RouterObject => {
  const podSpec = specAt(object, 'spec', 'template', 'spec');
  const status = specAt(object, 'status');
  const labels = stringsAt(specAt(object, 'spec', 'template', 'metadata'), 'labels') ?? {};
  const own = base(object, 'DaemonSet');
  return {
    ...own,
    labels: { ...own.labels, ...labels },
    nodes: selectorsOf(podSpec),
    containers: listAt(podSpec, 'containers', containerOf) ?? [],
    configMaps: configMapsOf(podSpec),
    rolling: numberAt(status, 'updatedNumberScheduled') < numberAt(status, 'desiredNumberScheduled'),
    ...scheduledOf(object),
  };
};

const AGENTS = [KUBE_PROXY_AGENT, ...PLANES.map(({ agent }) => agent)];

const ownerOf = (object: Fields): string =>
  (listAt(specAt(object, 'metadata'), 'ownerReferences', asFields) ?? []).flatMap(({ kind, name }) =>
    kind === 'DaemonSet' && typeof name === 'string' ? [name] : [],
  )[0] ?? '';

/** A data plane's Pod; undefined for any other. */
export const routerPodOf = (object: Fields): RouterObject | undefined => {
  const podSpec = specAt(object, 'spec');
  const nodeName = textAt(podSpec, 'nodeName') ?? '';
  const phase = textAt(specAt(object, 'status'), 'phase') ?? 'Running';
  if (nodeName === '' || phase === 'Failed' || phase === 'Succeeded') return undefined;
  const pod: RouterObject = {
    ...base(object, 'Pod'),
    nodeName,
    owner: ownerOf(object),
    containers: listAt(podSpec, 'containers', containerOf) ?? [],
  };
  if (!AGENTS.some((agent) => isAgent(agent, pod))) return undefined;
  return { ...pod, configMaps: configMapsOf(podSpec) };
};

/** A DaemonSet that is the agent of a data plane. */
export const isAgentSet = (set: RouterObject): boolean => AGENTS.some((agent) => isAgent(agent, set));

const scalars = (fields: Fields, path: readonly string[], into: Record<string, string>): void => {
  for (const [key, value] of Object.entries(fields)) {
    if (isFields(value)) scalars(value, [...path, key], into);
    else if (['string', 'boolean', 'number'].includes(typeof value)) into[[...path, key].join('.')] = String(value);
  }
};

/** Settings of a custom resource, by dotted path from `spec`. */
export const settingsObjectOf = (object: Fields): RouterObject => {
  const kind = textAt(object, 'kind') ?? '';
  const settings: Record<string, string> = {};
  scalars(specAt(object, 'spec'), ['spec'], settings);
  return { ...base(object, kind), settings };
};

export const ciliumNodeConfigOf = (object: Fields): RouterObject => ({
  ...base(object, 'CiliumNodeConfig'),
  nodes: [selectorOf(specAt(object, 'spec', 'nodeSelector'))],
  settings: stringsAt(specAt(object, 'spec'), 'defaults') ?? {},
});

const KUBE_OVN = /^kube-ovn-controller$/;

/** kube-ovn-controller with its flags as settings; undefined for any other Deployment. */
export const routerDeploymentOf = (object: Fields): RouterObject | undefined => {
  const own = base(object, 'Deployment');
  if (!KUBE_OVN.test(own.name)) return undefined;
  const containers = listAt(specAt(object, 'spec', 'template', 'spec'), 'containers', containerOf) ?? [];
  const flags = containers.flatMap(({ args }) => args).flatMap((arg) => /^--([^=]+)=(.*)$/.exec(arg)?.slice(1) ?? []);
  const settings: Record<string, string> = {};
  for (let at = 0; at + 1 < flags.length; at += 2) settings[flags[at] ?? ''] = flags[at + 1] ?? '';
  return { ...own, containers, settings };
};

const CILIUM = /^cilium-config$/;
const ANTREA = /^antrea-config/;

/** Keys of cilium-config that are looked at. */
const CILIUM_KEYS = new Set([
  'kube-proxy-replacement',
  'enable-service-topology',
  'bpf-lb-sock',
  'bpf-lb-sock-hostns-only',
  'ipam',
]);
const FLAT_KEYS = /^(?:featureGates\.|antreaProxy\.|mode$)/;

const only = (settings: StringMap, keep: (key: string) => boolean): StringMap =>
  Object.fromEntries(Object.entries(settings).filter(([key]) => keep(key)));

/** Configuration of kube-proxy, Cilium or Antrea; undefined for any other ConfigMap. */
export const routerConfigOf = (object: Fields): RouterObject | undefined => {
  const own = base(object, 'ConfigMap');
  const data = (): StringMap => stringsAt(object, 'data') ?? {};
  if (CILIUM.test(own.name)) return { ...own, settings: only(data(), (key) => CILIUM_KEYS.has(key)) };
  if (!ANTREA.test(own.name) && !KUBE_PROXY_CONFIGS.test(own.name)) return undefined;
  const flat = Object.values(data()).map((text) => only(flatYaml(text), (key) => FLAT_KEYS.test(key)));
  return { ...own, settings: Object.assign({}, ...flat) as StringMap };
};

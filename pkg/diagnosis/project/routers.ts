// Objects that show who load-balances Services, reduced to agents' images, arguments and Nodes, and to settings.
// Webhook configurations and events, reduced to what shows whether hints are written and used.
import type { LabelSelector } from '../../apis/admission.ts';
import { type Fields, defined, isFields } from '../../apis/values.ts';
import type { StringMap } from '../../apis/meta.ts';
import { isAnyAgent } from '../routers/planes.ts';
import type { RouterContainer, RouterObject } from '../routers/types.ts';
import {
  DEFAULT_NAMESPACE,
  fieldsIn,
  flatYaml,
  listIn,
  metadataOf,
  stringsIn,
  textIn,
  textsIn,
  wholeIn,
} from './fields.ts';

const OPERATORS: ReadonlySet<string> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist']);

export const selectorOf = (selector: unknown): LabelSelector => ({
  matchLabels: stringsIn(selector, 'matchLabels'),
  matchExpressions: listIn(selector, 'matchExpressions').flatMap((inner) => {
    const operator = textIn(inner, 'operator');
    if (!OPERATORS.has(operator)) return [];
    return [{ key: textIn(inner, 'key'), operator: operator as 'In', values: textsIn(inner, 'values') }];
  }),
});

const covers = (rule: Fields, field: string, wanted: string): boolean =>
  textsIn(rule, field).some((value) => value === wanted || value === '*');

const servesSlices = (rule: Fields): boolean =>
  covers(rule, 'apiGroups', 'discovery.k8s.io') &&
  covers(rule, 'resources', 'endpointslices') &&
  covers(rule, 'operations', 'UPDATE');

/** One webhook of a MutatingWebhookConfiguration. */
export type WebhookSummary = Readonly<ReturnType<typeof webhooksOf>[number]> & {
  /** End of the validity of the certificate that is valid longest, milliseconds since the epoch; undefined: none could be read. */
  readonly caNotAfter?: number;
};

/** `caNotAfter` is filled in where certificates can be read. */
export const webhooksOf = (object: Fields) => {
  const { name: configuration } = metadataOf(object, false);
  return listIn(object, 'webhooks').map((item) => {
    const service = fieldsIn(item, 'clientConfig.service');
    const caBundle = textIn(item, 'clientConfig.caBundle');
    return {
      configuration,
      name: textIn(item, 'name'),
      /** Serves EndpointSlices on create and update. */
      slices: listIn(item, 'rules').some(servesSlices),
      objectSelector: item['objectSelector'] === undefined ? {} : selectorOf(item['objectSelector']),
      namespaceSelector: item['namespaceSelector'] === undefined ? {} : selectorOf(item['namespaceSelector']),
      failurePolicy: textIn(item, 'failurePolicy') || 'Fail',
      ...defined({
        // None for a URL.
        service:
          textIn(service, 'name') === ''
            ? undefined
            : { namespace: textIn(service, 'namespace'), name: textIn(service, 'name') },
        caBundle: caBundle === '' ? undefined : caBundle,
      }),
    };
  });
};

/** An event about a Service. */
export type EventSummary = Readonly<NonNullable<ReturnType<typeof eventOf>>>;

/** Undefined where it is about anything else. Reads core/v1 and events.k8s.io/v1. */
export const eventOf = (object: Fields) => {
  const { namespace = DEFAULT_NAMESPACE } = metadataOf(object, true);
  const regarding = fieldsIn(object, object['involvedObject'] === undefined ? 'regarding' : 'involvedObject');
  if (regarding['kind'] !== 'Service') return undefined;
  const times = ['lastTimestamp', 'series.lastObservedTime', 'eventTime'].map((path) => textIn(object, path));
  return {
    namespace: textIn(regarding, 'namespace') || namespace,
    service: textIn(regarding, 'name'),
    type: textIn(object, 'type'),
    reason: textIn(object, 'reason'),
    message: textIn(object, 'message') || textIn(object, 'note'),
    /** RFC 3339; empty if not known. */
    lastSeen: times.find((time) => time !== '') ?? '',
  };
};

const envOf = (container: Fields): StringMap =>
  Object.fromEntries(
    listIn(container, 'env').flatMap(({ name, value }) =>
      typeof name === 'string' && typeof value === 'string' && name.startsWith('FELIX_')
        ? [[name, value] as const]
        : [],
    ),
  );

const containersOf = (podSpec: Fields): RouterContainer[] =>
  listIn(podSpec, 'containers').map((container) => ({
    name: textIn(container, 'name'),
    image: textIn(container, 'image'),
    args: [...textsIn(container, 'command'), ...textsIn(container, 'args')],
    env: envOf(container),
  }));

/** Node selector and the terms of a required node affinity, as alternatives. */
const selectorsOf = (podSpec: Fields): LabelSelector[] => {
  const matchLabels = stringsIn(podSpec, 'nodeSelector');
  const path = 'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  const terms = listIn(podSpec, path).map((term) => selectorOf(term).matchExpressions ?? []);
  if (terms.length > 0) return terms.map((matchExpressions) => ({ matchLabels, matchExpressions }));
  return Object.keys(matchLabels).length === 0 ? [] : [{ matchLabels, matchExpressions: [] }];
};

const configMapsOf = (podSpec: Fields): string[] =>
  listIn(podSpec, 'volumes')
    .map((volume) => textIn(volume, 'configMap.name'))
    .filter((name) => name !== '');

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

const scheduled = (object: Fields, which: string): number => wholeIn(object, `status.${which}NumberScheduled`) ?? 0;

/** Undefined while the DaemonSet's controller has not seen its last change, or a Pod is still to come or of an older template. */
const scheduledOf = (object: Fields): { scheduled?: number } => {
  const [desired, observed] = [scheduled(object, 'desired'), wholeIn(object, 'status.observedGeneration')];
  const seen = observed !== undefined && observed === wholeIn(object, 'metadata.generation');
  return seen && scheduled(object, 'updated') === desired ? { scheduled: desired } : {};
};

export const daemonSetOf = (object: Fields): RouterObject => {
  const podSpec = fieldsIn(object, 'spec.template.spec');
  const own = base(object, 'DaemonSet');
  return {
    ...own,
    labels: { ...own.labels, ...stringsIn(object, 'spec.template.metadata.labels') },
    nodes: selectorsOf(podSpec),
    containers: containersOf(podSpec),
    configMaps: configMapsOf(podSpec),
    rolling: scheduled(object, 'updated') < scheduled(object, 'desired'),
    ...scheduledOf(object),
  };
};

const ownerOf = (object: Fields): string =>
  textIn(
    listIn(object, 'metadata.ownerReferences').find(({ kind }) => kind === 'DaemonSet'),
    'name',
  );

/** A data plane's Pod; undefined for any other. */
export const routerPodOf = (object: Fields): RouterObject | undefined => {
  const podSpec = fieldsIn(object, 'spec');
  const nodeName = textIn(podSpec, 'nodeName');
  const phase = textIn(object, 'status.phase');
  if (nodeName === '' || phase === 'Failed' || phase === 'Succeeded') return undefined;
  const pod: RouterObject = {
    ...base(object, 'Pod'),
    nodeName,
    owner: ownerOf(object),
    containers: containersOf(podSpec),
  };
  if (!isAnyAgent(pod)) return undefined;
  return { ...pod, configMaps: configMapsOf(podSpec) };
};

const scalars = (fields: Fields, path: readonly string[], into: Record<string, string>): void => {
  for (const [key, value] of Object.entries(fields)) {
    if (isFields(value)) scalars(value, [...path, key], into);
    else if (['string', 'boolean', 'number'].includes(typeof value)) into[[...path, key].join('.')] = String(value);
  }
};

/** Settings of a custom resource, by dotted path from `spec`. */
export const settingsObjectOf = (object: Fields): RouterObject => {
  const kind = textIn(object, 'kind');
  const settings: Record<string, string> = {};
  scalars(fieldsIn(object, 'spec'), ['spec'], settings);
  return { ...base(object, kind), settings };
};

export const ciliumNodeConfigOf = (object: Fields): RouterObject => ({
  ...base(object, 'CiliumNodeConfig'),
  nodes: [selectorOf(fieldsIn(object, 'spec.nodeSelector'))],
  settings: stringsIn(object, 'spec.defaults'),
});

const KUBE_OVN = /^kube-ovn-controller$/;

/** kube-ovn-controller with its flags as settings; undefined for any other Deployment. */
export const routerDeploymentOf = (object: Fields): RouterObject | undefined => {
  const own = base(object, 'Deployment');
  if (!KUBE_OVN.test(own.name)) return undefined;
  const containers = containersOf(fieldsIn(object, 'spec.template.spec'));
  const flags = containers.flatMap(({ args }) => args).flatMap((arg) => /^--([^=]+)=(.*)$/.exec(arg)?.slice(1) ?? []);
  const settings: Record<string, string> = {};
  for (let at = 0; at + 1 < flags.length; at += 2) settings[flags[at] ?? ''] = flags[at + 1] ?? '';
  return { ...own, containers, settings };
};

const CILIUM = /^cilium-config$/;
/** kube-proxy's, also what a DaemonSet for a pool of Nodes may call its own, and Antrea's. */
const CONFIGS = /^(?:kube-proxy|antrea-config)/;

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
  const data = (): StringMap => stringsIn(object, 'data');
  if (CILIUM.test(own.name)) return { ...own, settings: only(data(), (key) => CILIUM_KEYS.has(key)) };
  if (!CONFIGS.test(own.name)) return undefined;
  const flat = Object.values(data()).map((text) => only(flatYaml(text), (key) => FLAT_KEYS.test(key)));
  return { ...own, settings: Object.assign({}, ...flat) as StringMap };
};

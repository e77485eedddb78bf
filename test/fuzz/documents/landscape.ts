// Valid landscapes of Gardener: a seed that is also the garden runtime, with a shoot, an extension, and a plain namespace.
import { ANNOTATION_APPLIED, EXTENSION_TYPE, LABEL_MANAGED, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { ROUTING_CONFIG_SCHEMA } from '../../../pkg/apis/routing-config-reader.ts';
import { formatApplied } from '../../../pkg/routing/index.ts';
import { node, service, slice } from '../../fixtures/core.ts';
import { cluster, etcd, garden, namespace, seed, shoot, ZONES } from '../../fixtures/gardener.ts';
import type { Sample } from '../types.ts';

const CONTROL_PLANE = 'shoot--foo--bar';
const VERSIONED = { resourceVersion: '1', uid: 'u' };
const APPLIED = formatApplied({ trafficDistribution: 'PreferClose', labels: {}, annotations: {} }) ?? '';

export const PROVIDER_CONFIG = {
  apiVersion: ROUTING_CONFIG_SCHEMA.properties.apiVersion.const,
  kind: ROUTING_CONFIG_SCHEMA.properties.kind.const,
  services: [
    { name: 'networking-webhook', strategy: 'same-zone' },
    { selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['a', 'b'] }] } },
  ],
  exclude: [{ selector: { matchLabels: { app: 'c' } } }],
};

const extension = (extensionClass: string, home: string): object => ({
  apiVersion: 'extensions.gardener.cloud/v1alpha1',
  kind: 'Extension',
  metadata: { name: EXTENSION_TYPE, namespace: home, generation: 1, finalizers: ['x'], ...VERSIONED },
  spec: { type: EXTENSION_TYPE, class: extensionClass, providerConfig: PROVIDER_CONFIG },
  status: {
    observedGeneration: 1,
    lastOperation: { type: 'Reconcile', state: 'Succeeded', progress: 100, description: 'd', lastUpdateTime: 't' },
    conditions: [{ type: 'TopologyAwareRoutingEffective', status: 'True', reason: 'r', message: 'm' }],
  },
});

const named = (home: string, name: string, labels: Record<string, string> = {}, annotations = {}): object =>
  service({ metadata: { name, namespace: home, labels, annotations, ...VERSIONED } });

/** By plural, as an API server lists them; `seeds` is the virtual garden's. */
export const LANDSCAPE: Readonly<Record<string, readonly object[]>> = {
  namespaces: [
    namespace({ metadata: { ...VERSIONED } }),
    namespace({ role: 'garden', metadata: { ...VERSIONED } }),
    namespace({ role: 'extension', metadata: { ...VERSIONED } }),
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', ...VERSIONED } },
  ],
  nodes: ZONES.map((zone) => node({ zone, metadata: { ...VERSIONED } })),
  services: [
    named(CONTROL_PLANE, 'kube-apiserver'),
    named(CONTROL_PLANE, 'gardener-resource-manager'),
    named(CONTROL_PLANE, 'networking-webhook', { app: 'a' }),
    named(CONTROL_PLANE, 'other', { app: 'c' }, { [ANNOTATION_APPLIED]: APPLIED }),
    named('garden', 'gardener-apiserver'),
    named('extension-provider-local', 'webhook', { [LABEL_MANAGED]: 'true' }),
    named('shop', 'web', { [LABEL_MANAGED]: 'true', [LABEL_STRATEGY]: 'same-zone' }),
  ],
  endpointslices: [slice({ service: 'web', metadata: { name: 'web-1', namespace: 'shop', ...VERSIONED } })],
  etcds: [etcd({ metadata: { name: 'etcd-main', namespace: CONTROL_PLANE, ...VERSIONED } })],
  clusters: [cluster({ metadata: { name: CONTROL_PLANE, ...VERSIONED }, spec: { seed: seed(), shoot: shoot() } })],
  gardens: [garden({ metadata: { name: 'garden', ...VERSIONED } })],
  extensions: [extension('shoot', CONTROL_PLANE), extension('seed', 'garden'), extension('garden', 'garden')],
  seeds: [seed({ metadata: { name: 'my-seed', ...VERSIONED } })],
};

/** Kinds whose content is checked by nobody, or written by many, come up more often. */
const CHANGED = [
  'clusters',
  'clusters',
  'extensions',
  'extensions',
  'gardens',
  'seeds',
  'etcds',
  'services',
  'services',
  'namespaces',
  'nodes',
  'endpointslices',
];

/** The objects of one kind; the others are as they are in `LANDSCAPE`. */
export const LANDSCAPES: readonly Sample[] = CHANGED.map((plural) => ({
  name: plural,
  value: { [plural]: LANDSCAPE[plural] },
}));

// Valid documents of the closed loop.
import type { FlowPolicySpec } from '../../../pkg/apis/flow-policy.ts';
import {
  ANNOTATION_PLAN,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_STRATEGY,
  PLAN_ZONES,
} from '../../../pkg/apis/names.ts';
import { endpoint, node, service, slice } from '../../fixtures/core.ts';
import { ZONES } from '../../fixtures/gardener.ts';
import type { Sample } from '../types.ts';

/** Every field that there is. */
export const FLOW_POLICY_SPEC: FlowPolicySpec = {
  mode: 'Enforce',
  targetUtilizationPercent: 70,
  upperUtilizationPercent: 80,
  upDwell: '30s',
  downDwell: '5m',
  planInterval: '30s',
  metrics: {
    source: 'prometheus',
    query: 'sum by (namespace, pod) (rate(requests_total{namespace="$namespace", service=~"$service"}[1m]))',
    interval: '15s',
  },
  capacity: { from: 'Value', value: '500m' },
  minEndpointsPerZone: 1,
  worthwhileSavingPercent: 2,
  zoneCosts: [
    { from: 'eu-1a', to: 'eu-1c', cost: 2 },
    { from: 'eu-1c', to: 'eu-1a', cost: 0.5 },
  ],
  staleness: { holdAfter: '2m', safeModeAfter: '10m' },
  safeMode: 'SameZone',
};

/** One a quarter of a minute: load moves from zone to zone. */
export const OBSERVATIONS: readonly object[] = [0, 1, 2, 3].map((at) => ({
  time: at * 15,
  zones: ZONES,
  window: 15,
  clients: { 'eu-1a': 2, 'eu-1b': 1, 'eu-1c': 1 },
  endpoints: [0, 1, 2, 3, 4].map((index) => ({
    name: `web-${index}`,
    zone: ZONES[index % ZONES.length],
    ready: true,
    capacity: 1,
    load: at === 0 ? null : ((index + at) % 4) / 4,
    sampledAt: at === 0 ? null : at * 15 - 2,
  })),
}));

const VERSIONED = { namespace: 'shop', resourceVersion: '1' };
const PODS = [0, 1, 2, 3, 4];

/** A Service with its loop, and everything that the loop looks at; `reading` is what its source of load says. */
const loopOf = (strategy: string, policy: object | undefined): object => {
  const labels = { [LABEL_STRATEGY]: strategy };
  return {
    service: service({
      metadata: {
        ...VERSIONED,
        name: 'web',
        uid: 'u-1',
        labels,
        annotations: { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/${strategy}` },
      },
    }),
    ...(policy === undefined ? {} : { policy }),
    nodes: ZONES.map((zone) => node({ zone, metadata: { resourceVersion: '1' } })),
    pods: PODS.map((index) => ({
      metadata: { ...VERSIONED, name: `web-${index}` },
      spec: { containers: [{ name: 'web', resources: { requests: { cpu: '1' }, limits: { cpu: '2' } } }] },
    })),
    slices: (['IPv4', 'IPv6'] as const).map((addressType) =>
      slice({
        service: 'web',
        metadata: {
          ...VERSIONED,
          name: `web-${addressType.toLowerCase()}`,
          uid: 's-1',
          labels,
          annotations: { [ANNOTATION_PLAN]: PLAN_ZONES },
        },
        addressType,
        endpoints: PODS.map((index) =>
          endpoint({
            zone: ZONES[index % 3] ?? '',
            addresses: [addressType === 'IPv4' ? `10.0.0.${index + 1}` : `fd00::${index + 1}`],
            targetRef: { kind: 'Pod', name: `web-${index}`, namespace: 'shop', uid: `p-${index}` },
            hints: { forZones: [{ name: ZONES[index % 3] ?? '' }] },
          }),
        ),
      }),
    ),
    reading: {
      kind: 'pods',
      samples: PODS.map((index) => ({ pod: `web-${index}`, load: 0.2 * index, age: 1, window: 15 })),
      problems: [],
    },
  };
};

const policyOf = (spec: FlowPolicySpec, status?: object): object => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'f-1', resourceVersion: '1', generation: 3 },
  spec,
  ...(status === undefined ? {} : { status }),
});

const pairs = {
  kind: 'zone-pairs',
  samples: ZONES.flatMap((sourceZone) =>
    ZONES.map((destinationZone) => ({ sourceZone, destinationZone, load: 0.4, age: 1, window: 15 })),
  ),
  problems: ['some are missing'],
};

const STATUS = {
  observedGeneration: 2,
  endpoints: 5,
  demand: '2',
  zones: [{ zone: 'eu-1a', demand: '1', endpoints: 2, utilizationPercent: 50, spillPercent: 0 }],
  plan: { spread: false, endpoints: [{ name: 'web-0', forZones: ['eu-1a', 'eu-1b'] }] },
  conditions: [
    { type: 'Effective', status: 'True', reason: 'InForce', message: 'm', lastTransitionTime: '2026-11-20T00:00:00Z' },
  ],
  lastChanges: [{ time: '2026-11-20T00:00:00Z', reason: 'Planned', message: 'm' }],
};

const { metrics: _, ...WITHOUT_QUERY } = FLOW_POLICY_SPEC;

/** The same with names that every object has from its prototype: all of them are valid names of zones and Pods. */
const underOtherNames = (value: object): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll('eu-1a', 'constructor')
      .replaceAll('eu-1b', 'toString')
      .replaceAll('web-0', 'constructor')
      .replaceAll('web-1', 'value-of'),
  );

/** Endpoints say a zone that no Node is in. */
const elsewhere = (value: object): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll('"zone":"eu-1a"', '"zone":"hasOwnProperty"'));

export const LOOPS: readonly Sample[] = [
  { name: 'names of prototypes', value: underOtherNames(loopOf('load-aware', policyOf(WITHOUT_QUERY))) },
  { name: 'endpoints elsewhere', value: elsewhere(loopOf('load-aware', undefined)) },
  { name: 'load-aware', value: loopOf('load-aware', undefined) },
  { name: 'with a policy', value: loopOf('load-aware', policyOf({ ...WITHOUT_QUERY, capacity: { from: 'Limits' } })) },
  { name: 'observing', value: loopOf('load-aware', policyOf({ mode: 'Observe' }, STATUS)) },
  { name: 'with a status', value: loopOf('load-aware', policyOf({ safeMode: 'SameZone' }, STATUS)) },
  { name: 'pairs of zones', value: { ...loopOf('load-aware', policyOf(WITHOUT_QUERY)), reading: pairs } },
  { name: 'proportional', value: loopOf('proportional', undefined) },
];

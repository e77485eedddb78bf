// Which slices the sandbox's EndpointSlice controller creates, updates, keeps and deletes.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint, EndpointHints } from '../../../pkg/apis/core.ts';
import type { StoredObject } from '../../sandbox/object.ts';
import { hintModeOf, applyHints, type HintMode } from '../../sandbox/slice-hints.ts';
import { endpointsOf, planSlices, reuseNames, sliceLabels, type SlicePlan } from '../../sandbox/slice-plan.ts';

const service: StoredObject = {
  metadata: { name: 'web', namespace: 'ns', uid: 'u', labels: { team: 'x', 'kubernetes.io/service-name': 'fake' } },
  spec: { clusterIP: '198.18.0.1' },
};
const PORTS = [{ name: '', protocol: 'TCP', port: 80 }];
const KEY = JSON.stringify(PORTS);

const anEndpoint = (index: number, rest: Partial<Endpoint> = {}): Endpoint => ({
  addresses: [`198.19.${index >> 8}.${index & 255}`],
  conditions: { ready: true, serving: true, terminating: false },
  targetRef: { kind: 'Pod', namespace: 'ns', name: `p${index}` },
  zone: 'a',
  ...rest,
});
const many = (count: number, from = 0): Endpoint[] =>
  Array.from({ length: count }, (_, index) => anEndpoint(from + index));
const aSlice = (name: string, endpoints: Endpoint[], ports: unknown = PORTS): StoredObject => ({
  metadata: { name, namespace: 'ns', labels: sliceLabels(service), annotations: { kept: 'yes' } },
  addressType: 'IPv4',
  endpoints,
  ports,
});
const plan = (slices: StoredObject[], endpoints: Endpoint[]): SlicePlan =>
  planSlices(
    service,
    'IPv4',
    slices,
    endpoints.length === 0 ? new Map() : new Map([[KEY, { ports: PORTS, endpoints }]]),
  );
const sizes = (result: SlicePlan): Record<string, number[]> => ({
  create: result.create.map((slice) => endpointsOf(slice).length),
  update: result.update.map((slice) => endpointsOf(slice).length),
  unchanged: result.unchanged.map((slice) => endpointsOf(slice).length),
  remove: result.remove.map((slice) => endpointsOf(slice).length),
});

describe('planSlices', () => {
  for (const { name, slices, endpoints, expected } of [
    {
      name: 'creates slices of at most 100',
      slices: [],
      endpoints: many(250),
      expected: { create: [100, 100, 50], update: [], unchanged: [], remove: [] },
    },
    {
      name: 'keeps what is right',
      slices: [aSlice('s', many(3))],
      endpoints: many(3),
      expected: { create: [], update: [], unchanged: [3], remove: [] },
    },
    {
      name: 'adds to a slice with room',
      slices: [aSlice('s', many(3))],
      endpoints: many(4),
      expected: { create: [], update: [4], unchanged: [], remove: [] },
    },
    {
      name: 'adds to the fullest slice that has room',
      slices: [aSlice('s', many(3)), aSlice('t', many(50, 200))],
      endpoints: [...many(3), ...many(50, 200), ...many(2, 500)],
      expected: { create: [], update: [52], unchanged: [3], remove: [] },
    },
    {
      name: 'fills slices that are written anyway first',
      slices: [aSlice('s', many(3)), aSlice('t', many(50, 200))],
      endpoints: [...many(2), ...many(50, 200), ...many(2, 500)],
      expected: { create: [], update: [4], unchanged: [50], remove: [] },
    },
    {
      name: 'creates one more when none has room',
      slices: [aSlice('s', many(100))],
      endpoints: many(101),
      expected: { create: [1], update: [], unchanged: [100], remove: [] },
    },
    {
      name: 'deletes a slice that lost everything',
      slices: [aSlice('s', many(100)), aSlice('t', many(1, 100))],
      endpoints: many(100),
      expected: { create: [], update: [], unchanged: [100], remove: [1] },
    },
    {
      name: 'keeps an empty slice for a Service without Pods',
      slices: [],
      endpoints: [],
      expected: { create: [0], update: [], unchanged: [], remove: [] },
    },
    {
      name: 'leaves the empty slice alone',
      slices: [aSlice('s', [], [])],
      endpoints: [],
      expected: { create: [], update: [], unchanged: [0], remove: [] },
    },
    {
      name: 'ignores hints when it compares',
      slices: [aSlice('s', [anEndpoint(0, { hints: { forZones: [{ name: 'b' }] } })])],
      endpoints: many(1),
      expected: { create: [], update: [], unchanged: [1], remove: [] },
    },
    {
      name: 'updates an endpoint in place',
      slices: [aSlice('s', many(2))],
      endpoints: [anEndpoint(0, { conditions: { ready: false, serving: false, terminating: false } }), anEndpoint(1)],
      expected: { create: [], update: [2], unchanged: [], remove: [] },
    },
  ]) {
    it(name, () => expect(sizes(plan(slices, endpoints))).to.deep.equal(expected));
  }

  it('forces labels and keeps annotations', () => {
    const slice = aSlice('s', many(1));
    slice.metadata.labels = { ...slice.metadata.labels, foreign: 'yes' };
    const [updated] = plan([slice], many(1)).update;
    expect(updated?.metadata.labels).to.deep.equal({
      team: 'x',
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    });
    expect(updated?.metadata.annotations).to.deep.equal({ kept: 'yes' });
  });

  it('drops hints of a slice that it rewrites, as the original rebuilds endpoints from Pods', () => {
    const hinted = anEndpoint(0, { hints: { forZones: [{ name: 'a' }] } });
    const [updated] = plan([aSlice('s', [hinted, anEndpoint(1)])], many(1)).update;
    expect(updated === undefined ? [] : endpointsOf(updated)).to.deep.equal(many(1));
  });

  it('gives the name of a slice that would go to one that would come', () => {
    const result = reuseNames(plan([aSlice('s', many(1), [{ name: '', protocol: 'TCP', port: 81 }])], many(1)));
    expect(sizes(result)).to.deep.equal({ create: [], update: [1], unchanged: [], remove: [] });
    expect(result.update[0]?.metadata.name).to.equal('s');
  });
});

describe('hintModeOf', () => {
  const TOPOLOGY_MODE = 'service.kubernetes.io/topology-mode';
  const HINTS = 'service.kubernetes.io/topology-aware-hints';
  for (const { name, annotations = {}, distribution, minor, expected } of [
    { name: 'nothing', minor: 36, expected: 'none' },
    { name: 'Auto', annotations: { [TOPOLOGY_MODE]: 'Auto' }, minor: 36, expected: 'auto' },
    {
      name: 'auto wins over the field',
      annotations: { [TOPOLOGY_MODE]: 'auto' },
      distribution: 'PreferClose',
      minor: 36,
      expected: 'auto',
    },
    {
      name: 'the older key wins, even when empty',
      annotations: { [HINTS]: '', [TOPOLOGY_MODE]: 'auto' },
      minor: 26,
      expected: 'none',
    },
    { name: 'a custom heuristic', annotations: { [TOPOLOGY_MODE]: 'example.com/x' }, minor: 36, expected: 'none' },
    {
      name: 'a custom heuristic beside the field',
      annotations: { [TOPOLOGY_MODE]: 'example.com/x' },
      distribution: 'PreferClose',
      minor: 33,
      expected: 'same-zone',
    },
    { name: 'PreferClose before its gate', distribution: 'PreferClose', minor: 30, expected: 'none' },
    { name: 'PreferClose', distribution: 'PreferClose', minor: 31, expected: 'same-zone' },
    { name: 'PreferSameZone before its gate', distribution: 'PreferSameZone', minor: 33, expected: 'none' },
    { name: 'PreferSameZone', distribution: 'PreferSameZone', minor: 34, expected: 'same-zone' },
    { name: 'PreferSameNode', distribution: 'PreferSameNode', minor: 34, expected: 'same-node' },
  ]) {
    it(`${name} on 1.${minor} means ${expected}`, () => {
      const spec = distribution === undefined ? {} : { trafficDistribution: distribution };
      expect(hintModeOf({ metadata: { annotations }, spec }, minor)).to.equal(expected);
    });
  }
});

interface HintCase {
  readonly name: string;
  readonly mode: HintMode;
  readonly endpoints: Endpoint[];
  readonly minor?: number;
  readonly expected: 'unchanged' | (EndpointHints | undefined)[];
}

describe('applyHints', () => {
  const unchanged = (endpoints: Endpoint[]): SlicePlan => ({
    create: [],
    update: [],
    unchanged: [aSlice('s', endpoints)],
    remove: [],
  });
  const context = { ratios: undefined, family: 'IPv4', minor: 36, wasHinted: false };
  const own = { forZones: [{ name: 'a' }] };
  for (const { name, mode, endpoints, minor = 36, expected } of [
    { name: 'strips foreign hints', mode: 'none', endpoints: [anEndpoint(0, { hints: own })], expected: [undefined] },
    { name: 'leaves slices without hints alone', mode: 'none', endpoints: [anEndpoint(0)], expected: 'unchanged' },
    { name: 'writes the own zone', mode: 'same-zone', endpoints: [anEndpoint(0)], expected: [own] },
    {
      name: 'leaves right hints alone',
      mode: 'same-zone',
      endpoints: [anEndpoint(0, { hints: own })],
      expected: 'unchanged',
    },
    {
      name: 'corrects wrong hints',
      mode: 'same-zone',
      endpoints: [anEndpoint(0, { hints: { forZones: [{ name: 'b' }] } })],
      expected: [own],
    },
    {
      name: 'does not touch endpoints that are not ready',
      mode: 'same-zone',
      endpoints: [anEndpoint(0, { conditions: { ready: false } })],
      expected: 'unchanged',
    },
    {
      name: 'hints nothing without a zone',
      mode: 'same-zone',
      endpoints: [{ addresses: ['198.19.0.1'], conditions: { ready: true } }],
      expected: 'unchanged',
    },
    {
      name: 'writes the nameless zone up to 1.32',
      mode: 'same-zone',
      minor: 32,
      endpoints: [{ addresses: ['198.19.0.1'], conditions: { ready: true } }],
      expected: [{ forZones: [{ name: '' }] }],
    },
    {
      name: 'writes zone and node',
      mode: 'same-node',
      endpoints: [anEndpoint(0, { nodeName: 'n' })],
      expected: [{ ...own, forNodes: [{ name: 'n' }] }],
    },
  ] as HintCase[]) {
    it(name, () => {
      const result = applyHints(mode, unchanged(endpoints), { ...context, minor });
      const update = result.plan.update.map((slice) => endpointsOf(slice).map(({ hints }) => hints));
      expect(update).to.deep.equal(expected === 'unchanged' ? [] : [expected]);
    });
  }

  it('says when Auto cannot, and when it no longer does', () => {
    const refused = applyHints('auto', unchanged([anEndpoint(0, { hints: own })]), context);
    expect(refused.events.map(({ type, reason }) => [type, reason])).to.deep.equal([
      ['Warning', 'TopologyAwareHintsDisabled'],
    ]);
    expect(refused.plan.update).to.have.length(1);
    const ended = applyHints('none', unchanged([anEndpoint(0)]), { ...context, wasHinted: true });
    expect(ended.events.map(({ message }) => message)).to.deep.equal([
      'Topology Aware Hints has been disabled, addressType: IPv4',
    ]);
  });
});

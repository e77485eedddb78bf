// Tests of FlowPolicies from files and from older API servers: the rules of the definition without an API server.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ConfigError } from '../../../pkg/apis/config/config-error.ts';
import { createSpecCheck, readFlowPolicy } from '../../../pkg/apis/flow-policy.ts';
import { flowPolicyDefinition, zoneEvacuationDefinition } from '../../../hack/lib/crd.ts';
import { NOWHERE } from '../../../pkg/apis/names.ts';
import { zoneOfNode, zonesOfNodes } from '../../../pkg/apis/core.ts';
import { itemsOf } from '../../../pkg/diagnosis/snapshot.ts';
import { baseOf } from '../../../pkg/evacuation/slice.ts';
import { clientZonesOf, createSliceProjection } from '../../../pkg/flow/assemble/slice.ts';
import { zoneWeights } from '../../../pkg/flow/evaluate.ts';
import { createDirectory } from '../../../pkg/traffic/directory.ts';
import { node, slice } from '../../fixtures/core.ts';
import { snapshotOf } from '../../fixtures/snapshot.ts';

const HEAD = 'apiVersion: topology.extensions.gardener.cloud/v1alpha1\nkind: FlowPolicy\nmetadata: {name: web}\n';

const pair = (from: string, to: string, cost = 1): object => ({ from, to, cost });

const wrong: [name: string, spec: object, field: string, says: RegExp][] = [
  ['an unknown mode', { mode: 'Maybe' }, 'spec.mode', /Maybe/],
  ['upper at target', { upperUtilizationPercent: 70 }, 'spec', /above/],
  ['target above the default upper', { targetUtilizationPercent: 85 }, 'spec', /above/],
  ['no duration', { upDwell: 'soon' }, 'spec.upDwell', /must match/],
  ['less than a second', { planInterval: '500ms' }, 'spec.planInterval', /at least 1s/],
  ['a query without a source', { metrics: { query: 'up' } }, 'spec.metrics', /Prometheus/],
  ['a value without from', { capacity: { value: '1' } }, 'spec.capacity', /from: Value/],
  ['a value of nothing', { capacity: { from: 'Value', value: '0' } }, 'spec.capacity.value', /above 0/],
  ['safe mode before hold', { staleness: { safeModeAfter: '1m' } }, 'spec.staleness', /longer than/],
  ['readings rarer than hold', { metrics: { interval: '3m' } }, 'spec', /not be longer/],
  ['a pair of one zone', { zoneCosts: [pair('a', 'a')] }, 'spec.zoneCosts[0]', /two zones/],
  ['a pair twice', { zoneCosts: [pair('a', 'b'), pair('a', 'b', 2)] }, 'spec.zoneCosts', /the same from and to/],
];

describe('a FlowPolicy in a file', () => {
  it('is read from YAML and JSON', () => {
    expect(readFlowPolicy(`${HEAD}spec: {upDwell: 5s}\n`, 'fp.yaml').spec).to.deep.equal({ upDwell: '5s' });
    const json = JSON.stringify({
      apiVersion: 'topology.extensions.gardener.cloud/v1alpha1',
      kind: 'FlowPolicy',
      status: { x: 1 },
    });
    expect(readFlowPolicy(json, 'fp.json').spec).to.equal(undefined);
  });

  for (const [name, spec, field, says] of wrong) {
    it(`is refused with ${name}, at its place`, () => {
      const read = () => readFlowPolicy(`${HEAD}spec: ${JSON.stringify(spec)}\n`, 'fp.yaml');
      expect(read).to.throw(ConfigError, says);
      expect(read).to.throw(ConfigError, field);
      expect(read).to.throw(ConfigError, /^fp\.yaml:4:\d+: /);
    });
  }
});

describe('the check of specs', () => {
  const check = createSpecCheck();

  it('lets pass what is right, and fields of later versions', () => {
    for (const spec of [{}, { mode: 'Observe', later: 1 }, { metrics: { interval: '1s', later: {} } }])
      expect(check(spec), JSON.stringify(spec)).to.equal(undefined);
  });

  for (const [name, spec] of wrong) it(`finds ${name}`, () => expect(check(spec)).to.match(/^spec/));
});

describe('the definition of FlowPolicy', () => {
  const { spec } = flowPolicyDefinition() as unknown as {
    spec: {
      names: { shortNames: string[] };
      versions: {
        schema: { openAPIV3Schema: object };
        subresources: object;
        additionalPrinterColumns: { name: string }[];
      }[];
    };
  };
  const [version] = spec.versions;

  it('describes every field', () => {
    const missing: string[] = [];
    const walk = (schema: Record<string, unknown>, path: string): void => {
      if (path !== '' && !/^(apiVersion|kind|metadata)$/.test(path) && typeof schema['description'] !== 'string')
        missing.push(path);
      for (const [name, child] of Object.entries(
        (schema['properties'] ?? {}) as Record<string, Record<string, unknown>>,
      ))
        walk(child, path === '' ? name : `${path}.${name}`);
      if (schema['items'] !== undefined) walk(schema['items'] as Record<string, unknown>, `${path}[]`);
    };
    walk(version?.schema.openAPIV3Schema as Record<string, unknown>, '');
    expect(missing).to.deep.equal([]);
  });
});

/** A node of an OpenAPI schema. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

const definition = zoneEvacuationDefinition() as unknown as {
  spec: { scope: string; versions: { schema: { openAPIV3Schema: Schema } }[] };
};

const { openAPIV3Schema: root } = definition.spec.versions[0]!.schema;

describe('the definition of ZoneEvacuations', () => {
  it('is cluster-scoped, needs zone and duration, and fills in all else', () => {
    expect(definition.spec.scope).to.equal('Cluster');
    expect(root.required).to.deep.equal(['spec']);
    const { required, properties = {} } = root.properties!['spec']!;
    expect(required).to.deep.equal(['zone', 'duration']);
    const defaults = Object.entries(properties).filter(([, property]) => property.default !== undefined);
    expect(Object.fromEntries(defaults.map(([name, property]) => [name, property.default]))).to.deep.equal({
      percent: 100,
      rounding: 'Up',
      force: false,
      capacityCheck: 'Refuse',
    });
  });

  it('gives each field a type and a description, as structural schemas need and kubectl explain shows', () => {
    const walk = (schema: Schema, path: string): void => {
      expect(schema.type, path).to.be.a('string');
      for (const [name, property] of Object.entries(schema.properties ?? {})) {
        expect(property.description, `${path}.${name}`).to.be.a('string').and.not.empty;
        walk(property, `${path}.${name}`);
      }
      if (schema.items !== undefined) walk(schema.items, `${path}[]`);
    };
    walk(root.properties!['spec']!, 'spec');
    walk(root.properties!['status']!, 'status');
  });
});

describe('a zone named as the hint for nowhere', () => {
  const nodes = [
    node({ zone: NOWHERE, metadata: { name: 'n' } }),
    node({ zone: 'a', metadata: { name: 'a' } }),
    node({ zone: 'b', metadata: { name: 'b' } }),
    node({ zone: '', metadata: { name: 'c' } }),
  ];
  const endpoint = { addresses: ['10.0.0.1'], zone: NOWHERE, conditions: { ready: true } };
  const placed = slice({ endpoints: [endpoint] });
  const directory = createDirectory();
  for (const each of nodes) directory.setNode(each);

  const rows: readonly (readonly [string, unknown, unknown])[] = [
    ['zone of each Node', nodes.map(zoneOfNode), ['', 'a', 'b', '']],
    ['zones of all Nodes', zonesOfNodes(nodes), ['a', 'b']],
    ['zones of clients', clientZonesOf(nodes).zones, ['a', 'b']],
    ['weights of zones', zoneWeights({ nodes, by: 'nodes' }), { kind: 'known', weights: { a: 1, b: 1 } }],
    ['zone in the planner', createSliceProjection()(placed).endpoints.map(({ zone }) => zone), ['']],
    ['zones of a meter', ['n', 'a'].map((name) => directory.nodeAt(name)?.zone), ['', 'a']],
    // What is stored during an evacuation is still read as it stands.
    ['hints that are stored', baseOf({ forZones: [{ name: NOWHERE }] }), NOWHERE],
  ];
  for (const [name, found, expected] of rows) it(name, () => expect(found).to.deep.equal(expected));

  it('is no zone of a diagnosis', () => {
    const [read] = itemsOf(snapshotOf(placed).slices);
    expect(read?.endpoints?.map(({ zone }) => zone)).to.deep.equal([undefined]);
  });
});

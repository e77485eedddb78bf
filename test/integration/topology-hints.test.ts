// `kubectl topology hints`, its JSON: what the control plane, the field and the webhook would hint.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import type { HintsReport, ServiceHints } from '../../pkg/diagnosis/models/hints.ts';
import { endpoint, node, service, slice } from '../fixtures/core.ts';
import { topologyJson } from '../fixtures/topology-command.ts';
import { ZONES, auto, endpoints, nodes, own, stdin } from './topology-objects.ts';

const hints = async (objects: readonly KubernetesObject[], ...flags: string[]): Promise<readonly ServiceHints[]> =>
  (await topologyJson<HintsReport>(['hints', '-f', '-', ...flags], { stdin: stdin(...objects) })).services;

describe('kubectl topology hints, its JSON', () => {
  it('has the fields of the contract, no more', async () => {
    const [only, ...others] = await hints([...nodes(), auto, slice({ endpoints: endpoints(...ZONES) })]);
    expect(others).to.deep.equal([]);
    const zone = { cpuShare: 1 / 3, minimum: 1, desired: 1, maximum: 1, hinted: 1 };
    expect(only).to.deep.equal({
      namespace: 'default',
      name: 'server',
      addressType: 'IPv4',
      source: 'topology-mode',
      zones: { 'eu-1a': zone, 'eu-1b': zone, 'eu-1c': zone },
      endpoints: ZONES.map((name, index) => ({
        address: `198.18.0.${10 + index}`,
        zone: name,
        ready: true,
        hints: { forZones: [name], forNodes: [] },
      })),
      events: [
        {
          type: 'Normal',
          reason: 'TopologyAwareHintsEnabled',
          message: 'Topology Aware Hints has been enabled, addressType: IPv4',
        },
      ],
    });
  });

  it('refuses with the event of the control plane, and null where nothing is allocated', async () => {
    const [only] = await hints([...nodes(), auto, slice({ endpoints: own(...ZONES, 'eu-1a') })]);
    expect(only?.source).to.equal('topology-mode');
    expect(only?.endpoints.map((item) => item.hints)).to.deep.equal([null, null, null, null]);
    expect(only?.zones['eu-1a']).to.deep.equal({
      cpuShare: 1 / 3,
      minimum: null,
      desired: null,
      maximum: null,
      hinted: 0,
    });
    expect(only?.events.map(({ type, message }) => `${type}: ${message}`)).to.deep.equal([
      'Warning: Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (4 endpoints, 3 zones), addressType: IPv4',
    ]);
  });

  const label = { metadata: { labels: { [LABEL_STRATEGY]: 'same-zone' } } };
  const sources: readonly {
    name: string;
    objects: readonly KubernetesObject[];
    flags?: readonly string[];
    source: string;
    forZones: readonly (readonly string[] | null)[];
    forNodes?: readonly string[];
  }[] = [
    {
      name: 'nothing asked: hints are taken away',
      objects: [...nodes(), service(), slice({ endpoints: own(...ZONES) })],
      source: 'none',
      forZones: [null, null, null],
    },
    {
      name: 'the field',
      objects: [...nodes(), service({ spec: { trafficDistribution: 'PreferClose' } }), slice()],
      source: 'trafficDistribution',
      forZones: [['eu-1a'], ['eu-1b'], ['eu-1c']],
    },
    {
      name: 'the field on 1.30, whose gate is off',
      flags: ['--kubernetes-version', 'v1.30.4-gke.100'],
      objects: [...nodes(), service({ spec: { trafficDistribution: 'PreferClose' } }), slice()],
      source: 'none',
      forZones: [null, null, null],
    },
    {
      name: 'the field on 1.30 with its gate',
      flags: ['--kubernetes-version', '1.30', '--feature-gates', 'ServiceTrafficDistribution=true'],
      objects: [...nodes(), service({ spec: { trafficDistribution: 'PreferClose' } }), slice()],
      source: 'trafficDistribution',
      forZones: [['eu-1a'], ['eu-1b'], ['eu-1c']],
    },
    {
      name: 'the newest kubelet tells the version where nobody says',
      objects: [
        ...nodes({ kubeletVersion: 'v1.30.4+k3s1' }),
        service({ spec: { trafficDistribution: 'PreferClose' } }),
        slice(),
      ],
      source: 'none',
      forZones: [null, null, null],
    },
    {
      name: 'same node',
      flags: ['--kubernetes-version', '1.36'],
      objects: [
        ...nodes(),
        service({ spec: { trafficDistribution: 'PreferSameNode' } }),
        slice({ endpoints: endpoints('eu-1a') }),
      ],
      source: 'trafficDistribution',
      forZones: [['eu-1a']],
      forNodes: ['node-eu-1a'],
    },
    {
      name: 'the deprecated annotation',
      flags: ['--kubernetes-version', '1.24'],
      objects: [
        ...nodes(),
        service({ metadata: { annotations: { [ANNOTATION_TOPOLOGY_AWARE_HINTS]: 'auto' } } }),
        slice(),
      ],
      source: 'topology-mode',
      forZones: [['eu-1a'], ['eu-1b'], ['eu-1c']],
    },
    {
      name: 'annotation and field: the annotation',
      objects: [
        ...nodes(),
        service({ metadata: auto.metadata!, spec: { trafficDistribution: 'PreferClose' } }),
        slice({ endpoints: endpoints('eu-1a', 'eu-1b') }),
      ],
      source: 'topology-mode',
      forZones: [null, null],
    },
    {
      name: 'a strategy label',
      objects: [...nodes(), service(label), slice({ endpoints: endpoints('eu-1a', 'eu-1a', 'eu-1b', 'eu-1c') })],
      source: 'webhook',
      forZones: [['eu-1a'], ['eu-1a'], ['eu-1b'], ['eu-1c']],
    },
    {
      name: 'a strategy label without the webhook',
      flags: ['--no-webhook'],
      objects: [...nodes(), service(label), slice()],
      source: 'none',
      forZones: [null, null, null],
    },
    {
      name: 'a planned strategy keeps what is stored',
      objects: [
        ...nodes(),
        service({ metadata: { labels: { [LABEL_STRATEGY]: 'load-aware' } } }),
        slice({
          metadata: { labels: { [LABEL_STRATEGY]: 'load-aware' } },
          endpoints: [{ ...endpoint(), hints: { forZones: [{ name: 'eu-1a' }, { name: 'eu-1b' }] } }],
        }),
      ],
      source: 'webhook',
      forZones: [['eu-1a', 'eu-1b']],
    },
    {
      name: 'no selector: stays as its author wrote it',
      objects: [
        ...nodes(),
        service({ spec: { selector: {}, trafficDistribution: 'PreferClose' } }),
        slice({ endpoints: own('eu-1a', 'eu-1b') }),
      ],
      source: 'none',
      forZones: [['eu-1a'], ['eu-1b']],
    },
    {
      name: 'an endpoint without zone',
      objects: [
        ...nodes(),
        service({ spec: { trafficDistribution: 'PreferClose' } }),
        slice({ endpoints: [{ addresses: ['198.18.0.10'], conditions: { ready: true } }] }),
      ],
      source: 'trafficDistribution',
      forZones: [null],
    },
    {
      name: 'headless Services get hints all the same',
      objects: [
        ...nodes(),
        service({ spec: { clusterIP: 'None', trafficDistribution: 'PreferClose' } }),
        slice({ endpoints: endpoints('eu-1a') }),
      ],
      source: 'trafficDistribution',
      forZones: [['eu-1a']],
    },
    {
      name: 'ExternalName',
      objects: [...nodes(), service({ spec: { type: 'ExternalName', selector: {} } })],
      source: 'none',
      forZones: [],
    },
  ];
  for (const { name, objects, flags = [], source, forZones, forNodes } of sources) {
    it(`source and hints: ${name}`, async () => {
      const [only] = await hints(objects, ...flags);
      expect(only?.source).to.equal(source);
      expect(only?.endpoints.map((item) => item.hints?.forZones ?? null)).to.deep.equal(forZones);
      if (forNodes !== undefined) expect(only?.endpoints[0]?.hints?.forNodes).to.deep.equal(forNodes);
    });
  }

  it('keeps endpoints that are not ready as they are stored, and counts only ready ones', async () => {
    const stale = {
      ...endpoint({ zone: 'eu-1b', addresses: ['198.18.0.99'] }),
      conditions: { ready: false, serving: true, terminating: true },
      hints: { forZones: [{ name: 'eu-1c' }] },
    };
    const objects = [
      ...nodes(),
      service({ spec: { trafficDistribution: 'PreferClose' } }),
      slice({ endpoints: [...endpoints('eu-1a'), stale] }),
    ];
    const [only] = await hints(objects);
    expect(only?.endpoints[1]).to.deep.equal({
      address: '198.18.0.99',
      zone: 'eu-1b',
      ready: false,
      hints: { forZones: ['eu-1c'], forNodes: [] },
    });
    expect(only?.zones['eu-1c']?.hinted).to.equal(0);
  });

  it('adds up quantities as the control plane does', async () => {
    const cpus = ['3920m', '4', '1e1'];
    const uneven = ZONES.map((zone, index) =>
      node({ zone, status: { ...node().status, allocatable: { cpu: cpus[index]! } } }),
    );
    const [only] = await hints([...uneven, auto, slice({ endpoints: endpoints(...ZONES, ...ZONES) })]);
    expect(Object.values(only!.zones).map(({ cpuShare }) => cpuShare)).to.deep.equal([
      3920 / 17920,
      4000 / 17920,
      10000 / 17920,
    ]);
  });

  it('judges several slices together, families apart, Services in the order of their names', async () => {
    const other = service({ metadata: { name: 'another' } });
    const first = slice({ metadata: { name: 'server-a' }, endpoints: endpoints('eu-1a', 'eu-1b') });
    const second = slice({
      metadata: { name: 'server-b' },
      endpoints: [endpoint({ zone: 'eu-1c', addresses: ['198.18.0.30'] })],
    });
    const six = slice({
      metadata: { name: 'server-6' },
      addressType: 'IPv6',
      endpoints: [endpoint({ addresses: ['fd00::1'] })],
    });
    const result = await hints([second, six, auto, first, other, ...nodes()]);
    expect(result.map(({ name, addressType, endpoints: list }) => [name, addressType, list.length])).to.deep.equal([
      ['another', 'IPv4', 0],
      ['server', 'IPv4', 3],
      ['server', 'IPv6', 1],
    ]);
    expect(result[1]?.endpoints.every((item) => item.hints !== null)).to.equal(true);
    expect(result[2]?.events[0]?.message).to.equal(
      'Insufficient number of endpoints (1 endpoints, 3 zones), addressType: IPv6',
    );
    expect(await hints([...nodes(), auto, first, second, six, other])).to.deep.equal(result);
  });

  it('reads slices of v1beta1', async () => {
    const old = {
      ...slice(),
      apiVersion: 'discovery.k8s.io/v1beta1',
      endpoints: [
        {
          addresses: ['198.18.0.10'],
          conditions: { ready: true },
          topology: { 'topology.kubernetes.io/zone': 'eu-1b', 'kubernetes.io/hostname': 'node-eu-1b' },
        },
      ],
    };
    const [only] = await hints([...nodes(), service({ spec: { trafficDistribution: 'PreferSameNode' } }), old]);
    expect(only?.endpoints[0]).to.deep.equal({
      address: '198.18.0.10',
      zone: 'eu-1b',
      ready: true,
      hints: { forZones: ['eu-1b'], forNodes: ['node-eu-1b'] },
    });
  });

  it('a Service that asks and has no slice counts as having no endpoints', async () => {
    const [only] = await hints([...nodes(), auto]);
    expect(only?.endpoints).to.deep.equal([]);
    expect(only?.events[0]?.message).to.equal(
      'Insufficient number of endpoints (0 endpoints, 3 zones), addressType: IPv4',
    );
  });
});

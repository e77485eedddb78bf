// Contract: what the API server accepts in a slice, and what the EndpointSlice controller writes.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { list, text, type Json } from './api.ts';
import { aService, createScope, eventually, unique, versionOf, type ContractServer, type Scope } from './server.ts';

const DISCOVERY = 'discovery.k8s.io/v1';
const STRATEGY = 'topology.extensions.gardener.cloud/strategy';

interface PodOptions {
  readonly app: string;
  readonly node: string;
  readonly address: string;
  readonly ready?: boolean;
}

export const describeEndpointSlices = (server: () => ContractServer): void => {
  describe('endpoint slices', () => {
    let scope: Scope;
    const run = unique('zone');
    const zones = ['a', 'b'].map((letter) => `${run}-${letter}`);
    const nodes = zones.map((zone) => `node-${zone}`);
    const slicesPath = (name?: string): string => scope.group(DISCOVERY, 'endpointslices', name);

    const addPod = async (name: string, { app, node, address, ready = true }: PodOptions): Promise<void> => {
      const pod = {
        metadata: { name, labels: { app } },
        spec: { nodeName: node, containers: [{ name: 'c', image: 'example.com/none' }] },
      };
      const created = await scope.api.post(scope.core('pods'), pod);
      expect(created.status, created.text).to.equal(201);
      await setReady(name, address, ready);
    };
    const setReady = async (name: string, address: string, ready: boolean): Promise<void> => {
      const status = {
        phase: 'Running',
        podIP: address,
        podIPs: [{ ip: address }],
        conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      };
      const patched = await scope.api.patch(`${scope.core('pods', name)}/status`, 'merge', { status });
      expect(patched.status, patched.text).to.equal(200);
    };
    const slicesOf = async (service: string): Promise<Json[]> => {
      const { body } = await scope.api.get(`${slicesPath()}?labelSelector=kubernetes.io/service-name%3D${service}`);
      return list(body['items']);
    };
    /** The only slice of a Service once it is as wanted. */
    const slice = (service: string, wanted: (slice: Json) => boolean): Promise<Json> => {
      let last: Json[] = [];
      return eventually(
        `the slice of ${service}`,
        async () => {
          last = await slicesOf(service);
          const [only] = last;
          return last.length === 1 && only !== undefined && wanted(only) ? only : undefined;
        },
        () => last,
      );
    };
    const count = (wanted: number) => (candidate: Json) => list(candidate['endpoints']).length === wanted;

    before(async () => {
      scope = await createScope(server());
      for (const [index, name] of nodes.entries()) {
        await scope.api.post('/api/v1/nodes', {
          metadata: { name, labels: { 'topology.kubernetes.io/zone': zones[index] } },
        });
      }
    });
    after(async () => {
      await scope.dispose();
      for (const name of nodes) await scope.api.delete(`/api/v1/nodes/${name}`);
    });

    const aSlice = (name: string, endpoints: unknown, rest: Record<string, unknown> = {}): unknown => ({
      metadata: { name },
      addressType: 'IPv4',
      endpoints,
      ports: [],
      ...rest,
    });

    it('accepts null lists and fills in port defaults', async () => {
      const { status, body } = await scope.api.post(slicesPath(), {
        metadata: { name: 'nulls' },
        addressType: 'IPv4',
        endpoints: null,
        ports: [{ port: 80 }],
      });
      expect(status, JSON.stringify(body)).to.equal(201);
      expect(list(body['endpoints'])).to.deep.equal([]);
      expect(body['ports']).to.deep.equal([{ name: '', protocol: 'TCP', port: 80 }]);
      expect(body['metadata']!['generation']).to.equal(1);
    });

    it('counts generations by content and labels, not by annotations', async () => {
      await scope.api.post(slicesPath(), aSlice('counted', []));
      const generation = async (patch: unknown) =>
        (await scope.api.patch(slicesPath('counted'), 'merge', patch)).body['metadata']!['generation'];
      expect(await generation({ metadata: { annotations: { a: 'b' } } })).to.equal(1);
      expect(await generation({ metadata: { labels: { a: 'b' } } })).to.equal(2);
      expect(await generation({ endpoints: [{ addresses: ['198.19.0.1'] }] })).to.equal(3);
      expect(await generation({ endpoints: [{ addresses: ['198.19.0.1'] }] })).to.equal(3);
    });

    for (const { name, object } of [
      {
        name: 'more than eight zone hints',
        object: aSlice('zones', [
          {
            addresses: ['198.19.0.1'],
            hints: { forZones: Array.from({ length: 9 }, (_, index) => ({ name: `z${index}` })) },
          },
        ]),
      },
      {
        name: 'the same zone twice',
        object: aSlice('twice', [{ addresses: ['198.19.0.1'], hints: { forZones: [{ name: 'a' }, { name: 'a' }] } }]),
      },
      { name: 'an endpoint without addresses', object: aSlice('empty', [{ addresses: [] }]) },
      {
        name: 'more than 1,000 endpoints',
        object: aSlice(
          'many',
          Array.from({ length: 1001 }, (_, index) => ({ addresses: [`198.19.${index >> 8}.${index & 255}`] })),
        ),
      },
      { name: 'an unknown address type', object: aSlice('type', [], { addressType: 'Pigeon' }) },
      { name: 'no address type', object: { metadata: { name: 'none' }, endpoints: [], ports: [] } },
    ]) {
      it(`refuses ${name}`, async () => {
        const { status, body } = await scope.api.post(slicesPath(), object);
        expect([status, body['reason']], JSON.stringify(body)).to.deep.equal([422, 'Invalid']);
      });
    }

    it('drops fields that it does not know', async () => {
      const { status, body } = await scope.api.post(
        slicesPath(),
        aSlice(
          'unknown',
          [{ addresses: ['198.19.0.1'], colour: 'red', hints: { forZones: [{ name: 'a', weight: 1 }] } }],
          { extra: 1 },
        ),
      );
      expect(status, JSON.stringify(body)).to.equal(201);
      expect(body).not.to.have.property('extra');
      expect(body['endpoints']).to.deep.equal([
        { addresses: ['198.19.0.1'], conditions: {}, hints: { forZones: [{ name: 'a' }] } },
      ]);
    });

    it('publishes Pods with zone, node and conditions, and mirrors labels', async () => {
      await scope.api.post(
        scope.core('services'),
        aService('web', { selector: { app: 'web' } }, { labels: { [STRATEGY]: 'same-zone', team: 'x' } }),
      );
      await addPod('web-0', { app: 'web', node: nodes[0]!, address: '198.19.1.1' });
      await addPod('web-1', { app: 'web', node: nodes[1]!, address: '198.19.1.2', ready: false });
      const found = await slice('web', count(2));
      expect(found['metadata']!['labels']).to.deep.equal({
        [STRATEGY]: 'same-zone',
        team: 'x',
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        'kubernetes.io/service-name': 'web',
      });
      expect(found['metadata']!['generateName']).to.equal('web-');
      expect(list(found['metadata']!['ownerReferences'])[0]).to.include({
        kind: 'Service',
        name: 'web',
        controller: true,
        blockOwnerDeletion: true,
      });
      expect(found['ports']).to.deep.equal([{ name: '', protocol: 'TCP', port: 80 }]);
      const byAddress = list(found['endpoints']).sort((left, right) =>
        text(left['addresses']).localeCompare(text(right['addresses'])),
      );
      expect(byAddress.map(({ targetRef: _, ...endpoint }) => endpoint)).to.deep.equal([
        {
          addresses: ['198.19.1.1'],
          conditions: { ready: true, serving: true, terminating: false },
          nodeName: nodes[0],
          zone: zones[0],
        },
        {
          addresses: ['198.19.1.2'],
          conditions: { ready: false, serving: false, terminating: false },
          nodeName: nodes[1],
          zone: zones[1],
        },
      ]);
      expect(byAddress[0]!['targetRef']).to.include({ kind: 'Pod', name: 'web-0', namespace: scope.namespace });
    });

    it('follows labels of the Service and drops labels of others', async () => {
      const [earlier] = await slicesOf('web');
      await scope.api.patch(slicesPath(text(earlier!['metadata']!['name'])), 'merge', {
        metadata: { labels: { foreign: 'label' }, annotations: { 'example.com/kept': 'yes' } },
      });
      await scope.api.patch(scope.core('services', 'web'), 'merge', { metadata: { labels: { team: 'y' } } });
      const found = await slice(
        'web',
        ({ metadata }) => text(metadata!['labels']!['team']) === 'y' && metadata!['labels']!['foreign'] === undefined,
      );
      expect(found['metadata']!['annotations']).to.include({ 'example.com/kept': 'yes' });
      expect(found['metadata']!['name']).to.equal(earlier!['metadata']!['name']);
    });

    it('strips hints that were not requested', async () => {
      const [earlier] = await slicesOf('web');
      const endpoints = list(earlier!['endpoints']).map((endpoint) => ({
        ...endpoint,
        hints: { forZones: [{ name: 'elsewhere' }] },
      }));
      const written = await scope.api.patch(slicesPath(text(earlier!['metadata']!['name'])), 'merge', { endpoints });
      const stripped = await slice('web', (candidate) =>
        list(candidate['endpoints']).every((endpoint) => endpoint['hints'] === undefined),
      );
      expect(Number(stripped['metadata']!['generation'])).to.equal(Number(written.body['metadata']!['generation']) + 1);
    });

    it('writes hints for trafficDistribution, for ready endpoints, and takes them back', async () => {
      await scope.api.patch(scope.core('services', 'web'), 'merge', { spec: { trafficDistribution: 'PreferClose' } });
      const hintsOf = (candidate: Json): unknown[] =>
        list(candidate['endpoints'])
          .map((endpoint) => endpoint['hints'] ?? null)
          .sort((left, right) => JSON.stringify(right).localeCompare(JSON.stringify(left)));
      const hinted = await slice('web', (candidate) =>
        list(candidate['endpoints']).some((endpoint) => endpoint['hints'] !== undefined),
      );
      expect(hintsOf(hinted)).to.deep.equal(
        [{ forZones: [{ name: zones[0] }] }, null].sort((left, right) =>
          JSON.stringify(right).localeCompare(JSON.stringify(left)),
        ),
      );
      await setReady('web-1', '198.19.1.2', true);
      await slice('web', (candidate) =>
        list(candidate['endpoints']).every(
          (endpoint) =>
            list(endpoint['hints']?.['forZones']).every((zone) => text(zone['name']) === text(endpoint['zone'])) &&
            endpoint['hints'] !== undefined,
        ),
      );
      await scope.api.patch(scope.core('services', 'web'), 'merge', { spec: { trafficDistribution: null } });
      await slice('web', (candidate) =>
        list(candidate['endpoints']).every((endpoint) => endpoint['hints'] === undefined),
      );
    });

    it('keeps its hands off slices of others', async () => {
      const labels = {
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'contract.example.com',
      };
      const hints = { forZones: [{ name: 'mine' }] };
      const own = await scope.api.post(slicesPath(), {
        ...(aSlice('foreign', [{ addresses: ['198.19.9.9'], hints }]) as object),
        metadata: { name: 'foreign', labels },
      });
      await scope.api.patch(scope.core('services', 'web'), 'merge', { metadata: { labels: { touched: 'yes' } } });
      await eventually('the touch', async () =>
        (await slicesOf('web')).some((item) => item['metadata']!['labels']!['touched'] !== undefined)
          ? true
          : undefined,
      );
      expect(versionOf((await scope.api.get(slicesPath('foreign'))).body)).to.equal(versionOf(own.body));
      await scope.api.delete(slicesPath('foreign'));
    });

    it('keeps the slice when its Pods go, and deletes it with the Service', async () => {
      const [earlier] = await slicesOf('web');
      for (const name of ['web-0', 'web-1'])
        await scope.api.delete(scope.core('pods', name), { gracePeriodSeconds: 0 });
      const empty = await slice('web', count(0));
      expect(list(empty['ports'])).to.deep.equal([]);
      expect(empty['metadata']!['name']).to.equal(earlier!['metadata']!['name']);
      await scope.api.delete(scope.core('services', 'web'));
      await eventually('deletion of the slice', async () => ((await slicesOf('web')).length === 0 ? true : undefined));
    });

    it('says what Auto could not do', async () => {
      const annotations = { 'service.kubernetes.io/topology-mode': 'Auto' };
      await scope.api.post(scope.core('services'), aService('auto', { selector: { app: 'auto' } }, { annotations }));
      const message = await eventually('the event', async () => {
        const { body } = await scope.api.get(
          `${scope.core('events')}?fieldSelector=${encodeURIComponent('involvedObject.name=auto,reason=TopologyAwareHintsDisabled')}`,
        );
        return list(body['items'])[0]?.['message'];
      });
      expect(message).to.equal(
        'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes, addressType: IPv4',
      );
    });
  });
};

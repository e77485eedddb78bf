// Our webhook beside Gardener's own for slices (the last release that has one): same objects in either order, a plan survives, and where they differ.
// Soak: its programs take most of an hour to build.
// Needs built: gardener/gardener-1.110/gardener-resource-manager, gardener/gardener-1.141/gardener-resource-manager, gardener/owner/owner
import { expect } from 'chai';
import * as fc from 'fast-check';
import { before, describe, it } from 'mocha';
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { COMMANDS, LABEL_CONSIDER, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { ENDPOINT_SLICES } from '../../../pkg/apis/resources.ts';
import { microTime } from '../../../pkg/kubernetes/lease.ts';
import { namespace, ZONES } from '../../fixtures/gardener.ts';
import { type Bed, useBed } from '../bed/index.ts';
import { applyDefinitions, ownNamespace, startWebhook } from '../commands.ts';
import { FLOW_USER } from '../flow-world.ts';
import { askGardener, realDefinitions } from '../gardener/owner.ts';
import { MANAGER_URL, startResourceManager } from '../gardener/resource-manager.ts';
import { connectAs } from '../hints-support.ts';
import { versionCases } from '../versions-plan.ts';

/** 1.31 is the newest runtime that Gardener registered its webhook for; the long form shows 1.30 and 1.31, or of these those wanted. */
const VERSIONS = ['1.30', '1.31', '1.36'].filter((one) =>
  (process.env['E2E_SOAK'] === '1' ? versionCases(process.env) : versionCases({})).some(
    ({ version }) => version === one,
  ),
);
const COUNT = 300;
/** Called one after the other by the name of their configuration; ours is `gardener-extension-topology-aware-routing`. */
const ORDERS = { 'theirs-first': 'a-gardener', 'ours-first': 'z-gardener' } as const;
const OURS = 'ours-alone';
const PLACES = [OURS, ...Object.keys(ORDERS)];

type Endpoints = NonNullable<EndpointSlice['endpoints']>;
type Stored = EndpointSlice & { metadata: { name: string } };

const zone = fc.constantFrom(...ZONES, undefined);
const hints = fc.option(
  fc
    .uniqueArray(fc.constantFrom(...ZONES), { minLength: 1, maxLength: 3 })
    .map((names) => ({ forZones: names.map((name) => ({ name })) })),
  { nil: undefined },
);
const endpoint = fc.record({ zone, hints, ready: fc.boolean(), node: fc.integer({ min: 0, max: 60 }) });
const endpointsOf = fc.array(endpoint, { maxLength: 30 }).map((all) =>
  all.map(({ zone: of, hints: given, ready, node }, index) => ({
    addresses: [`198.19.${1 + (index >> 7)}.${1 + (index & 127)}`],
    conditions: { ready, serving: ready, terminating: false },
    nodeName: `node-${node}`,
    ...(of && { zone: of }),
    ...(given && { hints: given }),
  })),
);

const register = async (bed: Bed): Promise<void> => {
  const flags = ['--url', MANAGER_URL, '--authority', bed.pki.authority.certificate];
  const webhook = JSON.parse(await askGardener(['hints', ...flags])) as { namespaceSelector: object };
  for (const [order, name] of Object.entries(ORDERS)) {
    const namespaceSelector = { matchLabels: { hints: 'theirs', 'kubernetes.io/metadata.name': order } };
    await bed.api.create('/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', {
      metadata: { name },
      webhooks: [{ ...webhook, namespaceSelector }],
    });
  }
};

for (const version of VERSIONS) {
  describe(`gardener: both webhooks for slices, Kubernetes ${version}`, () => {
    const bed = useBed({ version });
    const path = (place: string): string => `/apis/discovery.k8s.io/v1/namespaces/${place}/endpointslices`;
    const create = (place: string, name: string, labels: object, endpoints: unknown): Promise<Stored> =>
      bed().api.create<Stored>(path(place), {
        metadata: { name, labels: { 'kubernetes.io/service-name': 'x', ...labels } },
        addressType: 'IPv4',
        ports: [{ name: 'client', port: 2379 }],
        endpoints,
      });

    before('ours registered for all, theirs before and after it', async () => {
      await applyDefinitions(bed(), await realDefinitions());
      await startWebhook(bed());
      // A planner that is alive: without one, no plan is kept.
      await bed().api.create(`/apis/coordination.k8s.io/v1/namespaces/${ownNamespace}/leases`, {
        metadata: { name: COMMANDS.flowController },
        spec: { holderIdentity: 'test', leaseDurationSeconds: 3_600, renewTime: microTime(Date.now()) },
      });
      await startResourceManager(bed(), { version: '1.141', hints: true });
      for (const name of PLACES)
        await bed().api.create('/api/v1/namespaces', namespace({ metadata: { name, labels: { hints: 'theirs' } } }));
      await register(bed());
    });

    it(`stores the same ${COUNT} random slices in either order, but that theirs, called last, hints endpoints that are not ready`, async () => {
      const seed = Number(process.env['E2E_SEED'] ?? 1);
      const samples: Endpoints[] = fc.sample(endpointsOf, { numRuns: COUNT, seed });
      for (const [index, endpoints] of samples.entries()) {
        const stored = await Promise.all(
          PLACES.map((place) => create(place, `slice-${index}`, { [LABEL_CONSIDER]: 'true' }, endpoints)),
        );
        const [alone, theirsFirst, oursFirst] = stored.map((one) => one.endpoints ?? []);
        const hinted = alone?.map((one) =>
          one.conditions?.ready || one.zone === undefined ? one : { ...one, hints: { forZones: [{ name: one.zone }] } },
        );
        expect([theirsFirst, oursFirst], `slice ${index}, seed ${seed}`).to.deep.equal([alone, hinted]);
      }
    });

    it("leaves a plan alone whose Service has Gardener's label no more", async () => {
      const planner = await connectAs(bed(), FLOW_USER);
      const elsewhere = [{ addresses: ['198.19.1.1'], zone: ZONES[0], hints: { forZones: [{ name: ZONES[1] }] } }];
      for (const place of PLACES) {
        await planner.create<EndpointSlice>(ENDPOINT_SLICES, {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: { name: 'planned', namespace: place, labels: { [LABEL_STRATEGY]: 'load-aware' } },
          addressType: 'IPv4',
          ports: [{ port: 80 }],
          endpoints: elsewhere as Endpoints,
        });
        // The controller writes the slice anew, without hints, as it does whenever an endpoint changes.
        const bare = [{ addresses: ['198.19.1.1'], zone: ZONES[0] }];
        const { endpoints } = await bed().api.patch<Stored>(`${path(place)}/planned`, { endpoints: bare });
        expect(endpoints?.[0]?.hints?.forZones, place).to.deep.equal([{ name: ZONES[1] }]);
      }
      await planner.close();
    });

    it("differs in one thing: Gardener's puts hints back in the write that takes its label away", async () => {
      const [first] = Object.keys(ORDERS);
      const bare = [{ addresses: ['198.19.1.1'], zone: ZONES[0] }];
      const written = await Promise.all(
        [OURS, first!].map(async (place) => {
          await create(place, 'released', { [LABEL_CONSIDER]: 'true' }, bare);
          const change = { metadata: { labels: { [LABEL_CONSIDER]: null } }, endpoints: bare };
          return (await bed().api.patch<Stored>(`${path(place)}/released`, change)).endpoints?.[0]?.hints;
        }),
      );
      expect(written).to.deep.equal([undefined, { forZones: [{ name: ZONES[0] }] }]);
    });
  });
}

describe('gardener: the webhook of v1.110, whose Kubernetes knows no hints for nodes', () => {
  const bed = useBed();
  const OLDER = Object.keys(ORDERS)[1]!;
  const nodes = (...names: string[]) => ({ hints: { forNodes: names.map((name) => ({ name })) } });
  const bare = [
    { addresses: ['198.19.1.1'], ...nodes('node-a') },
    { addresses: ['198.19.1.2'], zone: ZONES[0], ...nodes('node-b') },
  ];
  const store = async (place: string): Promise<unknown[]> => {
    const { endpoints } = await bed().api.create<Stored>(
      `/apis/discovery.k8s.io/v1/namespaces/${place}/endpointslices`,
      {
        metadata: { name: 'nodes', labels: { 'kubernetes.io/service-name': 'x', [LABEL_CONSIDER]: 'true' } },
        addressType: 'IPv4',
        ports: [{ name: 'client', port: 2379 }],
        endpoints: bare,
      },
    );
    return (endpoints ?? []).map(({ hints: kept }) => kept ?? null);
  };

  before('theirs after ours', async () => {
    await applyDefinitions(bed(), await realDefinitions());
    await startWebhook(bed());
    await startResourceManager(bed(), { version: '1.110', hints: true });
    for (const name of [OURS, OLDER])
      await bed().api.create('/api/v1/namespaces', namespace({ metadata: { name, labels: { hints: 'theirs' } } }));
    await register(bed());
  });

  it('drops hints for nodes of an endpoint without a zone; this webhook leaves them as they are', async () => {
    const [own, theirs] = await Promise.all([store(OURS), store(OLDER)]);
    expect(own[0], 'ours').to.deep.equal({ forNodes: [{ name: 'node-a' }] });
    expect(theirs[0]?.['forNodes' as keyof object], 'theirs').to.equal(undefined);
  });
});

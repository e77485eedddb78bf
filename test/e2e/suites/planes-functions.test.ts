// What releases of Cilium do with hints, by their own functions, taken from its Go module: never is a client without a ready endpoint.
// Minutes: 3
// Needs no bed.
// Needs: go
//
//   E2E_SEED=<number>  repeats the worlds of a run; it is printed
import { expect } from 'chai';
import fc from 'fast-check';
import { before, describe, it } from 'mocha';
import { type Endpoint, type EndpointSlice, isEndpointReady, zoneOfNode } from '../../../pkg/apis/core.ts';
import { ANNOTATION_TOPOLOGY_MODE } from '../../../pkg/apis/names.ts';
import { endpoint, node, service, slice } from '../../fixtures/core.ts';
import { SITUATIONS, endpointName } from '../../fixtures/planes.ts';
import { ZONES, readinessWorlds } from '../../fixtures/readiness-worlds.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { isLongForm } from '../results.ts';
import { CILIUM_RELEASES, type CiliumRelease, type World, openCilium } from '../planes/cilium.ts';

const BUILD_MS = 300_000;
const WORLDS = isLongForm ? 10_000 : 3_000;
const seed = Number(process.env['E2E_SEED'] ?? Date.now() % 2 ** 31);
const worlds = fc.sample(readinessWorlds, { seed, numRuns: WORLDS });
/** It has no fallback: a zone that no ready endpoint is hinted for gets none. */
const LEAVES_UNNAMED_ZONES: ReadonlySet<string> = new Set(['1.18.0']);

/** They go by the Nodes of endpoints where a Service says `PreferSameNode`, whatever hints say; 1.20.1 also to one that is not ready. */
const GO_BY_NODES: ReadonlySet<string> = new Set(['1.20.1', '1.20.2']);

/** Ready endpoints of a family and port, by `IP:PORT`. */
const readyIn = (slices: readonly EndpointSlice[], family: string, port: string): ReadonlyMap<string, Endpoint> =>
  new Map(
    slices
      .filter(({ addressType }) => addressType === family)
      .flatMap(({ ports, endpoints }) => {
        const number = ports?.find(({ name }) => name === port)?.port;
        if (number === undefined) return [];
        return (endpoints ?? []).filter(isEndpointReady).map((one): [string, Endpoint] => {
          const [address = ''] = one.addresses;
          return [family === 'IPv6' ? `[${address}]:${number}` : `${address}:${number}`, one];
        });
      }),
  );

const asked = service({
  metadata: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' } },
  spec: { clusterIPs: ['198.18.0.10'], internalTrafficPolicy: 'Cluster', externalTrafficPolicy: 'Cluster' },
});

/** One endpoint in each of three zones, hinted for its own but for those that `more` says otherwise. */
const threeZones = (more: Readonly<Record<string, Partial<Endpoint>>> = {}): World => ({
  node: node({ zone: 'a' }),
  service: asked,
  slices: [
    slice({
      endpoints: ['a', 'b', 'c'].map((zone, index) =>
        endpoint({ zone, addresses: [`198.19.0.${index + 1}`], hints: { forZones: [{ name: zone }] }, ...more[zone] }),
      ),
    }),
  ],
});

const ALL = ['198.19.0.1:8443', '198.19.0.2:8443', '198.19.0.3:8443'];

/** With what the API server adds. */
const answerable = ({ node: client, service: { spec, ...own }, slices }: World): World => ({
  node: client,
  slices,
  service: {
    ...own,
    spec: {
      internalTrafficPolicy: 'Cluster',
      externalTrafficPolicy: 'Cluster',
      ...spec,
      clusterIPs: (spec?.ipFamilies ?? []).map((family) => (family === 'IPv6' ? '2001:db8:18::10' : '198.18.0.10')),
    },
  },
});

const readyOnly = (one: EndpointSlice): EndpointSlice => ({
  ...one,
  endpoints: (one.endpoints ?? []).filter(isEndpointReady),
});

for (const version of CILIUM_RELEASES) {
  describe(`Cilium ${version}, its own functions (E2E_SEED=${seed})`, function () {
    this.timeout(BUILD_MS);
    const folder = temporaryFolder();
    let release: CiliumRelease;

    before('its module, and a program around them', async () => {
      release = await openCilium(version, folder.path);
    });

    it(`leave no client without a ready endpoint, and choose as if others were not there, in ${WORLDS} random worlds`, async () => {
      const seen = worlds.flatMap((one) => ZONES.map((zone) => ({ ...one, node: node({ zone }) })));
      const answers = await release.ask(seen);
      const alone = await release.ask(seen.map((one) => ({ ...one, slices: one.slices.map(readyOnly) })));
      for (const [index, { slices, rebuilds, node: client }] of seen.entries()) {
        const zone = zoneOfNode(client);
        if (GO_BY_NODES.has(version) && seen[index]?.service.spec?.trafficDistribution === 'PreferSameNode') continue;
        const used = answers[index] ?? {};
        for (const [key, endpoints] of Object.entries(used)) {
          const [family = '', port = ''] = key.split('/');
          const ready = readyIn(slices, family, port);
          if (ready.size === 0) continue;
          const named = [...ready.values()].some(({ hints }) => hints?.forZones?.some(({ name }) => name === zone));
          if (LEAVES_UNNAMED_ZONES.has(version) && !named) continue;
          const world = JSON.stringify({ zone, key, endpoints, spec: seen[index]?.service.spec, slices });
          expect(endpoints, `no endpoint: ${world}`).to.not.be.empty;
          const strangers = endpoints.filter((one) => !ready.has(one));
          expect(strangers, `not ready: ${world}`).to.be.empty;
          if (!rebuilds) continue;
          expect(endpoints, `as without those that are not ready: ${world}`).to.deep.equal(alone[index]?.[key]);
        }
      }
    });

    it('answer as recorded, weights, zones that are none and publishNotReadyAddresses too', async () => {
      // 1.20.0 is recorded, which has the same functions.
      const release120 = version === '1.20.1' ? '1.20.0' : version;
      const answers = await release.ask(SITUATIONS.map(answerable));
      const differences = SITUATIONS.flatMap(({ name, family, port, used }, index) => {
        const theirs = answers[index]?.[`${family}/${port}`]?.map(endpointName).sort().join(' ');
        const recorded = used('cilium', release120)?.join(' ');
        return recorded === undefined || recorded === theirs ? [] : [`${name}: ${theirs}, recorded: ${recorded}`];
      });
      expect(differences).to.deep.equal([]);
    });

    it('follow complete hints, and no others', async () => {
      const two = [threeZones(), threeZones({ b: { hints: {} } })];
      const answers = await release.ask(two);
      const incomplete = version === '1.18.0' ? ALL.slice(0, 2) : ALL;
      expect(answers.map((used) => used['IPv4/https'])).to.deep.equal([ALL.slice(0, 1), incomplete]);
    });
  });
}

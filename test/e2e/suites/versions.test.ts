// The mechanism chosen for each Kubernetes version keeps real traffic in its zone there, and nothing less would.
//
//   E2E_VERSIONS=all         every version; a list such as 1.31,1.33 for some; by default the newest
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Service } from '../../../pkg/apis/core.ts';
import { ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_CONSIDER, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { ApiFailure } from '../bed/api.ts';
import { defaultVersion } from '../bed/binaries.ts';
import { useBed } from '../bed/index.ts';
import type { BedService } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { keepResults } from '../results.ts';
import { oldestProxy, shapeOf, versionCases, withMeasured } from '../versions-plan.ts';
import { componentVersions, managed, startVersionsWorld } from '../versions-world.ts';
import type { VersionsWorld } from '../versions-world.ts';

const shop = '/api/v1/namespaces/shop/services';
const consider = { [LABEL_CONSIDER]: 'true' };

for (const expected of versionCases(process.env)) {
  const { version, mechanism, hintsAlone } = expected;

  describe(`Kubernetes ${version}: ${mechanism}`, () => {
    // Registered before the bed's own hooks, so that it runs while the bed is there.
    after('keep the version as measured, if all of this passed', async function () {
      if (!this.test?.parent?.tests.every(({ state }) => state === 'passed')) return;
      const date = new Date().toISOString().slice(0, 10);
      const components = await componentVersions(bed());
      const measured = { kubernetesVersion: version, date, components, connections };
      console.log(`      ${JSON.stringify(measured)}`);
      keepResults('measured-versions', withMeasured(process.env['E2E_RESULTS'], measured));
    });
    const bed = useBed({ version });
    let world: VersionsWorld;
    let routed: BedService;
    let bare: BedService;
    let connections = 0;

    before('three zones, four Pods, both commands', async () => {
      world = await startVersionsWorld(bed());
      routed = await world.service({ name: 'routed', labels: managed });
      bare = await world.service({ name: 'bare', labels: consider });
    });

    it('says that it is this version', async () => {
      for (const [program, found] of Object.entries(await componentVersions(bed()))) {
        expect(found, program).to.match(new RegExp(`^v${version.replace('.', '\\.')}\\.\\d+$`));
      }
    });

    it('gets its settings from settings-reconciler', async () => {
      const { mode, trafficDistribution } = expected;
      await waitFor(
        JSON.stringify({ mode, consider: expected.consider, trafficDistribution }),
        async () => shapeOf(await bed().api.get<Service>(`${shop}/routed`)),
        (found) =>
          found.mode === mode &&
          found.consider === expected.consider &&
          found.trafficDistribution === trafficDistribution,
        { assert: () => world.commands.forEach((command) => command.assertRunning()) },
      );
    });

    it('has the own zone on every endpoint, and every connection stays in its zone', async () => {
      await world.hinted(routed);
      connections += await world.staysInZone(routed);
    });

    it('sends connections everywhere for a Service that asks for nothing', async () => {
      await world.goesEverywhere(await world.service({ name: 'plain' }));
    });

    it('sends connections everywhere with Auto by the control plane alone: it gives 4 endpoints no hints', async () => {
      const auto = await world.service({ name: 'auto', annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' } });
      await world.goesEverywhere(auto);
      for (const endpoint of await auto.endpoints()) expect(endpoint.hints).to.equal(undefined);
    });

    if (hintsAlone) {
      it('follows hints alone, without annotation and field', async () => {
        await world.hinted(bare);
        connections += await world.staysInZone(bare);
      });
    } else {
      it('ignores hints without the annotation, and those of a Service that is annotated with Disabled', async () => {
        await world.hinted(bare);
        await world.goesEverywhere(bare);
        const annotations = { [ANNOTATION_TOPOLOGY_MODE]: 'Disabled' };
        const disabled = await world.service({ name: 'disabled', labels: consider, annotations });
        await world.hinted(disabled);
        await world.goesEverywhere(disabled);
      });

      it('follows the same hints once the Service is annotated', async () => {
        await bare.patch({ metadata: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'example.com/any' } } });
        await world.hinted(bare);
        connections += await world.staysInZone(bare);
      });
    }

    it(`has an API server by which PreferSameZone is ${expected.preferSameZone}`, async () => {
      const answer = await bed()
        .api.create<Service>(shop, {
          metadata: { name: 'newest' },
          spec: { ports: [{ port: 80 }], trafficDistribution: 'PreferSameZone' },
        })
        .catch((error: unknown) => error);
      if (expected.preferSameZone === 'refused') {
        expect(answer).to.be.instanceOf(ApiFailure).with.property('status', 422);
        expect((answer as Error).message).to.contain('spec.trafficDistribution');
        return;
      }
      const stored = expected.preferSameZone === 'stored' ? 'PreferSameZone' : undefined;
      expect((answer as Service).spec?.trafficDistribution).to.equal(stored);
    });
  });
}

describe(`kube-proxy ${oldestProxy} under Kubernetes ${defaultVersion}`, () => {
  const bed = useBed();
  let world: VersionsWorld;
  let routed: BedService;

  before('the old proxy in two of three zones', async () => {
    world = await startVersionsWorld(bed(), (zone) => (zone === 'b' ? {} : { proxyVersion: oldestProxy }));
    routed = await world.service({ name: 'routed', labels: managed });
  });

  it('gets the annotation beside the field, because of the kubelets that are as old', async () => {
    const wanted = `${GROUP}/same-zone`;
    await waitFor(
      `${wanted} and PreferSameZone`,
      async () => shapeOf(await bed().api.get<Service>(`${shop}/routed`)),
      ({ mode, trafficDistribution }) => mode === wanted && trafficDistribution === 'PreferSameZone',
    );
  });

  it('keeps every connection in its zone, from old proxies and from the new one', async () => {
    await world.hinted(routed);
    await world.staysInZone(routed);
  });

  it('would not without the annotation: the old proxies ignore the hints of the field, the new one follows', async () => {
    const field = await world.service({ name: 'field', trafficDistribution: 'PreferSameZone' });
    await world.hinted(field);
    const [oldOne, newOne, oldTwo] = world.nodes;
    await world.staysInZone(field, [newOne!]);
    await world.goesEverywhere(field, [oldOne!, oldTwo!]);
  });

  it('would not with Auto instead: that beats the field, and the control plane gives 4 endpoints no hints', async () => {
    const annotations = { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' };
    const auto = await world.service({ name: 'auto', annotations, trafficDistribution: 'PreferSameZone' });
    await world.goesEverywhere(auto);
  });

  it('follows hints of admission for a Service that asks for a strategy by name', async () => {
    const labels = { ...managed, [LABEL_STRATEGY]: 'same-zone' };
    const named = await world.service({ name: 'named', labels });
    await world.hinted(named);
    await world.staysInZone(named);
  });
});

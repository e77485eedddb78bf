// The real etcd-druid as gardenlet installs it: no other writer writes what it guards, hints come at once, values with its own next write.
// Needs built: gardener/etcd-druid-0.36/etcd-druid, gardener/owner/owner
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Service } from '../../../pkg/apis/core.ts';
import { ANNOTATION_OPERATION, ANNOTATION_TOPOLOGY_MODE, LABEL_ETCD_CLIENTS } from '../../../pkg/apis/names.ts';
import { NAMESPACES, SERVICES } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { describeDruid } from '../../contract/etcd-druid.ts';
import { cluster, namespace, seed, shoot } from '../../fixtures/gardener.ts';
import { useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { RECONCILER, WEBHOOK } from '../chart.ts';
import { DRUID_USER, expectSlices, openLandscape } from '../gardener/landscape.ts';
import type { GardenerLandscape } from '../gardener/landscape.ts';
import { type Deployed, watchVersions } from '../gardener/owner.ts';
import { hasOwnZone } from '../hints-support.ts';
import { isAccepted, subjectOf } from '../settings-audit.ts';
import { NS, SAME_ZONE } from '../settings-landscape.ts';
import { COMMAND_USERS, userOf } from '../settings-world.ts';
import { versionCases } from '../versions-plan.ts';

const CLIENT = 'etcd-main-client';
const COMPONENTS = [CLIENT, 'etcd-events-client'];
const LATER = 'shoot--foo--later';
const WAIT_SECONDS = 60;

describe('gardener: etcd', () => {
  const bed = useBed({ auditReadsOf: COMMAND_USERS });
  let landscape: GardenerLandscape;
  let original: Service;
  /** One of the users that Gardener exempts from druid's protection. */
  let collector: Client;

  /** gardenlet's step for both Etcds, with its own Wait: rejects where that fails. */
  const reconcile = (enabled: boolean, ns = NS): Promise<Deployed[]> =>
    Promise.all(
      COMPONENTS.map((component) =>
        landscape.gardenlet.deploy(component, { namespace: ns, enabled, waitSeconds: WAIT_SECONDS }),
      ),
    );
  const service = (ns = NS): Promise<Service> => landscape.world.service(ns, CLIENT);
  /** Every request of ours that would change what druid or gardenlet own, taken or not. */
  const attempts = (): string[] =>
    [RECONCILER, WEBHOOK]
      .flatMap((name) => landscape.world.audit.of(userOf(name)))
      .filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))
      .map(subjectOf)
      .filter((subject) => /^etcds |^services .*-client$/.test(subject));
  const druidWrites = (since: number): number =>
    landscape.world.audit
      .of(DRUID_USER, since)
      .filter((event) => isAccepted(event) && subjectOf(event) === `services ${NS}/${CLIENT}` && event.verb !== 'get')
      .length;
  const generations = async (): Promise<(number | undefined)[]> => {
    const { metadata, status } = await landscape.etcd(NS, 'etcd-main');
    return [metadata?.generation, status?.observedGeneration];
  };

  before('gardenlet has created both Etcds of a Shoot, routing is off', async () => {
    landscape = await openLandscape(bed());
    collector = await landscape.world.clientAs('system:serviceaccount:kube-system:generic-garbage-collector');
    await reconcile(false);
    original = await service();
  });

  describe('by itself', () => {
    it("denies an administrator's update of a client Service, as Gardener registers its webhook", async () => {
      const write = landscape.world.client.patch(SERVICES, { namespace: NS, name: CLIENT }, 'merge', {
        metadata: { annotations: { 'example.com/foreign': 'x' } },
      });
      const denial = await write.then(() => 'taken', String);
      expect(denial).to.contain('changes from service account admin are disallowed at the moment');
    });

    describeDruid(() => ({
      client: landscape.world.client,
      exempt: collector,
      namespace: NS,
      turn: async () => {
        // What was asked for is done when the request is gone; where nothing was, another Etcd's turn comes after ours.
        await landscape.gardenlet.deploy('etcd-events-client', { namespace: NS, enabled: false, waitSeconds: 60 });
        await waitFor(
          'the request taken away',
          () => landscape.etcd(NS, 'etcd-main'),
          ({ metadata }) => metadata?.annotations?.[ANNOTATION_OPERATION] === undefined,
        );
      },
    }));
    after(() => reconcile(false));
  });

  describe('with the setting switched on', () => {
    before('our commands, and then the operator', async () => {
      await landscape.startCommands();
      await landscape.setSeed(true);
    });

    it('has hints on the slices of both client Services at once, chosen without any label', async () => {
      for (const name of COMPONENTS) await expectSlices(landscape, name, 'hinted', (all) => all.every(hasOwnZone));
      const { metadata, spec } = await service();
      expect([metadata?.labels, metadata?.annotations, spec?.trafficDistribution]).to.deep.equal([
        original.metadata?.labels,
        original.metadata?.annotations,
        undefined,
      ]);
    });

    it("leaves the Etcds and gardenlet's Wait alone", async () => {
      const [generation, observed] = await generations();
      expect(generation).to.equal(observed);
      for (const { waitMs } of await reconcile(false)) expect(waitMs).to.be.below(WAIT_SECONDS * 1_000);
      expect(attempts()).to.deep.equal([]);
    });

    it("gets the value with druid's own write once gardenlet agrees, and keeps the hints", async () => {
      const mark = landscape.world.audit.mark();
      await reconcile(true);
      expect((await service()).spec?.trafficDistribution).to.equal(SAME_ZONE);
      expect(druidWrites(mark)).to.equal(1);
      await expectSlices(landscape, CLIENT, 'still hinted', (all) => all.every(hasOwnZone));
    });

    it('keeps the value through the write of an owner that disagrees: no version of the Service is bare', async () => {
      const watched = await watchVersions<Service>(bed(), `/api/v1/namespaces/${NS}/services`, CLIENT);
      const mark = landscape.world.audit.mark();
      await reconcile(false);
      const versions = await watched.stop();
      expect(druidWrites(mark), 'writes of druid').to.be.above(0);
      expect(versions.filter(({ object }) => object.spec?.trafficDistribution !== SAME_ZONE)).to.deep.equal([]);
      expect((await service()).spec?.trafficDistribution).to.equal(SAME_ZONE);
    });

    it('sets the value in the write that creates the Service of a Shoot whose gardenlet disagrees', async () => {
      await landscape.world.create(
        namespace({ metadata: { name: LATER } }),
        cluster({ spec: { shoot: shoot({ status: { technicalID: LATER } }), seed: seed({ enabled: true }) } }),
      );
      // The reconciler labels the namespace for admission; only then is there anything to keep.
      await waitFor(
        'the namespace taken up',
        () => landscape.world.client.get(NAMESPACES, { name: LATER }),
        ({ metadata }) => metadata?.labels?.[LABEL_ETCD_CLIENTS] === 'true',
      );
      await reconcile(false, LATER);
      // The name that every API server takes, so that no write of druid's is ever refused because of us.
      expect((await service(LATER)).spec?.trafficDistribution).to.equal('PreferClose');
    });

    it('never wrote an Etcd or a client Service, nor tried to', () => {
      expect(attempts()).to.deep.equal([]);
    });
  });

  describe('switched off again', () => {
    before(() => landscape.setSeed(false));

    it('leaves the value to its owner, and with it the hints that kube-controller-manager writes for it', async () => {
      await waitFor(
        'the label gone',
        () => landscape.world.client.get(NAMESPACES, { name: NS }),
        ({ metadata }) => metadata?.labels?.[LABEL_ETCD_CLIENTS] === undefined,
      );
      expect((await service()).spec?.trafficDistribution).to.equal(SAME_ZONE);
      await expectSlices(landscape, CLIENT, 'hinted', (all) => all.every(hasOwnZone));
      expect(attempts()).to.deep.equal([]);
    });

    it("is exactly as before after gardenlet's next reconcile", async () => {
      await reconcile(false);
      const { metadata, spec } = await service();
      expect([metadata?.labels, metadata?.annotations, spec]).to.deep.equal([
        original.metadata?.labels,
        original.metadata?.annotations,
        original.spec,
      ]);
      await expectSlices(landscape, CLIENT, 'bare', (all) => all.every(({ hints }) => hints === undefined));
    });
  });
});

/** The long form, where wanted: the newest whose kube-proxy needs an annotation beside hints. */
const OLD = (process.env['E2E_SOAK'] === '1' ? versionCases(process.env) : []).filter(
  ({ version }) => version === '1.30',
);

for (const { version } of OLD) {
  describe(`gardener: etcd, Kubernetes ${version}`, () => {
    const bed = useBed({ version });
    const runtime = `${version}.14`;
    let landscape: GardenerLandscape;

    const reconcile = (enabled: boolean): Promise<Deployed> =>
      landscape.gardenlet.deploy(CLIENT, { namespace: NS, enabled, runtime, waitSeconds: WAIT_SECONDS });
    const annotation = async (): Promise<string | undefined> =>
      (await landscape.world.service(NS, CLIENT)).metadata?.annotations?.[ANNOTATION_TOPOLOGY_MODE];
    /** States that Services are in, by the settings-reconciler's metrics. */
    const states = async (): Promise<string[]> => {
      const page = await (await fetch('http://127.0.0.1:18082/metrics')).text();
      return [...page.matchAll(/^topology_aware_routing_services\{state="(\w+)"\} (\d+)$/gm)].flatMap(
        ([, state = '', count]) => Array.from({ length: Number(count) }, () => state),
      );
    };

    before('gardenlet has created an Etcd of a Shoot, routing is off', async () => {
      landscape = await openLandscape(bed(), {}, `v${runtime}`);
      await reconcile(false);
    });

    it('has hints at once, and is Pending: the annotation is for druid to write', async () => {
      await landscape.startCommands();
      await landscape.setSeed(true);
      await expectSlices(landscape, CLIENT, 'hinted', (all) => all.every(hasOwnZone));
      await waitFor('its state', states, (all) => all.join() === 'Pending');
      expect(await annotation()).to.equal(undefined);
    });

    it("is Pending no more once its owner has asked druid, with the annotation in druid's own write", async () => {
      await reconcile(true);
      expect(await annotation()).to.equal('auto');
      // Nothing in this cluster shows which data plane routes, so more is not claimed.
      await waitFor('its state', states, (all) => all.join() === 'RouterAssumed');
    });
  });
}

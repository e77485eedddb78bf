// Each Service of the catalogue with its real owner, before, during and after a flip, agreeing and not, with and without admission: who wrote what, and for how long it was bare.
// Minutes: 8
// Needs built: gardener/etcd-druid-0.36/etcd-druid, gardener/owner/owner, gardener/gardener-1.141/gardener-resource-manager
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { Service } from '../../../pkg/apis/core.ts';
import { ANNOTATION_APPLIED } from '../../../pkg/apis/names.ts';
import { useBed } from '../bed/index.ts';
import { is, waitFor } from '../bed/machine.ts';
import { RECONCILER } from '../chart.ts';
import { type Commands, DRUID_USER, type GardenerLandscape, openLandscape } from '../gardener/landscape.ts';
import { bareMs, watchVersions } from '../gardener/owner.ts';
import { applyAgain, MANAGER_USER, startResourceManager } from '../gardener/resource-manager.ts';
import { isAccepted, subjectOf } from '../settings-audit.ts';
import { NS, SAME_ZONE } from '../settings-landscape.ts';
import { COMMAND_USERS, userOf } from '../settings-world.ts';

type Carried = 'by us' | 'by us, after it was written' | "by its owner's next write";

interface Row {
  readonly namespace: string;
  readonly service: string;
  /** What writes the Service: Gardener's component itself, or another program for it. */
  readonly writer: 'gardenlet' | 'gardener-operator' | 'gardener-resource-manager' | 'etcd-druid';
  /** How the value comes beside an owner that disagrees, with admission. */
  readonly carried: Carried;
  /** The ManagedResource that holds the Service. */
  readonly managed?: string;
}

const row = (namespace: string, service: string, writer: Row['writer'], carried: Carried): Row => ({
  namespace,
  service,
  writer,
  carried,
});
/** Through the resource manager; its part for the virtual garden, which its Wait is for too, is not applied here. */
const managedRow = (service: string, managed: string): Row => ({
  ...row('garden', service, 'gardener-resource-manager', 'by us'),
  managed,
});
const ROWS: readonly Row[] = [
  row(NS, 'etcd-main-client', 'etcd-druid', "by its owner's next write"),
  row(NS, 'etcd-events-client', 'etcd-druid', "by its owner's next write"),
  row(NS, 'kube-apiserver', 'gardenlet', 'by us, after it was written'),
  row(NS, 'gardener-resource-manager', 'gardenlet', 'by us'),
  row(NS, 'vpa-webhook', 'gardenlet', 'by us'),
  row('garden', 'virtual-garden-etcd-main-client', 'etcd-druid', "by its owner's next write"),
  row('garden', 'virtual-garden-etcd-events-client', 'etcd-druid', "by its owner's next write"),
  row('garden', 'virtual-garden-kube-apiserver', 'gardener-operator', 'by us, after it was written'),
  managedRow('gardener-apiserver', 'gardener-apiserver-runtime'),
  managedRow('gardener-admission-controller', 'gardener-admission-controller-runtime'),
  managedRow('terminal-controller-manager', 'terminal-runtime'),
];
const OURS = ROWS.filter(({ writer }) => writer !== 'etcd-druid');
const OF_DRUID = ROWS.filter(({ writer }) => writer === 'etcd-druid');

const nameOf = ({ namespace, service }: Row): string => `${namespace}/${service}`;
const isBare = ({ spec }: Service): boolean => spec?.trafficDistribution === undefined;

interface Figure {
  readonly row: string;
  readonly phase: string;
  readonly owner: number;
  readonly ours: number;
  /** As a watch saw it: two versions that come together count as one moment. */
  readonly bareMs: number;
}

for (const admission of [true, false]) {
  describe(`gardener: owners, ${admission ? 'with' : 'without'} admission`, () => {
    const bed = useBed({ auditReadsOf: COMMAND_USERS });
    const figures: Figure[] = [];
    let failedWaits = 0;
    let landscape: GardenerLandscape;
    let commands: Commands | undefined;

    const ownerOf = ({ namespace }: Row) => (namespace === NS ? landscape.gardenlet : landscape.operator);
    const userOfWriter = (one: Row): string => {
      if (one.writer === 'etcd-druid') return DRUID_USER;
      return one.managed === undefined ? ownerOf(one).user : MANAGER_USER;
    };
    const deploy = async (one: Row, enabled: boolean): Promise<void> => {
      const options = { namespace: one.namespace, enabled, waitSeconds: one.managed === undefined ? 60 : 0 };
      await ownerOf(one)
        .deploy(one.service, options)
        .catch((error: unknown) => {
          if (String(error).includes('owner: wait')) failedWaits += 1;
          throw error;
        });
      if (one.managed !== undefined) await applyAgain(bed(), one.namespace, one.managed);
    };
    const deployAll = async (enabled: boolean): Promise<void> =>
      void (await Promise.all(ROWS.map((one) => deploy(one, enabled))));
    const writesOf = (user: string, one: Row, since: number): number =>
      landscape.world.audit
        .of(user, since)
        .filter((event) => !['get', 'list', 'watch'].includes(event.verb) && isAccepted(event))
        .filter((event) => subjectOf(event) === `services ${nameOf(one)}`).length;
    const flip = (enabled: boolean): Promise<unknown> =>
      Promise.all([landscape.setSeed(enabled), landscape.setGarden(enabled)]);
    const expectValues = async (rows: readonly Row[], value: string | undefined): Promise<void> => {
      for (const one of rows) {
        await waitFor(
          `${value ?? 'nothing'} on ${nameOf(one)}`,
          () => landscape.settingsOf(one.namespace, one.service),
          is(value),
          // A repair comes at most once a minute.
          { assert: () => commands?.reconciler.assertRunning(), timeoutSeconds: 120 },
        );
      }
    };
    /** What each side wrote of each row during some work, and how long the row stood bare after it had a value. */
    const measure = async (phase: string, work: () => Promise<unknown>): Promise<void> => {
      const mark = landscape.world.audit.mark();
      const watched = await Promise.all(
        ROWS.map((one) => watchVersions<Service>(bed(), `/api/v1/namespaces/${one.namespace}/services`, one.service)),
      );
      await work();
      await landscape.world.quiet();
      for (const [index, one] of ROWS.entries()) {
        const versions = (await watched[index]?.stop()) ?? [];
        figures.push({
          row: nameOf(one),
          phase,
          owner: writesOf(userOfWriter(one), one, mark),
          ours: writesOf(userOf(RECONCILER), one, mark),
          bareMs: Math.round(bareMs(versions, isBare, performance.now())),
        });
      }
    };
    const of = (phase: string, rows: readonly Row[]): Figure[] =>
      figures.filter((one) => one.phase === phase && rows.some((wanted) => nameOf(wanted) === one.row));

    before('every owner has deployed its component, routing is off', async () => {
      // gardener-operator does not inject its gate; unset, its kube-apiserver would be left alone.
      const settingsReconciler = { layerSevenDefault: false };
      landscape = await openLandscape(bed(), { settingsReconciler });
      await startResourceManager(bed(), { version: '1.141' });
      // What the owner of vpa-webhook waits for.
      await startResourceManager(bed(), { version: '1.141', shoot: NS });
      await deployAll(false);
      commands = await landscape.startCommands({ admission });
    });

    it('writes nothing while both settings are off and the owners reconcile', async () => {
      await measure('before', () => deployAll(false));
      expect(of('before', ROWS).filter(({ ours }) => ours > 0)).to.deep.equal([]);
      await expectValues(ROWS, undefined);
    });

    it('routes what it may write while owners that disagree reconcile through the flip', async () => {
      await measure('flip, disagreeing', async () => {
        const reconciling = deployAll(false);
        await flip(true);
        await reconciling;
        await expectValues(OURS, SAME_ZONE);
      });
    });

    it('has every value again after one more reconcile of each owner that disagrees', async () => {
      await measure('after, disagreeing', async () => {
        await deployAll(false);
        await expectValues(OURS, SAME_ZONE);
      });
      if (!admission) return;
      const kept = OURS.filter(({ carried }) => carried === 'by us');
      for (const one of of('after, disagreeing', kept)) {
        expect(one.owner, `writes of the owner of ${one.row}`).to.be.above(0);
        expect(one, one.row).to.include({ ours: 0, bareMs: 0 });
      }
    });

    it('has every value, and writes nothing, while the owners agree', async () => {
      // Without admission a repair may be due still: one a minute, and a resource manager that was asked once applies twice.
      await expectValues(OURS, SAME_ZONE);
      await measure('after, agreeing', () => deployAll(true));
      await expectValues(ROWS, SAME_ZONE);
      expect(of('after, agreeing', ROWS).filter((one) => one.ours > 0)).to.deep.equal([]);
      expect(of('after, agreeing', ROWS).filter((one) => one.bareMs > 0)).to.deep.equal([]);
    });

    if (admission)
      it("keeps the values of etcd's client Services through owners that disagree again", async () => {
        await measure('again, disagreeing', async () => {
          await deployAll(false);
          await expectValues(ROWS, SAME_ZONE);
        });
        for (const one of of('again, disagreeing', OF_DRUID)) expect(one, one.row).to.include({ ours: 0, bareMs: 0 });
      });

    it('is exactly off once the setting is off and the owners have reconciled', async () => {
      await measure('off', async () => {
        await flip(false);
        await deployAll(false);
        await expectValues(ROWS, undefined);
      });
      for (const { namespace, service } of ROWS) {
        const { metadata } = await landscape.world.service(namespace, service);
        expect(metadata?.annotations ?? {}, service).to.not.have.property(ANNOTATION_APPLIED);
      }
    });

    it('needs one write at most of a Service, and never bares it, while owners that agree reconcile through the flip', async () => {
      await measure('flip, agreeing', async () => {
        const reconciling = deployAll(true);
        await flip(true);
        await reconciling;
        await expectValues(ROWS, SAME_ZONE);
      });
      // The resource manager may sync once more what it held before the flip.
      const direct = ROWS.filter(({ managed }) => managed === undefined);
      for (const one of of('flip, agreeing', direct)) {
        expect(one.ours, one.row).to.be.at.most(1);
        expect(one.bareMs, one.row).to.equal(0);
      }
    });

    it('never wrote a client Service of etcd, and let no Wait of an owner fail', () => {
      for (const one of figures.filter(({ row: name }) => OF_DRUID.some((wanted) => nameOf(wanted) === name)))
        expect(one.ours, `${one.row}, ${one.phase}`).to.equal(0);
      expect(failedWaits).to.equal(0);
    });
  });
}

// An owner that has read the version of the runtime cluster before its upgrade writes PreferClose where we would write PreferSameZone: nobody fights.
// Needs built: gardener/etcd-druid-0.36/etcd-druid, gardener/owner/owner
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { useBed } from '../bed/index.ts';
import { RECONCILER } from '../chart.ts';
import { type GardenerLandscape, expectSlices, openLandscape } from '../gardener/landscape.ts';
import { hasOwnZone } from '../hints-support.ts';
import { isAccepted, subjectOf } from '../settings-audit.ts';
import { NS, SAME_ZONE } from '../settings-landscape.ts';
import { COMMAND_USERS, userOf } from '../settings-world.ts';

/** Of all that gardenlet writes, one of each kind: a Service itself, one that admission keeps off, and one through etcd-druid. */
const COMPONENTS = ['gardener-resource-manager', 'kube-apiserver', 'etcd-main-client'];
const BEFORE_UPGRADE = '1.33.5';

describe('gardener: an owner that restarts late', () => {
  const bed = useBed({ auditReadsOf: COMMAND_USERS });
  let landscape: GardenerLandscape;

  const deployAll = async (runtime?: string): Promise<void> => {
    for (const component of COMPONENTS) {
      await landscape.gardenlet.deploy(component, {
        namespace: NS,
        enabled: true,
        waitSeconds: 60,
        ...(runtime && { runtime }),
      });
    }
  };
  const values = (): Promise<(string | undefined)[]> =>
    Promise.all(COMPONENTS.map((component) => landscape.settingsOf(NS, component)));
  const ourWrites = (since: number): string[] =>
    landscape.world.audit
      .of(userOf(RECONCILER), since)
      .filter((event) => !['get', 'list', 'watch'].includes(event.verb) && isAccepted(event))
      .map(subjectOf)
      .filter((subject) => /^(services|etcds) /.test(subject));

  before('gardenlet of before the upgrade has written its values; the setting is on', async () => {
    landscape = await openLandscape(bed());
    await deployAll(BEFORE_UPGRADE);
    await landscape.setSeed(true);
    await landscape.startCommands();
    // Nothing else shows that the Shoot is taken up: there is nothing to write.
    await expectSlices(landscape, 'etcd-main-client', 'hinted', (all) => all.every(hasOwnZone));
    await landscape.world.quiet();
  });

  it('has its PreferClose left as it is: the two names mean the same', async () => {
    expect(await values()).to.deep.equal(COMPONENTS.map(() => 'PreferClose'));
    expect(ourWrites(0)).to.deep.equal([]);
  });

  it('is not fought when it reconciles again', async () => {
    const mark = landscape.world.audit.mark();
    await deployAll(BEFORE_UPGRADE);
    await landscape.world.quiet();
    expect(await values()).to.deep.equal(COMPONENTS.map(() => 'PreferClose'));
    expect(ourWrites(mark)).to.deep.equal([]);
  });

  it('writes the newer name once it has restarted, and no other writer writes', async () => {
    const mark = landscape.world.audit.mark();
    await deployAll();
    await landscape.world.quiet();
    expect(await values()).to.deep.equal(COMPONENTS.map(() => SAME_ZONE));
    expect(ourWrites(mark)).to.deep.equal([]);
  });

  it('causes no warning', async () => {
    const events = await landscape.world.eventsAbout(NS);
    expect(events.filter((event) => /Foreign|Overwritten|Conflict/.test(event))).to.deep.equal([]);
  });
});

// The API server is replaced by newer and older real versions: each mechanism follows the other, and newer ones have to wait.
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { LABEL_MANAGED } from '../../../pkg/apis/names.ts';
import { type RoutingShape, routingShapeOf, service } from '../../fixtures/core.ts';
import { cluster, namespace } from '../../fixtures/gardener.ts';
import { areBuilt, defaultVersion } from '../bed/binaries.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { atLeast, waitFor } from '../bed/machine.ts';
import { RECONCILER } from '../chart.ts';
import { commandReady } from '../commands.ts';
import { isLongForm } from '../results.ts';
import { type AuditEvent, isAccepted, receivedAt, subjectOf } from '../settings-audit.ts';
import { COMMAND_USERS, type World, openWorld, userOf } from '../settings-world.ts';

const NS = 'shoot--foo--bar';
const NAMES = ['gardener-resource-manager', 'mine', 'vpa-webhook'];
const STABLE_SECONDS = 5;

/** What a Service carries on each version. */
const SHAPES: Record<string, RoutingShape> = {
  '1.30': { mode: 'auto', consider: 'true' },
  '1.31': { field: 'PreferClose', consider: 'true' },
  '1.33': { field: 'PreferClose' },
  '1.34': { field: 'PreferSameZone' },
  [defaultVersion]: { field: 'PreferSameZone' },
};

// Only what is built already: building four old versions is not this suite's business. Three show every kind of step.
const path = isLongForm ? Object.keys(SHAPES).sort() : ['1.31', '1.33', '1.34'];
const built: string[] = [];
for (const version of path) if (await areBuilt(version)) built.push(version);
const [oldest = defaultVersion, ...newer] = built;

describe(`settings while the API server is upgraded from ${oldest}`, () => {
  const bed = useBed({ version: oldest, auditReadsOf: COMMAND_USERS });
  let world: World;
  let reconciler: Component;
  let version = oldest;

  const start = async (flags: string[] = []): Promise<void> => {
    reconciler = await world.startReconciler({
      name: `reconciler-${flags.at(-1) ?? 'plain'}`,
      // The only API server is away longer than a leader may wait for it; a kubelet would start it again.
      flags: ['--no-leader-elect', ...flags],
      config: {
        modes: { seed: { gardener: {}, extensionServices: true } },
        kubernetesVersion: { rereadSeconds: 5, stableSeconds: STABLE_SECONDS },
      },
    });
  };
  const shapes = async (): Promise<RoutingShape[]> =>
    (await Promise.all(NAMES.map((name) => world.service(NS, name)))).map(routingShapeOf);
  const expectShapes = (wanted: RoutingShape | undefined): Promise<unknown> =>
    waitFor(
      `${JSON.stringify(wanted)} on all Services`,
      shapes,
      (found) => found.every((shape) => isDeepStrictEqual(shape, wanted)),
      { assert: () => reconciler.assertRunning() },
    );
  const written = (since: number): string[] => world.writes(since).map(subjectOf).sort();
  const all = NAMES.map((name) => `services ${NS}/${name}`);
  const requests = (since: number): AuditEvent[] => world.audit.of(userOf(RECONCILER), since);

  before('a shoot with its setting on', async () => {
    world = await openWorld(bed(), { where: 'seed' });
    await world.create(namespace(), cluster());
    const labels = { [LABEL_MANAGED]: 'true' };
    for (const name of NAMES)
      await world.create(service({ metadata: { name, namespace: NS, ...(name === 'mine' ? { labels } : {}) } }));
    await start();
  });

  it(`sets what ${oldest} understands`, () => expectShapes(SHAPES[oldest]));

  /** Since when the new version has been answered, and what came of it. */
  const followed = async (next: string, since: number, restarted: boolean): Promise<void> => {
    const asksVersion = ({ requestURI }: AuditEvent): boolean => requestURI === '/version';
    const changes = !isDeepStrictEqual(SHAPES[next], SHAPES[version]);
    if (!changes) {
      await waitFor(
        'three answers of the new version',
        () => requests(since).filter((event) => asksVersion(event) && isAccepted(event)).length,
        atLeast(3),
      );
      await world.quiet();
      expect(written(since)).to.deep.equal([]);
      return;
    }
    await expectShapes(SHAPES[next]);
    await world.quiet();
    expect(written(since), 'one patch each').to.deep.equal(all);
    const seen = Math.min(...requests(since).filter(asksVersion).map(receivedAt));
    const first = Math.min(...world.writes(since).map(receivedAt));
    const least = restarted ? 0 : STABLE_SECONDS * 1_000;
    expect(first - seen, 'milliseconds from the first answer to the first write').to.be.at.least(least);
    console.log(`      ${next}: written ${first - seen} ms after it was first answered`);
  };

  for (const [index, next] of newer.entries()) {
    const restarted = index % 2 === 1;
    it(`goes on to ${next}${restarted ? ', restarted in the middle of it' : ', not before it is stable'}`, async () => {
      if (restarted) await reconciler.stop();
      const since = world.audit.mark();
      await bed().changeVersion(next);
      if (restarted) {
        reconciler.start();
        await commandReady(reconciler, 18_081);
      }
      await followed(next, since, restarted);
      version = next;
    });
  }

  const lower = built.findLast((item) => SHAPES[item]?.field === 'PreferClose');
  if (lower !== undefined && newer.length > 0)
    it(`goes back to ${lower} at once`, async () => {
      const since = world.audit.mark();
      await bed().changeVersion(lower);
      await expectShapes(SHAPES[lower]);
      await world.quiet();
      expect(written(since)).to.deep.equal(all);
    });

  it('uses a configured version instead, which decides at once', async () => {
    await reconciler.stop();
    for (const [told, shape] of [['v1.30.14', '1.30'] as const, ['v1.31.1', '1.31'] as const]) {
      const since = world.audit.mark();
      await start(['--kubernetes-version', told]);
      await expectShapes(SHAPES[shape]);
      await world.quiet();
      expect(written(since)).to.deep.equal(all);
      await reconciler.stop();
    }
  });
});

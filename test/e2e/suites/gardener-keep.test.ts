// A Service that the real resource manager writes again at every sync: for which share of the time it has its value with `keep` off, auto and on.
// Soak: its programs take most of an hour to build.
// Needs built: gardener/gardener-1.150/gardener-resource-manager
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Service } from '../../../pkg/apis/core.ts';
import { SEEDS } from '../../../pkg/apis/resources.ts';
import { service } from '../../fixtures/core.ts';
import { namespace, seed } from '../../fixtures/gardener.ts';
import { useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { RECONCILER, WEBHOOK } from '../chart.ts';
import { commandReady } from '../commands.ts';
import { bareMs, realDefinitions, watchVersions } from '../gardener/owner.ts';
import { manage, MANAGER_USER, startResourceManager } from '../gardener/resource-manager.ts';
import { isAccepted, subjectOf } from '../settings-audit.ts';
import { letSeedsBeRead, MANAGED, SAME_ZONE, SEED } from '../settings-landscape.ts';
import { type World, openWorld, userOf } from '../settings-world.ts';

const NS = 'extension-provider-local';
/** The least that the resource manager takes; Gardener's own is an hour. */
const SYNC_SECONDS = 15;
const SYNCS = 6;

interface Figure {
  readonly keep: string;
  /** Of the time since the first value, 0 to 1, as a watch saw it. */
  readonly share: number;
  /** Writes of the Service by each side. */
  readonly manager: number;
  readonly ours: number;
}

describe('gardener: keep beside a resource manager that syncs every 15 s', () => {
  const bed = useBed();
  const figures: Figure[] = [];
  let world: World;
  let environment: Record<string, string>;

  const setSeed = (enabled: boolean): Promise<unknown> =>
    world.client.patch(SEEDS, { name: SEED }, 'merge', { spec: { settings: { topologyAwareRouting: { enabled } } } });
  const expectValue = (value: string | undefined): Promise<unknown> =>
    waitFor(
      `${value ?? 'nothing'} on webhook`,
      () => world.service(NS, 'webhook'),
      ({ spec }) => spec?.trafficDistribution === value,
      { timeoutSeconds: 90 },
    );
  const writesOf = (user: string, since: number): number =>
    world.audit
      .of(user, since)
      .filter((event) => ['update', 'patch'].includes(event.verb) && isAccepted(event))
      .filter((event) => subjectOf(event) === `services ${NS}/webhook`).length;

  /** From the first value on, for the time of {@link SYNCS} syncs. */
  const measure = async (keep: string): Promise<Figure> => {
    const reconciler = await world.startReconciler({ name: `reconciler-${keep}`, environment, config: { keep } });
    const mark = world.audit.mark();
    const watched = await watchVersions<Service>(bed(), `/api/v1/namespaces/${NS}/services`, 'webhook');
    await setSeed(true);
    await expectValue(SAME_ZONE);
    const began = performance.now();
    await pause(SYNCS * SYNC_SECONDS * 1_000);
    const versions = await watched.stop();
    const ended = performance.now();
    const bare = bareMs(versions, ({ spec }) => spec?.trafficDistribution === undefined, ended);
    await setSeed(false);
    await expectValue(undefined);
    await reconciler.stop();
    const [manager, ours] = [writesOf(MANAGER_USER, mark), writesOf(userOf(RECONCILER), mark)];
    return { keep, share: 1 - bare / (ended - began), manager, ours };
  };

  before('a seed whose extension has a Service that the resource manager applies, routing is off', async () => {
    world = await openWorld(bed(), { where: 'seed', definitions: await realDefinitions() });
    await world.create(
      seed({ metadata: { name: SEED }, enabled: false }),
      namespace({ role: 'extension', metadata: { name: NS } }),
      namespace({ role: 'garden' }),
    );
    await startResourceManager(bed(), { version: '1.150', syncSeconds: SYNC_SECONDS });
    await manage(bed(), NS, 'extension', [
      {
        apiVersion: 'v1',
        kind: 'Service',
        ...service({ metadata: { name: 'webhook', namespace: NS, labels: MANAGED } }),
      },
    ]);
    const webhook = await world.program(WEBHOOK);
    webhook.start();
    await commandReady(webhook, 8_081);
    environment = { SEED_NAME: SEED, GARDEN_KUBECONFIG: await letSeedsBeRead(bed()) };
  });
  after(() => {
    for (const { keep, share, manager, ours } of figures)
      console.log(
        `      keep: ${keep}: has its value ${(100 * share).toFixed(1)} % of the time, ${manager} writes of the resource manager, ${ours} of ours`,
      );
  });

  for (const keep of ['off', 'auto', 'on']) {
    it(`keep: ${keep} is measured over ${SYNCS} syncs`, async () => {
      const figure = await measure(keep);
      figures.push(figure);
      // Without writes of the resource manager the figure would say nothing.
      expect(figure.manager, 'writes of the resource manager').to.be.at.least(keep === 'off' ? 2 : SYNCS - 2);
      // Until the API server's caches know the label of the namespace, a write may still come through.
      if (keep === 'off') expect(figure.share).to.be.below(0.9);
      else expect(figure.share).to.be.above(0.99);
    });
  }
});

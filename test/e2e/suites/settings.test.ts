// Settings of a seed and a garden on a real API server: every change that is followed, and exactly the writes that it costs.
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { LABEL_ETCD_CLIENTS, LABEL_ROUTING } from '../../../pkg/apis/names.ts';
import { NAMESPACES, SERVICES } from '../../../pkg/apis/resources.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { RECONCILER, WEBHOOK } from '../chart.ts';
import { commandReady } from '../commands.ts';
import { permissionsOf, unusedPermissions } from '../permissions.ts';
import { receivedAt, subjectOf } from '../settings-audit.ts';
import {
  createLandscape,
  FOUGHT,
  labelled,
  letSeedsBeRead,
  NS,
  OF_GARDEN,
  OF_SEED,
  SAME_ZONE,
  SEED,
  startFight,
} from '../settings-landscape.ts';
import type { Fight, Landscape } from '../settings-landscape.ts';
import { COMMAND_USERS, type World, openWorld, userOf } from '../settings-world.ts';

const start = (world: World, gardenKubeconfig: string): Promise<Component> =>
  world.startReconciler({
    config: { drift: { fightAfterRepairs: 2 } },
    environment: { SEED_NAME: SEED, GARDEN_KUBECONFIG: gardenKubeconfig },
  });

describe('settings of a seed and a garden', () => {
  const bed = useBed({ auditReadsOf: COMMAND_USERS });
  let world: World;
  let reconciler: Component;
  let webhook: Component;
  let fight: Fight | undefined;
  let landscape: Landscape;

  before('a landscape with both settings off, and the commands', async () => {
    world = await openWorld(bed(), { where: 'seed and runtime' });
    landscape = await createLandscape(world, () => reconciler.assertRunning());
    webhook = await world.program(WEBHOOK);
    webhook.start();
    await commandReady(webhook, 8_081);
    reconciler = await start(world, await letSeedsBeRead(bed()));
  });
  after(async () => {
    await fight?.stop();
    await world?.close();
  });

  describe('followed at once', () => {
    it('writes nothing while both are off', async () => {
      expect(await landscape.writesDuring(() => delay(0))).to.deep.equal([]);
      expect(world.writes()).to.deep.equal([]);
    });

    for (const round of ['on', 'and off', 'and on again']) {
      const enabled = round !== 'and off';
      it(`takes the live Seed's setting ${round} to each object with one patch`, async () => {
        const written = await landscape.writesDuring(async () => {
          await landscape.setSeed(enabled);
          await landscape.expectValue(OF_SEED, enabled ? SAME_ZONE : undefined);
        });
        expect(written).to.deep.equal([...labelled(FOUGHT, NS), ...OF_SEED].sort());
        await landscape.hasEvent(
          NS,
          enabled ? /^RoutingEnabled: .*setting read from garden.*Etcd etcd-main: hints at once/ : /^SettingDisabled/,
        );
      });
    }

    it('takes the setting of the Garden to its own namespace only', async () => {
      const written = await landscape.writesDuring(async () => {
        await landscape.setGarden(true);
        await landscape.expectValue(OF_GARDEN, SAME_ZONE);
      });
      expect(written).to.deep.equal([...labelled('garden'), ...OF_GARDEN]);
      // gardener-operator injects no feature gates: what cannot be decided counts as L7.
      await landscape.hasEvent(
        'garden',
        /^RoutingEnabled.*virtual-garden-kube-apiserver is left out \(LayerSevenLoadBalancing/,
      );
    });

    it('leaves Etcds alone, generation and all, and labels their namespaces for admission', async () => {
      expect((await world.etcd(NS, 'etcd-main')).metadata?.generation).to.equal(1);
      for (const name of [NS, 'garden']) {
        const { metadata } = await world.client.get(NAMESPACES, { name });
        expect(metadata?.labels?.[LABEL_ETCD_CLIENTS], name).to.equal('true');
      }
    });

    it('writes nothing when it is started again', async () => {
      const written = await landscape.writesDuring(async () => {
        await reconciler.stop();
        reconciler.start();
        await commandReady(reconciler, 18_081);
        await delay(1_000);
      });
      expect(written).to.deep.equal([]);
    });
  });

  describe('beside owners that overwrite twice a second', () => {
    before(async () => {
      await world.quiet();
      fight = await startFight(world, FOUGHT);
    });

    it('has nothing to repair where admission keeps the value in the write that drops it', async () => {
      const ref = { namespace: NS, name: 'vpa-webhook' };
      const mark = world.audit.mark();
      await world.client.patch(SERVICES, ref, 'merge', { spec: { trafficDistribution: null } });
      await landscape.expectValue([`services ${NS}/vpa-webhook`], SAME_ZONE);
      await world.quiet();
      const repairs = world.writes(mark).filter((event) => subjectOf(event) === `services ${NS}/vpa-webhook`);
      expect(repairs).to.deep.equal([]);
    });

    it('keeps the values at admission from the start: owners of the catalogue are known to rewrite', async function () {
      this.timeout(120_000);
      const { metadata } = await world.client.get(NAMESPACES, { name: FOUGHT });
      // The value of a garden runtime's installation.
      expect(metadata?.labels?.[LABEL_ROUTING]).to.equal('runtime');
      await waitFor(
        'values that survive overwriting',
        () => ({ ...fight?.last }),
        ({ patched, replaced }) => [patched, replaced].every((value) => value === SAME_ZONE),
      );
    });

    it('repairs the kube-apiserver, which admission must not touch, once a minute, and reports the fight', async function () {
      this.timeout(200_000);
      await waitFor(
        'a told fight',
        () => world.eventsAbout(FOUGHT),
        (events) => events.some((event) => /^SettingsOverwritten: .*kube-apiserver/.test(event)),
        { timeoutSeconds: 180, assert: () => reconciler.assertRunning() },
      );
      await fight?.stop();
      const started = receivedAt(world.audit.of('gardenlet')[0]!);
      const repairs = world.writes().filter((event) => receivedAt(event) >= started);
      const subject = `services ${FOUGHT}/kube-apiserver`;
      const times = repairs.filter((event) => subjectOf(event) === subject).map(receivedAt);
      expect(times.length, `repairs of ${subject}`).to.be.within(2, 4);
      for (const [index, time] of times.entries()) {
        const gap = index === 0 ? Number.POSITIVE_INFINITY : time - times[index - 1]!;
        expect(gap, `milliseconds before repair ${index + 1} of ${subject}`).to.be.at.least(60_000);
      }
    });
  });

  describe('reverted', () => {
    it('with --cleanup leaves every object exactly as it was created', async () => {
      await reconciler.stop();
      await world.client.delete(SERVICES, { namespace: FOUGHT, name: 'etcd-main-client' });
      const output = await world.runToEnd(RECONCILER, { name: 'cleanup', flags: ['--cleanup'] });
      expect(output).to.match(/settings removed from 8 Service\(s\), marks from 3 Namespace\(s\)/);
      expect(await world.changed()).to.deep.equal([]);
    });

    it('asked for nothing that the rendered roles do not allow', async () => {
      await webhook.stop();
      await world.runToEnd(WEBHOOK, { name: 'cleanup-webhook', flags: ['--cleanup'] });
      for (const component of [RECONCILER, WEBHOOK]) {
        const events = world.audit.of(userOf(component));
        expect(events.filter(({ responseStatus }) => responseStatus?.code === 403)).to.deep.equal([]);
        const allowed = permissionsOf(world.rendered).filter(({ account }) => account === component);
        expect(allowed, component).not.to.be.empty;
        console.log(
          `      not needed here by ${component}: ${unusedPermissions(allowed, events).join(', ') || 'nothing'}`,
        );
      }
    });
  });
});

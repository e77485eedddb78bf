// Settings of a seed and a garden on a real API server: every change that is followed, and exactly the writes that it costs.
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { LABEL_ETCD_CLIENTS } from '../../../pkg/apis/names.ts';
import { NAMESPACES } from '../../../pkg/apis/resources.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { RECONCILER, WEBHOOK } from '../chart.ts';
import { commandReady } from '../commands.ts';
import { permissionsOf, unusedPermissions } from '../permissions.ts';
import {
  createLandscape,
  OTHER,
  labelled,
  letSeedsBeRead,
  NS,
  OF_GARDEN,
  OF_SEED,
  SAME_ZONE,
  SEED,
} from '../settings-landscape.ts';
import type { Landscape } from '../settings-landscape.ts';
import { COMMAND_USERS, type World, openWorld, userOf } from '../settings-world.ts';

describe('settings of a seed and a garden', () => {
  const bed = useBed({ auditReadsOf: COMMAND_USERS });
  let world: World;
  let reconciler: Component;
  let webhook: Component;
  let landscape: Landscape;

  before('a landscape with both settings off, and the commands', async () => {
    world = await openWorld(bed(), { where: 'seed and runtime' });
    landscape = await createLandscape(world, () => reconciler.assertRunning());
    webhook = await world.program(WEBHOOK);
    webhook.start();
    await commandReady(webhook, 8_081);
    const environment = { SEED_NAME: SEED, GARDEN_KUBECONFIG: await letSeedsBeRead(bed()) };
    reconciler = await world.startReconciler({ environment });
  });
  after(async () => {
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
        expect(written).to.deep.equal([...labelled(OTHER, NS), ...OF_SEED].sort());
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

  describe('reverted', () => {
    it('with --cleanup leaves every object exactly as it was created', async () => {
      await reconciler.stop();
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

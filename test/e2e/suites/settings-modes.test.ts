// SPDX-License-Identifier: Apache-2.0
// A cluster without Gardener on a real API server: Services ask by label or annotation, zones come from Nodes, one owner a namespace.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Service } from '../../../pkg/apis/core.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_MANAGED,
  LABEL_STRATEGY,
} from '../../../pkg/apis/names.ts';
import { CLUSTERS, FLOW_POLICIES, NODES, SERVICES } from '../../../pkg/apis/resources.ts';
import { service } from '../../fixtures/core.ts';
import { cluster, garden, namespace, seed } from '../../fixtures/gardener.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { RECONCILER } from '../chart.ts';
import { commandReady, startWebhook } from '../commands.ts';
import { describeFlowController, FLOW_USER, installDefinitions, policyOf } from '../flow-world.ts';
import { settingsWrites, subjectOf } from '../settings-audit.ts';
import { COMMAND_USERS, createNode, openWorld, userOf } from '../settings-world.ts';
import type { World } from '../settings-world.ts';

const PLAIN = 'shop';
const MANAGED = { [LABEL_MANAGED]: 'true' };
const SAME_ZONE = 'PreferSameZone';

const asking = (strategy: string) => ({ [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/${strategy}` });

const settingsOf = ({ metadata, spec }: Service): unknown[] => [
  spec?.trafficDistribution,
  metadata?.labels?.[LABEL_STRATEGY],
];

describe('settings by mode', () => {
  const bed = useBed({ auditReadsOf: COMMAND_USERS });
  let world: World;
  let reconciler: Component;

  const expectService = (ns: string, name: string, value: string | undefined, strategy?: string): Promise<unknown> =>
    waitFor(
      `${value ?? 'nothing'} on ${ns}/${name}`,
      async () => settingsOf(await world.service(ns, name)),
      ([field, label]) => field === value && label === strategy,
      { assert: () => reconciler.assertRunning() },
    );

  before('a plain cluster, with the rights of a seed and a runtime for the last test', async () => {
    world = await openWorld(bed(), {
      values: { modes: { cluster: true } },
      zones: ['eu-1a', 'eu-1b'],
    });
    const of = (name: string, metadata: Service['metadata'], spec: Service['spec'] = {}): Service =>
      service({ metadata: { ...metadata, name, namespace: PLAIN }, spec });
    await world.create(
      namespace({ metadata: { name: PLAIN, labels: { 'gardener.cloud/role': 'none' } } }),
      of('labelled', { labels: MANAGED }),
      of('annotated', { annotations: asking('same-zone') }),
      of('planned', { annotations: asking('load-aware') }),
      of('own', { annotations: asking('same-zone') }, { trafficDistribution: 'PreferClose' }),
      of('foreign', { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'example.com/mine' } }),
      of('both', { labels: { [LABEL_STRATEGY]: 'same-zone' }, annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' } }),
      of('silent', {}),
    );
    reconciler = await world.startReconciler({
      config: {
        modes: { seed: { gardener: {} }, garden: { gardener: { featureGates: { IstioTLSTermination: false } } } },
      },
    });
  });
  after(() => world?.close());

  it('serves Services that ask, and keeps what their authors wrote', async () => {
    await expectService(PLAIN, 'labelled', SAME_ZONE);
    await expectService(PLAIN, 'annotated', SAME_ZONE, 'same-zone');
    await expectService(PLAIN, 'planned', undefined, 'load-aware');
    await expectService(PLAIN, 'own', 'PreferClose', 'same-zone');
    await world.quiet();
    for (const name of ['foreign', 'silent', 'both']) {
      expect((await world.service(PLAIN, name)).metadata?.annotations?.[ANNOTATION_APPLIED], name).to.equal(undefined);
    }
    const written = world.writes().map(subjectOf).sort();
    expect(written).to.deep.equal(
      ['annotated', 'labelled', 'own', 'planned'].map((name) => `services ${PLAIN}/${name}`),
    );
  });

  it('agrees with a flow-controller that only observes, and with admission, about the label of a planned Service', async () => {
    await installDefinitions(world.client);
    const webhook = await startWebhook(bed());
    await world.client.create(FLOW_POLICIES, policyOf(PLAIN, 'planned', { mode: 'Observe' }));
    const { controller: flow, ready } = await describeFlowController(bed());
    flow.start();
    await ready();
    const observed = 'observe-load-aware';
    await expectService(PLAIN, 'planned', undefined, observed);

    await world.quiet();
    const mark = world.audit.mark();
    await reconciler.stop();
    reconciler.start();
    await commandReady(reconciler, 18_081);
    // Each of them looks at it again, and admission at the write.
    const note = { metadata: { annotations: { note: 'by its author' } } };
    await world.client.patch(SERVICES, { namespace: PLAIN, name: 'planned' }, 'merge', note);
    await world.quiet();
    const touched = world.audit.of('admin', mark).map(subjectOf);
    expect(touched, 'the author wrote').to.include(`services ${PLAIN}/planned`);
    const ours = [userOf(RECONCILER), FLOW_USER].flatMap((user) => settingsWrites(world.audit.of(user, mark)));
    expect(ours.map(subjectOf)).to.deep.equal([]);
    await expectService(PLAIN, 'planned', undefined, observed);

    await world.client.patch(FLOW_POLICIES, { namespace: PLAIN, name: 'planned' }, 'merge', { spec: { mode: null } });
    await expectService(PLAIN, 'planned', undefined, 'load-aware');
    await world.client.patch(SERVICES, { namespace: PLAIN, name: 'planned' }, 'merge', {
      metadata: { annotations: { note: null } },
    });
    for (const program of [flow, webhook]) await program.stop();
  });

  it('reports Auto beside a strategy', () =>
    waitFor(
      'the event',
      () => world.eventsAbout(PLAIN),
      (events) => events.some((event) => /ConflictingMode/.test(event)),
    ));

  it('reverts what was asked for by annotation when the annotation goes', async () => {
    const ref = { namespace: PLAIN, name: 'annotated' };
    const annotate = (value: string | null): Promise<unknown> =>
      world.client.patch(SERVICES, ref, 'merge', { metadata: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: value } } });
    await annotate(null);
    await expectService(PLAIN, 'annotated', undefined);
    await annotate(`${GROUP}/same-zone`);
    await expectService(PLAIN, 'annotated', SAME_ZONE, 'same-zone');
  });

  it('follows the zones of Nodes, and the end of a Node, and does nothing when one is not ready', async () => {
    const ready = (status: 'True' | 'False'): Promise<unknown> => {
      const conditions = [{ type: 'Ready', status }];
      return world.client.patch(
        NODES,
        { name: 'node-eu-1b' },
        'merge',
        { status: { conditions } },
        { subresource: 'status' },
      );
    };
    const mark = world.audit.mark();
    await ready('False');
    await world.quiet();
    expect(world.writes(mark).map(subjectOf), 'while a zone is away').to.deep.equal([]);
    await ready('True');
    await world.client.delete(NODES, { name: 'node-eu-1b' });
    await expectService(PLAIN, 'labelled', undefined);
    await createNode(world.client, 'eu-1c', 'v1.36.0');
    await expectService(PLAIN, 'labelled', SAME_ZONE);
  });

  it('names the strategy in an annotation while some kubelet is 1.30 or older', async () => {
    await createNode(world.client, 'eu-1d', 'v1.30.4');
    const mode = async (): Promise<string | undefined> =>
      (await world.service(PLAIN, 'labelled')).metadata?.annotations?.[ANNOTATION_TOPOLOGY_MODE];
    await waitFor('the annotation', mode, (value) => value === `${GROUP}/same-zone`);
    await world.client.delete(NODES, { name: 'node-eu-1d' });
    await waitFor('no annotation', mode, (value) => value === undefined);
    expect((await world.service(PLAIN, 'labelled')).spec?.trafficDistribution).to.equal(SAME_ZONE);
  });

  it('has one owner for each namespace where seed, garden and cluster are one', async () => {
    const mark = world.audit.mark();
    await world.create(
      namespace({ role: 'garden' }),
      namespace(),
      namespace({ role: 'extension' }),
      namespace({ role: 'extension', metadata: { name: 'runtime-extension-x' } }),
      garden({ enabled: false }),
      cluster({ spec: { seed: seed() } }),
      service({ metadata: { name: 'gardener-apiserver', namespace: 'garden' } }),
      service({ metadata: { name: 'vpa-webhook', namespace: 'shoot--foo--bar' } }),
      service({ metadata: { name: 'x', namespace: 'runtime-extension-x', labels: MANAGED } }),
      service({ metadata: { name: 'x', namespace: 'extension-provider-local', labels: MANAGED } }),
    );
    await expectService('shoot--foo--bar', 'vpa-webhook', SAME_ZONE);
    await expectService('extension-provider-local', 'x', SAME_ZONE);
    await world.quiet();
    for (const [ns, name] of [['garden', 'gardener-apiserver'] as const, ['runtime-extension-x', 'x'] as const]) {
      await expectService(ns, name, undefined);
    }
    await world.client.patch(CLUSTERS, { name: 'shoot--foo--bar' }, 'merge', {
      spec: { seed: seed({ enabled: false }) },
    });
    await expectService('shoot--foo--bar', 'vpa-webhook', undefined);
    await expectService('extension-provider-local', 'x', undefined);
    await world.quiet();
    const written = world.writes(mark).map(subjectOf);
    expect(written.filter((subject) => /garden|runtime/.test(subject))).to.deep.equal([]);
    const services = written.filter((subject) => subject.startsWith('services '));
    expect(services, 'on and off').to.have.length(4);
  });

  it('goes without a live Seed that it may not read, and was refused nothing else', async () => {
    await reconciler.stop();
    const gardenKubeconfig = await bed().kubeconfig({ user: 'stranger' });
    reconciler = await world.startReconciler({
      name: 'with-configuration',
      config: { modes: { seed: { gardener: {}, seedName: 'eu-1', gardenKubeconfig, seed: { spec: seed().spec } } } },
    });
    await expectService('shoot--foo--bar', 'vpa-webhook', SAME_ZONE);
    const refused = world.audit.of(userOf(RECONCILER)).filter(({ responseStatus }) => responseStatus?.code === 403);
    expect(refused).to.deep.equal([]);
  });

  it('leaves every object exactly as it was created, with --cleanup', async () => {
    await reconciler.stop();
    await world.runToEnd(RECONCILER, { name: 'cleanup', flags: ['--cleanup'] });
    expect(await world.changed()).to.deep.equal([]);
  });
});

// SPDX-License-Identifier: Apache-2.0
// A Gardener extension's duties on a real API server, with exactly the rights and configuration that the chart renders.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Extension, ExtensionCondition } from '../../../pkg/apis/extension.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_OPERATION,
  CONDITION_EFFECTIVE,
  EXTENSION_FINALIZER,
  EXTENSION_TYPE,
  HEARTBEAT_LEASE,
  LABEL_STRATEGY,
} from '../../../pkg/apis/names.ts';
import type { Lease } from '../../../pkg/kubernetes/lease.ts';
import { gardenerCrds } from '../../fixtures/crds.ts';
import { cluster, extension, garden, namespace, routingConfig, shoot } from '../../fixtures/gardener.ts';
import { pagesRunBy } from '../../support/docs/coverage.ts';
import { shellBlocks } from '../../support/docs/markdown.ts';
import { openShell } from '../../support/docs/shell.ts';
import type { Component as Program } from '../bed/component.ts';
import type { BedNode, BedPod } from '../bed/index.ts';
import { mastersGroup } from '../bed/kubeconfig.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { INJECTED, NAMESPACE, RECONCILER, openHelm } from '../chart.ts';
import { commandReady, describeProxies } from '../commands.ts';
import { auditSince } from '../faults-audit.ts';
import { apply, applyDefinitions, installedProgram } from '../installation.ts';

const ZONES = ['eu-1a', 'eu-1b', 'eu-1c'];
const SUITE = 'test/e2e/suites/extension.test.ts';
const PAGE = 'docs/usage/extension-resource.md';
/** As on the page. */
const SHOOT = 'shoot--my-project--my-shoot';
/** Of a Shoot that has not asked for anything. */
const SILENT = 'shoot--my-project--silent';
const OF_EXTENSION = 'extension-provider-local';
const OF_RUNTIME = 'runtime-extension-x';
const REF = { namespace: SHOOT, name: EXTENSION_TYPE };

type Ref = typeof REF;
interface Routed {
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: { trafficDistribution?: string };
}

describe('extension', () => {
  const user = `system:serviceaccount:${NAMESPACE}:${RECONCILER}`;
  const bed = useBed({ auditReadsOf: [user] });
  let reconciler: Program;
  let nodes: BedNode[];
  let pods: BedPod[];

  const extensionsOf = (ns: string): string => `/apis/extensions.gardener.cloud/v1alpha1/namespaces/${ns}/extensions`;
  const pathOf = ({ namespace: ns, name }: Ref): string => `${extensionsOf(ns)}/${name}`;
  const get = (ref = REF): Promise<Extension> => bed().api.get<Extension>(pathOf(ref));
  const stateOf = ({ status }: Extension): string => `${status?.lastOperation?.type} ${status?.lastOperation?.state}`;
  const conditionOf = ({ status }: Extension): ExtensionCondition | undefined =>
    status?.conditions?.find(({ type }) => type === CONDITION_EFFECTIVE);
  const expectState = (wanted: string, ref = REF): Promise<Extension> =>
    waitFor(
      `${ref.name}: ${wanted}`,
      () => get(ref),
      (found) => stateOf(found) === wanted,
      {
        assert: () => reconciler.assertRunning(),
      },
    );
  const expectCondition = (wanted: string, ref = REF): Promise<Extension> =>
    waitFor(
      `${ref.name}: ${wanted}`,
      () => get(ref),
      (found) => {
        const { status, reason } = conditionOf(found) ?? {};
        return `${status} ${reason}` === wanted;
      },
    );
  /** What gardenlet waits for in a flow: no order left, no error, this generation, success. */
  const expectReady = (ref = REF): Promise<Extension> =>
    waitFor(
      `${ref.name} ready for Gardener`,
      () => get(ref),
      ({ metadata, status }) => {
        const settled = status?.observedGeneration === metadata?.generation && status?.lastError === undefined;
        const ordered = metadata?.annotations?.[ANNOTATION_OPERATION] !== undefined;
        return settled && !ordered && status?.lastOperation?.state === 'Succeeded';
      },
    );
  const order = (operation: string): Promise<unknown> =>
    bed().api.patch(pathOf(REF), { metadata: { annotations: { [ANNOTATION_OPERATION]: operation } } });
  const configure = (fields: object, ref = REF): Promise<unknown> =>
    bed().api.patch(pathOf(ref), { spec: { providerConfig: routingConfig(fields) } });
  const create = (overrides: Parameters<typeof extension>[0] = {}): Promise<unknown> =>
    bed().api.create(
      extensionsOf(overrides.metadata?.namespace ?? SHOOT),
      extension({ ...overrides, metadata: { namespace: SHOOT, ...overrides.metadata } }),
    );
  const serviceOf = (ns: string, name: string): Promise<Routed> =>
    bed().api.get<Routed>(`/api/v1/namespaces/${ns}/services/${name}`);
  const expectField = (ns: string, name: string, value: string | undefined): Promise<Routed> =>
    waitFor(
      `${ns}/${name}: ${value}`,
      () => serviceOf(ns, name),
      ({ spec }) => spec.trafficDistribution === value,
    );
  const createService = (ns: string, name: string, labels = {}): Promise<unknown> =>
    bed().api.create(`/api/v1/namespaces/${ns}/services`, {
      metadata: { name, labels },
      spec: { ports: [{ port: 443 }] },
    });
  const startPod = (index: number): Promise<BedPod> =>
    bed().pod({ node: nodes[index]!, app: 'csi', namespace: SHOOT, serve: false });

  const start = async (): Promise<void> => {
    reconciler.start();
    await commandReady(reconciler, 8081);
  };

  before('a seed that is also the garden runtime, with what the chart renders for it', async () => {
    const { api } = bed();
    await applyDefinitions(bed(), gardenerCrds());
    await describeProxies(bed());
    const helm = await openHelm();
    await api.create('/api/v1/namespaces', { metadata: { name: NAMESPACE } });
    for (const object of [
      namespace({ metadata: { name: SHOOT } }),
      namespace({ metadata: { name: SILENT } }),
      namespace({ role: 'garden' }),
      namespace({ role: 'extension', metadata: { name: OF_EXTENSION } }),
      namespace({ role: 'extension', metadata: { name: OF_RUNTIME } }),
    ]) {
      await api.create('/api/v1/namespaces', object);
    }
    const off = {
      endpointsliceWebhook: { enabled: false },
      monitoring: { alerts: 'none', serviceMonitors: false, dashboards: false },
    };
    const values = { ...INJECTED['seed and runtime'], ...off, vpa: { enabled: false }, admission: 'webhook' };
    await apply(bed(), 'chart.yaml', await helm.template(values).finally(() => helm.close()));

    for (const technicalID of [SHOOT, SILENT]) {
      const of = shoot({ metadata: { name: technicalID }, status: { technicalID, seedName: 'eu-1' } });
      await api.create('/apis/extensions.gardener.cloud/v1alpha1/clusters', cluster({ spec: { shoot: of } }));
    }
    await api.create('/apis/operator.gardener.cloud/v1alpha1/gardens', garden());
    nodes = await Promise.all(ZONES.map((zone) => bed().node({ name: `node-${zone}`, zone })));
    pods = await Promise.all(nodes.map((_node, index) => startPod(index)));
    await bed().service({ name: 'csi-snapshot-validation', namespace: SHOOT, app: 'csi' });
    await createService(SHOOT, 'other', { app: 'other' });
    await createService(OF_EXTENSION, 'webhook', { part: 'webhook' });
    await createService('garden', 'gardener-dashboard');
    await createService(OF_RUNTIME, 'x');

    reconciler = await installedProgram(bed(), RECONCILER, RECONCILER, []);
    // A minute of test has no half minute between two writes of a condition.
    const config = join(bed().directory, `${RECONCILER}.yaml`);
    writeFileSync(config, `${readFileSync(config, 'utf8')}extensions: {conditionIntervalSeconds: 1}\n`);
    await start();
  });
  after(() => reconciler?.stop());

  it('takes up what a Shoot asks for: finalizer, status, Service, and the condition with real hints', async () => {
    await create({
      spec: {
        type: EXTENSION_TYPE,
        providerConfig: routingConfig({ services: [{ name: 'csi-snapshot-validation' }] }),
      },
    });
    await expectState('Create Succeeded');
    const { metadata } = await expectReady();
    expect(metadata?.finalizers).to.deep.equal([EXTENSION_FINALIZER]);
    await expectField(SHOOT, 'csi-snapshot-validation', 'PreferSameZone');
    const found = await expectCondition('True Effective');
    expect(conditionOf(found)?.message).to.equal('1 Service is routed by zone: csi-snapshot-validation');
  });

  it('does what the page about it says, with the real kubectl', async () => {
    const kubeconfig = await bed().kubeconfig({ user: 'reader', groups: [mastersGroup] });
    const shell = openShell({
      path: [dirname(bed().binaries('kubectl'))],
      environment: { KUBECONFIG: kubeconfig },
      prefix: bed().enter,
    });
    try {
      const blocks = pagesRunBy(SUITE).flatMap((page) => shellBlocks(page));
      expect(blocks).to.have.lengthOf.above(1);
      for (const { line, text } of blocks) {
        const { status, stderr } = await shell.run(text);
        expect(status, `${PAGE}:${line}: ${stderr}`).to.equal(0);
      }
    } finally {
      shell.close();
    }
    await expectState('Reconcile Succeeded');
    await expectReady();
  });

  it('reports by the condition that a zone lost its endpoint, and that it is back; the operation is not touched', async () => {
    const { lastOperation } = (await get()).status ?? {};
    await pods[2]!.remove();
    const found = await expectCondition('False ZoneNotServed');
    expect(conditionOf(found)?.message).to.contain('eu-1c');
    pods[2] = await startPod(2);
    await expectCondition('True Effective');
    expect((await get()).status?.lastOperation).to.deep.equal(lastOperation);
  });

  it('reconciles on order, and follows a change of the configuration', async () => {
    await order('reconcile');
    await expectState('Reconcile Succeeded');
    await expectReady();
    await configure({ services: [{ selector: { matchLabels: { app: 'other' } }, strategy: 'load-aware' }] });
    await waitFor(
      'strategy',
      () => serviceOf(SHOOT, 'other'),
      ({ metadata }) => metadata.labels?.[LABEL_STRATEGY] === 'load-aware',
    );
    await expectField(SHOOT, 'csi-snapshot-validation', undefined);
    await expectReady();
  });

  it('refuses a wrong configuration with object and field, leaves the Services as they are, and is mended', async () => {
    await configure({ services: [{ name: 'other', strategy: 'nearest' }] });
    const { status } = await expectState('Reconcile Error');
    expect(status?.lastError?.codes).to.deep.equal(['ERR_CONFIGURATION_PROBLEM']);
    expect(status?.lastError?.description).to.contain(
      `Extension ${SHOOT}/${EXTENSION_TYPE}: spec.providerConfig.services[0].strategy is "nearest"`,
    );
    await expectCondition('False ConfigurationInvalid');
    expect((await serviceOf(SHOOT, 'other')).metadata.labels).to.have.property(LABEL_STRATEGY, 'load-aware');
    await configure({ services: [{ name: 'other' }] });
    await expectReady();
    await expectField(SHOOT, 'other', 'PreferSameZone');
  });

  it('migrates without taking anything back, and restores', async () => {
    await order('migrate');
    await expectState('Migrate Succeeded');
    const { metadata } = await expectReady();
    expect(metadata?.finalizers ?? []).to.deep.equal([]);
    expect((await serviceOf(SHOOT, 'other')).spec.trafficDistribution).to.equal('PreferSameZone');
    await order('restore');
    await expectState('Restore Succeeded');
    expect((await expectReady()).metadata?.finalizers).to.deep.equal([EXTENSION_FINALIZER]);
  });

  it('of class seed and garden is about the extensions of each, and the garden', async () => {
    const ofSeed = { namespace: 'garden', name: EXTENSION_TYPE };
    const ofGarden = { namespace: 'garden', name: `garden-${EXTENSION_TYPE}` };
    const asking = (own: string, services: object[]) => ({
      spec: { type: EXTENSION_TYPE, class: own, providerConfig: routingConfig({ services }) },
    });
    await create({ metadata: ofSeed, ...asking('seed', [{ selector: { matchLabels: { part: 'webhook' } } }]) });
    await create({
      metadata: ofGarden,
      ...asking('garden', [{ name: 'gardener-dashboard' }, { name: 'x', namespace: OF_RUNTIME }]),
    });
    await expectReady(ofSeed);
    await expectReady(ofGarden);
    await expectField(OF_EXTENSION, 'webhook', 'PreferSameZone');
    await expectField('garden', 'gardener-dashboard', 'PreferSameZone');
    await expectField(OF_RUNTIME, 'x', 'PreferSameZone');
    for (const ref of [ofSeed, ofGarden]) {
      await bed().api.delete(pathOf(ref));
      await waitFor(
        `${ref.name} gone`,
        () => bed().api.list(extensionsOf('garden')),
        (left) => left.every((found) => found.metadata.name !== ref.name),
      );
    }
    await expectField('garden', 'gardener-dashboard', undefined);
  });

  it('beats', async () => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${HEARTBEAT_LEASE}`;
    const { spec } = await bed().api.get<Lease>(path);
    expect(spec).to.include({ holderIdentity: EXTENSION_TYPE, leaseDurationSeconds: 30 });
    expect(Date.parse(spec?.renewTime ?? '')).to.be.above(Date.now() - 120_000);
  });

  it('down, keeps no Shoot waiting that did not ask: no webhook, no finalizer, and nothing of its namespace stays', async () => {
    const { api } = bed();
    await reconciler.stop();
    for (const kind of ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']) {
      expect(await api.list(`/apis/admissionregistration.k8s.io/v1/${kind}`), kind).to.deep.equal([]);
    }
    expect(await api.list(extensionsOf(SILENT)), 'nothing of ours to wait for').to.deep.equal([]);
    await createService(SILENT, 'gardener-resource-manager');
    await api.patch(`/api/v1/namespaces/${SILENT}/services/gardener-resource-manager`, {
      spec: { ports: [{ port: 444 }] },
    });
    const { metadata } = await api.get<{ metadata: { finalizers?: string[] } }>(
      `/api/v1/namespaces/${SILENT}/services/gardener-resource-manager`,
    );
    expect(metadata.finalizers).to.equal(undefined);
    await api.delete(`/api/v1/namespaces/${SILENT}/services/gardener-resource-manager`);
    await api.delete(`/apis/extensions.gardener.cloud/v1alpha1/clusters/${SILENT}`);
    const left = await api.list(`/api/v1/namespaces/${SILENT}/services`);
    expect(left).to.deep.equal([]);
    // What somebody asks for meanwhile, and reverts, is not held either: the finalizer comes with the first look.
    await api.create(extensionsOf(SILENT), extension({ metadata: { namespace: SILENT } }));
    await api.delete(`${extensionsOf(SILENT)}/${EXTENSION_TYPE}`);
    expect(await api.list(extensionsOf(SILENT))).to.deep.equal([]);
    await order('reconcile');
  });

  it('back, takes up what was ordered meanwhile', async () => {
    await start();
    await expectState('Reconcile Succeeded');
    await expectReady();
  });

  it('takes everything back before it releases a Shoot that is deleted', async () => {
    await bed().api.delete(pathOf(REF));
    await waitFor(
      'gone',
      () => bed().api.list(extensionsOf(SHOOT)),
      (left) => left.length === 0,
    );
    const { metadata, spec } = await serviceOf(SHOOT, 'other');
    expect(spec.trafficDistribution).to.equal(undefined);
    expect(metadata.annotations ?? {}).not.to.have.property(ANNOTATION_APPLIED);
  });

  it('asked for nothing about Extensions and Leases that the rendered roles do not allow, and for all that they do', async () => {
    await reconciler.stop();
    expect(readFileSync(reconciler.logFile, 'utf8')).not.to.match(/forbidden/i);
    const events = auditSince(bed().auditLog).filter((event) => event.user.username === user);
    expect(events.filter(({ responseStatus }) => responseStatus?.code === 403)).to.deep.equal([]);
    const used = events.flatMap(({ verb, objectRef }) => {
      const { resource, subresource, name } = objectRef ?? {};
      if (resource === 'extensions') return [`${[resource, subresource].filter(Boolean).join('/')} ${verb}`];
      return name === HEARTBEAT_LEASE ? [`heartbeat ${verb}`] : [];
    });
    expect([...new Set(used)].sort()).to.deep.equal([
      'extensions get',
      'extensions list',
      'extensions patch',
      'extensions watch',
      'extensions/status patch',
      'heartbeat create',
      'heartbeat patch',
    ]);
  });
});

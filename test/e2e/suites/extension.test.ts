// A Gardener extension on a real API server, with exactly the rights and configuration that the chart renders: it takes up and reverts, and down it keeps no Shoot waiting.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { Extension } from '../../../pkg/apis/gardener.ts';
import type { Condition } from '../../../pkg/apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_OPERATION,
  CONDITION_EFFECTIVE,
  EXTENSION_FINALIZER,
  EXTENSION_TYPE,
  HEARTBEAT_LEASE,
} from '../../../pkg/apis/names.ts';
import { gardenerCrds } from '../../fixtures/crds.ts';
import { cluster, extension, garden, namespace, routingConfig, shoot } from '../../fixtures/gardener.ts';
import { pagesRunBy } from '../../support/docs/coverage.ts';
import { shellBlocks } from '../../support/docs/markdown.ts';
import { openShell } from '../../support/docs/shell.ts';
import { mastersGroup } from '../bed/access.ts';
import type { Component as Program } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { ofLength, waitFor } from '../bed/machine.ts';
import { INJECTED, NAMESPACE, openHelm, RECONCILER } from '../chart.ts';
import { apply, applyDefinitions, commandReady, describeProxies, installedProgram } from '../commands.ts';
import { openAudit } from '../settings-audit.ts';

const ZONES = ['eu-1a', 'eu-1b', 'eu-1c'];
const SUITE = 'test/e2e/suites/extension.test.ts';
const PAGE = 'docs/usage/extension-resource.md';
/** As on the page. */
const SHOOT = 'shoot--my-project--my-shoot';
/** Of a Shoot that has not asked for anything. */
const SILENT = 'shoot--my-project--silent';

interface Routed {
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: { trafficDistribution?: string };
}

describe('extension', () => {
  const user = `system:serviceaccount:${NAMESPACE}:${RECONCILER}`;
  const bed = useBed({ auditReadsOf: [user] });
  let reconciler: Program;

  const extensionsOf = (ns: string): string => `/apis/extensions.gardener.cloud/v1alpha1/namespaces/${ns}/extensions`;
  const path = `${extensionsOf(SHOOT)}/${EXTENSION_TYPE}`;
  const get = (): Promise<Extension> => bed().api.get<Extension>(path);
  const stateOf = ({ status }: Extension): string => `${status?.lastOperation?.type} ${status?.lastOperation?.state}`;
  const conditionOf = ({ status }: Extension): Condition | undefined =>
    status?.conditions?.find(({ type }) => type === CONDITION_EFFECTIVE);
  const expectState = (wanted: string): Promise<Extension> =>
    waitFor(wanted, get, (found) => stateOf(found) === wanted, { assert: () => reconciler.assertRunning() });
  /** What gardenlet waits for in a flow: no order left, no error, this generation, success. */
  const expectReady = (): Promise<Extension> =>
    waitFor('ready for Gardener', get, ({ metadata, status }) => {
      const settled = status?.observedGeneration === metadata?.generation && status?.lastError === undefined;
      const ordered = metadata?.annotations?.[ANNOTATION_OPERATION] !== undefined;
      return settled && !ordered && status?.lastOperation?.state === 'Succeeded';
    });
  const order = (operation: string): Promise<unknown> =>
    bed().api.patch(path, { metadata: { annotations: { [ANNOTATION_OPERATION]: operation } } });
  const routedService = (): Promise<Routed> =>
    bed().api.get<Routed>(`/api/v1/namespaces/${SHOOT}/services/csi-snapshot-validation`);

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
    ])
      await api.create('/api/v1/namespaces', object);
    const off = {
      endpointsliceWebhook: { enabled: false },
      monitoring: { alerts: 'none', serviceMonitors: false, dashboards: false },
    };
    const values = { ...INJECTED['seed and runtime'], ...off, vpa: { enabled: false } };
    await apply(bed(), 'chart.yaml', await helm.template(values));

    for (const technicalID of [SHOOT, SILENT]) {
      const of = shoot({ metadata: { name: technicalID }, status: { technicalID, seedName: 'eu-1' } });
      await api.create('/apis/extensions.gardener.cloud/v1alpha1/clusters', cluster({ spec: { shoot: of } }));
    }
    await api.create('/apis/operator.gardener.cloud/v1alpha1/gardens', garden());
    for (const zone of ZONES) {
      const node = await bed().node({ name: `node-${zone}`, zone });
      await bed().pod({ node, app: 'csi', namespace: SHOOT, serve: false });
    }
    await bed().service({ name: 'csi-snapshot-validation', namespace: SHOOT, app: 'csi' });

    reconciler = await installedProgram(bed(), RECONCILER, RECONCILER, []);
    // A minute of test has no half minute between two writes of a condition.
    const config = join(bed().directory, `${RECONCILER}.yaml`);
    writeFileSync(config, `${readFileSync(config, 'utf8')}extensions: {conditionIntervalSeconds: 1}\n`);
    await start();
  });

  it('takes up what a Shoot asks for: finalizer, status, Service, and the condition with real hints', async () => {
    const asked = {
      type: EXTENSION_TYPE,
      providerConfig: routingConfig({ services: [{ name: 'csi-snapshot-validation' }] }),
    };
    await bed().api.create(extensionsOf(SHOOT), extension({ metadata: { namespace: SHOOT }, spec: asked }));
    await expectState('Create Succeeded');
    const { metadata } = await expectReady();
    expect(metadata?.finalizers).to.deep.equal([EXTENSION_FINALIZER]);
    await waitFor('its field', routedService, ({ spec }) => spec.trafficDistribution === 'PreferSameZone');
    const found = await waitFor('the condition', get, (one) => conditionOf(one)?.status === 'True');
    expect(conditionOf(found)?.reason).to.equal('Effective');
    expect(conditionOf(found)?.message).to.equal('1 Service is routed by zone: csi-snapshot-validation');
  });

  it('does what the page about it says, with the real kubectl', async () => {
    const kubeconfig = await bed().kubeconfig({ user: 'reader', groups: [mastersGroup] });
    const shell = openShell({
      path: [dirname(bed().binaries('kubectl'))],
      environment: { KUBECONFIG: kubeconfig },
      prefix: bed().enter,
    });
    const blocks = pagesRunBy(SUITE).flatMap((page) => shellBlocks(page));
    expect(blocks).to.have.lengthOf.above(1);
    for (const { line, text } of blocks) {
      const { status, stderr } = await shell.run(text);
      expect(status, `${PAGE}:${line}: ${stderr}`).to.equal(0);
    }
    await expectState('Reconcile Succeeded');
    await expectReady();
  });

  it('down, keeps no Shoot waiting that did not ask: no webhook, no finalizer, and nothing of its namespace stays', async () => {
    const { api } = bed();
    await reconciler.stop();
    for (const kind of ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'])
      expect(await api.list(`/apis/admissionregistration.k8s.io/v1/${kind}`), kind).to.deep.equal([]);
    expect(await api.list(extensionsOf(SILENT)), 'nothing of ours to wait for').to.deep.equal([]);
    await api.create(`/api/v1/namespaces/${SILENT}/services`, {
      metadata: { name: 'gardener-resource-manager' },
      spec: { ports: [{ port: 443 }] },
    });
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
    await bed().api.delete(path);
    await waitFor('gone', () => bed().api.list(extensionsOf(SHOOT)), ofLength(0));
    const { metadata, spec } = await routedService();
    expect(spec.trafficDistribution).to.equal(undefined);
    expect(metadata.annotations ?? {}).not.to.have.property(ANNOTATION_APPLIED);
  });

  it('asked for nothing about Extensions and Leases that the rendered roles do not allow, and for all that they do', async () => {
    await reconciler.stop();
    expect(readFileSync(reconciler.logFile, 'utf8')).not.to.match(/forbidden/i);
    const events = openAudit(bed().auditLog).of(user);
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

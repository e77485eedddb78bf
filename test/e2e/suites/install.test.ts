// The chart on a real API server: the commands run with exactly the configuration and the rights that it renders.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import type { Extension } from '../../../pkg/apis/gardener.ts';
import {
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_BELONGING_TO,
  LABEL_ETCD_CLIENTS,
  LABEL_ROUTING,
  LABEL_STRATEGY,
  LABEL_ZONE,
} from '../../../pkg/apis/names.ts';
import { gardenerCrds } from '../../fixtures/crds.ts';
import { cluster, etcd, extension, garden, namespace as gardenerNamespace } from '../../fixtures/gardener.ts';
import { nodeGroup, nodeGroupCrd } from '../../fixtures/kubeedge.ts';
import { platformCrds } from '../../fixtures/platform-crds.ts';
import { exposeAddress } from '../bed/access.ts';
import type { Component as Program } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { is, waitFor } from '../bed/machine.ts';
import type { BedService, Slice } from '../bed/pod.ts';
import {
  CERTIFICATE,
  COMPONENTS,
  documents,
  FLOW,
  INJECTED,
  NAMESPACE,
  openHelm,
  RECONCILER,
  root,
  WEBHOOK,
} from '../chart.ts';
import type { Component, Helm, Rendered } from '../chart.ts';
import { apply, applyDefinitions, commandReady, installedProgram } from '../commands.ts';
import { ELSEWHERE, permissionsOf, unusedPermissions } from '../permissions.ts';
import { type AuditEvent, openAudit } from '../settings-audit.ts';

const USERS = COMPONENTS.map((name) => `system:serviceaccount:${NAMESPACE}:${name}`);

describe('chart, installed', () => {
  const bed = useBed({ auditReadsOf: USERS });
  const audit = (): AuditEvent[] => USERS.flatMap((user) => openAudit(bed().auditLog).of(user));
  const shootNamespace = 'shoot--foo--bar';
  const slicePath = `/apis/discovery.k8s.io/v1/namespaces/${shootNamespace}/endpointslices`;
  const servicePath = `/api/v1/namespaces/${shootNamespace}/services/gardener-resource-manager`;
  const registrationPath =
    '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/gardener-extension-topology-aware-routing-runtime';
  const policiesPath = `/apis/${GROUP}/v1alpha1/namespaces/shop/flowpolicies`;
  const programs: Program[] = [];
  let helm: Helm;
  let rendered: readonly Rendered[];
  /** One whose annotation asks for a plan by capacity, and one whose label asks for one by load, which nothing here measures. */
  let shop: { web: BedService; busy: BedService };

  interface Routed {
    metadata: { annotations?: Record<string, string>; labels?: Record<string, string> };
    spec: { trafficDistribution?: string };
  }

  const edgeZone = async (): Promise<string | undefined> =>
    (await bed().api.get<Routed>('/api/v1/nodes/edge')).metadata.labels?.[LABEL_ZONE];

  const caBundle = async (): Promise<string> => readFileSync(bed().pki.authority.certificate, 'base64');

  const program = async (component: Component, name: string, extra: string[]): Promise<Program> => {
    const described = await installedProgram(bed(), component, name, extra);
    programs.push(described);
    return described;
  };

  before('a seed that is also the garden runtime, with everything that the chart renders for it', async () => {
    const { api } = bed();
    await applyDefinitions(bed(), [...gardenerCrds(), ...platformCrds(), nodeGroupCrd()]);
    helm = await openHelm();
    // Where the installations of a seed and of the garden runtime meet.
    for (const name of [NAMESPACE, 'garden']) await api.create('/api/v1/namespaces', { metadata: { name } });
    await apply(bed(), 'flowpolicies.yaml', readFileSync(join(root, 'example/flow/crd.yaml'), 'utf8'));
    const values = { settingsReconciler: { keep: 'on' }, flowController: { enabled: true, nodeGroups: true } };
    const text = await helm.template({ ...INJECTED['seed and runtime'], ...values });
    rendered = documents(text);
    await apply(bed(), 'chart.yaml', text);
    await openShop();

    await api.create('/api/v1/namespaces', gardenerNamespace());
    await api.create('/apis/extensions.gardener.cloud/v1alpha1/clusters', cluster());
    await api.create('/apis/operator.gardener.cloud/v1alpha1/gardens', garden());
    await api.create(`/apis/druid.gardener.cloud/v1alpha1/namespaces/${shootNamespace}/etcds`, etcd());
    await api.create(`/api/v1/namespaces/${shootNamespace}/services`, {
      metadata: { name: 'gardener-resource-manager' },
      spec: { ports: [{ port: 443 }] },
    });
    // Written while there is no webhook, so that it has no hints: what the reconciler's touches are for.
    await api.create(slicePath, {
      metadata: {
        name: 'gardener-resource-manager-1',
        labels: { 'kubernetes.io/service-name': 'gardener-resource-manager', [LABEL_STRATEGY]: 'same-zone' },
      },
      addressType: 'IPv4',
      ports: [{ port: 443 }],
      endpoints: [{ addresses: ['192.0.2.1'], zone: 'eu-1a', conditions: { ready: true } }],
    });
    await exposeAddress(api, { namespace: NAMESPACE, name: WEBHOOK, targetPort: 10_250 });
  });

  /** Before there is a webhook, so that the flow-controller has to make a label of the annotation. */
  const openShop = async (): Promise<void> => {
    await bed().api.create('/api/v1/namespaces', { metadata: { name: 'shop' } });
    const zones = ['eu-1a', 'eu-1b', 'eu-1c'];
    const nodes = await Promise.all(zones.map((zone) => bed().node({ name: `node-${zone}`, zone })));
    const pods = (app: string) =>
      Promise.all(nodes.map((node) => bed().pod({ node, app, namespace: 'shop', serve: false })));
    await Promise.all([pods('web'), pods('busy')]);
    const annotations = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/proportional` };
    const web = await bed().service({ name: 'web', namespace: 'shop', annotations });
    const busy = await bed().service({ name: 'busy', namespace: 'shop', labels: { [LABEL_STRATEGY]: 'load-aware' } });
    shop = { web, busy };
  };

  for (const [where, values] of Object.entries(INJECTED)) {
    it(`is accepted by the API server with the values of ${where} and the registration by the chart`, async () => {
      const text = await helm.template({
        ...values,
        endpointsliceWebhook: { ...CERTIFICATE, caBundle: await caBundle() },
      });
      const output = await apply(bed(), 'registration.yaml', text, '--dry-run=server', '--force-conflicts');
      expect(output).to.contain('mutatingwebhookconfiguration.admissionregistration.k8s.io/gardener-extension');
    });
  }

  it('lets the webhook issue its certificates and register itself', async () => {
    const webhook = await program(WEBHOOK, WEBHOOK, []);
    webhook.start();
    await commandReady(webhook, 8081);
    const { webhooks } = await bed().api.get<MutatingWebhookConfiguration>(registrationPath);
    expect(webhooks).to.have.lengthOf(7);
  });

  it('lets the settings-reconciler write Service and labels, report it, and have slices hinted again', async () => {
    const { api } = bed();
    // Both share the control plane's address here.
    const reconciler = await program(RECONCILER, RECONCILER, ['--health-port', '18081', '--metrics-port', '18080']);
    reconciler.start();
    await commandReady(reconciler, 18_081);
    const isRouted = ({ spec }: Routed): boolean => spec.trafficDistribution === 'PreferSameZone';
    await waitFor(servicePath, () => api.get<Routed>(servicePath), isRouted);
    await waitFor(
      'label of the namespace',
      () => api.get<Routed>(`/api/v1/namespaces/${shootNamespace}`),
      ({ metadata }) =>
        metadata.labels?.[LABEL_ROUTING] === 'runtime' && metadata.labels[LABEL_ETCD_CLIENTS] === 'true',
    );
    await waitFor(
      'event',
      // About the namespace, which is in none.
      () => api.list<{ source: { component: string } }>('/api/v1/namespaces/default/events'),
      (events) => events.some(({ source }) => source.component === RECONCILER),
    );
    await waitFor(
      'hints',
      () => api.get<Slice>(`${slicePath}/gardener-resource-manager-1`),
      ({ endpoints }) => endpoints?.[0]?.hints?.forZones?.[0]?.name === 'eu-1a',
    );
  });

  it('lets the settings-reconciler serve the Extension of a Shoot', async () => {
    const path = `/apis/extensions.gardener.cloud/v1alpha1/namespaces/${shootNamespace}/extensions`;
    const { metadata } = await bed().api.create<{ metadata: { name: string } }>(path, extension());
    await waitFor(
      'last operation',
      () => bed().api.get<Extension>(`${path}/${metadata.name}`),
      ({ status }) => status?.lastOperation?.state === 'Succeeded',
    );
  });

  it('lets the webhook issue anew what another writer took out of its Secrets', async () => {
    const secrets = `/api/v1/namespaces/${NAMESPACE}/secrets`;
    const authority = `${secrets}/ca-${WEBHOOK}-webhook`;
    const server = `${secrets}/${WEBHOOK}-webhook-server`;
    const webhook = programs.find(({ name }) => name === WEBHOOK)!;
    await webhook.stop();
    await bed().api.patch(authority, { data: null });
    await bed().api.patch(server, { data: { 'tls.crt': '', 'tls.key': '' } });
    webhook.start();
    await commandReady(webhook, 8081);
    expect(await bed().api.get(authority)).to.have.property('data').that.is.not.empty;
    expect(await bed().api.get(server)).to.have.nested.property('data.tls\\.crt').that.is.not.empty;
  });

  it('lets the flow-controller label, plan, hint and report, and read load', async () => {
    const flow = await program(FLOW, FLOW, ['--health-port', '28081', '--metrics-port', '28080']);
    flow.start();
    await commandReady(flow, 28_081);
    await waitFor(
      'planned slices',
      () => shop.web.slices(),
      (slices) =>
        slices.length > 0 &&
        slices.every(({ metadata, endpoints }) => {
          // Admission may have written what is planned: the label alone is the flow-controller's for certain.
          const { labels } = metadata as Routed['metadata'];
          const asked = labels?.[LABEL_STRATEGY] === 'proportional';
          return asked && (endpoints ?? []).every(({ hints }) => (hints?.forZones ?? []).length > 0);
        }),
    );
    interface Policy {
      metadata: { name: string };
      status?: { conditions: { type: string; reason: string }[] };
    }
    const observed = async (): Promise<string | undefined> => {
      const policies = await bed().api.list<Policy>(policiesPath);
      expect(policies.map(({ metadata }) => metadata.name)).to.deep.equal(['busy']);
      return policies[0]?.status?.conditions.find(({ type }) => type === 'Observed')?.reason;
    };
    await waitFor('status', observed, is('NoCapacity'));
    // Nothing here serves metrics.k8s.io: asking must fail for that, and not for want of a right.
    await bed().api.patch(`${policiesPath}/busy`, { spec: { capacity: { from: 'Value', value: '1' } } });
    await waitFor('a look for load', observed, (reason) => reason !== 'NoCapacity' && reason !== undefined);
    // What somebody has tuned is not reverted with --cleanup.
    await bed().api.patch(`${policiesPath}/busy`, { spec: { capacity: null } });
  });

  it("lets the flow-controller give a Node of KubeEdge's its group as zone", async () => {
    const { api } = bed();
    await api.create('/apis/apps.kubeedge.io/v1alpha1/nodegroups', nodeGroup('east', { nodes: ['edge'] }));
    // KubeEdge's own controller sets this label.
    await api.create('/api/v1/nodes', { metadata: { name: 'edge', labels: { [LABEL_BELONGING_TO]: 'east' } } });
    await waitFor('zone of the Node', edgeZone, is('east'));
  });

  it('lets all take everything back with --cleanup', async () => {
    const { api } = bed();
    for (const running of programs) await running.stop();
    const cleanups = [await program(FLOW, 'cleanup-flow', ['--cleanup'])];
    cleanups.push(await program(RECONCILER, 'cleanup-settings', ['--cleanup']));
    cleanups.push(await program(WEBHOOK, 'cleanup-registration', ['--cleanup']));
    for (const cleanup of cleanups) cleanup.start();
    await waitFor(
      'settings removed',
      () => api.get<Routed>(servicePath),
      (object) => !JSON.stringify(object).includes(`"${GROUP}/applied"`),
    );
    const registration = (): Promise<unknown> => api.get(registrationPath).catch(({ status }) => status as unknown);
    await waitFor('registration removed', registration, is(404));
    await waitFor(
      'end of the clean-ups',
      () => cleanups.map(({ pid }) => pid),
      (pids) => pids.every((pid) => pid === undefined),
    );
    const kept = (await shop.web.slices()).flatMap(({ endpoints }) => endpoints ?? []).filter(({ hints }) => hints);
    expect(kept, 'hints of a plan').to.deep.equal([]);
    expect(await api.list(policiesPath)).to.deep.equal([]);
    expect(await edgeZone()).to.equal(undefined);
  });

  it('asked for nothing that the rendered roles do not allow', () => {
    expect(programs).to.have.lengthOf(6);
    for (const { name, logFile } of programs) expect(readFileSync(logFile, 'utf8'), name).not.to.match(/forbidden/i);
    expect(audit().filter(({ responseStatus }) => responseStatus?.code === 403)).to.deep.equal([]);
  });

  for (const { permissions, why, shownBy } of ELSEWHERE) {
    it(`${permissions.length === 1 ? permissions[0] : `${permissions[0]} and ${permissions.length - 1} more`}: ${why}`, () => {
      const allowed = permissionsOf(rendered).map(({ text }) => text);
      expect(allowed).to.include.members([...permissions]);
      expect(readFileSync(join(root, shownBy.file), 'utf8'), shownBy.file).to.contain(shownBy.test);
    });
  }

  it('made use of every single permission, but for those that another suite needs', () => {
    const unused = unusedPermissions(permissionsOf(rendered), audit());
    const elsewhere = new Set(ELSEWHERE.flatMap(({ permissions }) => permissions));
    expect(unused.filter((permission) => !elsewhere.has(permission))).to.deep.equal([]);
    const certain = ELSEWHERE.filter(({ sometimes }) => sometimes !== true).flatMap(({ permissions }) => permissions);
    expect(unused, 'the table names what this run needs').to.include.members(certain);
  });
});

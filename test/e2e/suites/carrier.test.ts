// SPDX-License-Identifier: Apache-2.0
// Switches the carrier of admission between webhook and policies while slices are being written: no hint is ever lost.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { ANNOTATION_TOUCHED, EXTENSION_NAME, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import {
  CONFIG_MAPS,
  ENDPOINT_SLICES,
  LEASES,
  MUTATING_ADMISSION_POLICIES,
  MUTATING_ADMISSION_POLICY_BINDINGS,
} from '../../../pkg/apis/resources.ts';
import { CARRIER_NAME } from '../../../pkg/hints/policy/index.ts';
import type { Carrier } from '../../../pkg/hints/policy/index.ts';
import { microTime } from '../../../pkg/kubernetes/lease.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import type { Component as Program } from '../bed/component.ts';
import { tailOf } from '../bed/component.ts';
import { exposeProgram } from '../bed/expose.ts';
import type { BedNode, BedPod, BedService } from '../bed/index.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { METRICS_PORT, carrierRef, carrierState, readIfThere } from '../carrier-state.ts';
import { NAMESPACE, RECONCILER, WEBHOOK, openHelm } from '../chart.ts';
import type { Helm } from '../chart.ts';
import { commandReady } from '../commands.ts';
import { auditSince } from '../faults-audit.ts';
import { readAudit, refusals } from '../hints-audit.ts';
import type { AuditReader } from '../hints-audit.ts';
import { bareVersions, recordSlices } from '../hints-history.ts';
import type { SliceHistory } from '../hints-history.ts';
import { connectAs, expectNone, untilAnswered, zonesOf } from '../hints-support.ts';
import { apply, installedProgram } from '../installation.ts';

const namespace = 'churn';
const zones = ['a', 'b', 'c'];
const planner = `system:serviceaccount:${NAMESPACE}:flow-controller`;
const leaseRef = { namespace: NAMESPACE, name: 'flow-controller' };
const healthPort = 18_081;
/** Of a zone that hints its endpoints for itself and the next: nothing but a plan would. */
const planOf = (zone: string): string[] => [zone, zones[(zones.indexOf(zone) + 1) % zones.length]!];

describe('the admission backend', () => {
  const bed = useBed();
  let helm: Helm;
  let admin: Client;
  let plan: Client;
  let webhook: Program;
  let reconciler: Program;
  let nodes: BedNode[];
  let stable: BedPod[];
  let planned: BedService;
  let history: SliceHistory;
  let audit: AuditReader;
  const churning = new AbortController();
  let churned: Promise<number>;
  const { said, policies, plannerAlive, webhooks, until } = carrierState(() => admin);

  const values = (admission: string): object => ({
    admission,
    // With Ignore, a machine that stands still for as long as API servers wait would have them store a slice without hints.
    endpointsliceWebhook: { failurePolicy: 'Fail' },
    // Both Services are nobody's but admission's: from 1.34 on the field would do for same-zone.
    settingsReconciler: { excludedNamespaces: [namespace] },
  });

  /** As `helm upgrade` does: everything rendered anew, and the Pod with its new configuration. */
  const configure = async (admission: string): Promise<void> => {
    await apply(bed(), 'chart.yaml', await helm.template(values(admission)), '--force-conflicts');
    await reconciler?.stop();
    const ports = ['--health-port', String(healthPort), '--metrics-port', String(METRICS_PORT)];
    reconciler = await installedProgram(bed(), RECONCILER, RECONCILER, ports);
    reconciler.start();
    await commandReady(reconciler, healthPort);
  };

  const switchTo = async (carrier: Carrier, admission: string = carrier): Promise<void> => {
    await configure(admission);
    await until(carrier);
  };

  const writePlan = async (): Promise<void> => {
    for (const { metadata } of await planned.slices()) {
      const ref = { namespace, name: metadata.name };
      const { endpoints } = await admin.get<EndpointSlice>(ENDPOINT_SLICES, ref);
      const hinted = (endpoints ?? []).map((one) => ({
        ...one,
        hints: { forZones: planOf(one.zone ?? '').map((name) => ({ name })) },
      }));
      await untilAnswered(() => plan.patch(ENDPOINT_SLICES, ref, 'merge', { endpoints: hinted }));
    }
  };

  /** Pods of the first Service come and go, one of the second becomes unready and ready: each a write by the controller. */
  const churn = async (): Promise<number> => {
    let rounds = 0;
    while (!churning.signal.aborted) {
      const pod = await bed().pod({ node: nodes[rounds % nodes.length]!, app: 'web', namespace, serve: false });
      await stable[rounds % stable.length]!.setReady(rounds % 2 === 0);
      await delay(150);
      await pod.remove();
      rounds += 1;
    }
    for (const pod of stable) await pod.setReady(true);
    return rounds;
  };

  before('webhook and reconciler as the chart installs them, two Services in three zones', async () => {
    helm = await openHelm();
    [admin, plan] = await Promise.all([connectAs(bed(), 'admin'), connectAs(bed(), planner)]);
    for (const name of [NAMESPACE, namespace]) await bed().api.create('/api/v1/namespaces', { metadata: { name } });
    await exposeProgram(bed().api, { namespace: NAMESPACE, name: WEBHOOK, targetPort: 10_250 });
    await admin.create<KubernetesObject & { spec: object }>(LEASES, {
      metadata: leaseRef,
      spec: { holderIdentity: 'test', leaseDurationSeconds: 15, renewTime: microTime(Date.now()) },
    });
    await configure('webhook');
    webhook = await installedProgram(bed(), WEBHOOK, WEBHOOK, []);
    webhook.start();
    await commandReady(webhook, 8081);
    nodes = await Promise.all(zones.map((zone) => bed().node({ name: `node-${zone}`, zone })));
    const pods = (app: string) => Promise.all(nodes.map((node) => bed().pod({ node, app, namespace, serve: false })));
    stable = (await Promise.all([pods('planned'), pods('web')]))[0];
    await bed().service({ name: 'web', namespace, labels: { [LABEL_STRATEGY]: 'same-zone' } });
    planned = await bed().service({ name: 'planned', namespace, labels: { [LABEL_STRATEGY]: 'load-aware' } });
    await waitFor(
      'own zone on all',
      () => planned.endpoints(),
      (all) => all.length === zones.length && all.every(({ hints }) => hints?.forZones?.length === 1),
    );
    await writePlan();
    audit = readAudit(bed().auditLog);
    history = await recordSlices(admin, namespace);
    churned = churn();
  });
  after(async () => {
    churning.abort();
    await churned;
    await Promise.all([admin?.close(), plan?.close()]);
    helm?.close();
  });

  const round: { carrier: Carrier; admission: string }[] = [
    { carrier: 'policy', admission: 'policy' },
    { carrier: 'webhook', admission: 'webhook' },
    { carrier: 'policy', admission: 'auto' },
  ];
  for (const [index, { carrier, admission }] of round.entries()) {
    it(`switch ${index + 1}: ${admission} makes it the ${carrier}`, async () => {
      const earlier = history.versions.length;
      await switchTo(carrier, admission);
      await waitFor(
        'versions of slices stored during and after it',
        () => history.versions.length - earlier,
        (count) => count > 10,
      );
      expectNone('writes that were refused', refusals(audit.next()));
    });
  }

  it('both at once change nothing, and nothing is written in circles', async () => {
    // The webhook as another writer configured it: it carries whatever the settings-reconciler says.
    await webhook.stop();
    const name = 'webhook-always';
    const both = await installedProgram(bed(), WEBHOOK, name, ['--admission', 'webhook']);
    both.start();
    await commandReady(both, 8081);
    await waitFor('webhook with slices', webhooks, (names) => names.includes('endpoint-slice-hints'));
    expect((await policies()).length).to.equal(6);
    const earlier = history.versions.length;
    await waitFor(
      'writes with both in force',
      () => history.versions.length - earlier,
      (count) => count > 20,
    );
    await both.stop();
    webhook.start();
    await commandReady(webhook, 8081);
    await until('policy');
  });

  it('no version of a slice was ever stored without its hints, and every plan is as it was planned', async () => {
    churning.abort();
    expect(await churned, 'rounds of churn').to.be.above(20);
    await waitFor(
      'all ready again',
      () => planned.endpoints(),
      (all) => all.every(({ conditions }) => conditions?.ready),
    );
    await history.complete();
    const { versions } = history;
    console.log(`      ${versions.length} versions of slices stored over ${round.length} switches`);
    expect(bareVersions(versions)).to.deep.equal([]);
    const unplanned = versions
      .filter(({ service, type }) => service === 'planned' && type !== 'DELETED')
      .flatMap(({ slice }) => slice.endpoints ?? [])
      .filter((one) => zonesOf(one).join() !== planOf(one.zone ?? '').join());
    expect(unplanned).to.deep.equal([]);
  });

  it('repairs what others change or delete of the policies, each with one write, and writes nothing else', async () => {
    const writes = (): string[] =>
      auditSince(bed().auditLog)
        .filter(({ user }) => user.username === `system:serviceaccount:${NAMESPACE}:${RECONCILER}`)
        .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource} ${objectRef?.name}`)
        .filter((write) => !/ (?:leases|events|endpointslices) /.test(write));
    const earlier = writes().length;
    const name = `${EXTENSION_NAME}.same-zone`;
    await admin.patch(MUTATING_ADMISSION_POLICIES, { name }, 'merge', { spec: { failurePolicy: 'Fail' } });
    await waitFor('policy repaired', policies, (all) =>
      all.every(({ spec }) => (spec.failurePolicy as string) === 'Ignore'),
    );
    await admin.delete(MUTATING_ADMISSION_POLICY_BINDINGS, { name });
    const binding = () => readIfThere(admin.get(MUTATING_ADMISSION_POLICY_BINDINGS, { name }));
    await waitFor('binding back', binding, (found) => found !== undefined);
    await admin.patch(CONFIG_MAPS, carrierRef, 'merge', { metadata: { labels: { 'app.kubernetes.io/name': 'x' } } });
    const label = async () => (await admin.get(CONFIG_MAPS, carrierRef)).metadata?.labels?.['app.kubernetes.io/name'];
    await waitFor('label repaired', label, (value) => value === EXTENSION_NAME);
    await delay(3_000);
    expect(writes().slice(earlier)).to.deep.equal([
      `update mutatingadmissionpolicies ${name}`,
      `create mutatingadmissionpolicybindings ${name}`,
      `update configmaps ${CARRIER_NAME}`,
    ]);
  });

  it('plans end with their planner: the Lease goes, the next write returns the slice to spread', async () => {
    await admin.delete(LEASES, leaseRef);
    await waitFor('planner dead', plannerAlive, (alive) => !alive);
    let ready = true;
    await waitFor(
      'no hints after a write',
      async () => {
        ready = !ready;
        await stable[0]!.setReady(ready);
        await delay(200);
        return planned.endpoints();
      },
      (all) => all.every(({ hints }) => hints === undefined),
    );
    await admin.create<KubernetesObject & { spec: object }>(LEASES, {
      metadata: leaseRef,
      spec: { holderIdentity: 'test', leaseDurationSeconds: 15, renewTime: microTime(Date.now() - 11 * 60_000) },
    });
    await delay(2_000);
    expect(await plannerAlive(), 'a Lease of 11 minutes ago').to.equal(false);
    await admin.patch(LEASES, leaseRef, 'merge', { spec: { renewTime: microTime(Date.now()) } });
    await waitFor('planner alive', plannerAlive, (alive) => alive);
  });

  it('plans end with their planner without other writes: the settings-reconciler has their slices written once', async () => {
    const hinted = async (): Promise<number[]> =>
      (await planned.endpoints()).map(({ hints }) => hints?.forZones?.length ?? 0);
    // API servers take policies up within a second or so; until then they would take the plan away again.
    const keptPlan = async (): Promise<EndpointSlice> => {
      await writePlan();
      const [slice] = await planned.slices();
      const ref = { namespace, name: slice!.metadata.name };
      const touch = { metadata: { annotations: { look: 'by somebody else' } } };
      return admin.patch<EndpointSlice>(ENDPOINT_SLICES, ref, 'merge', touch, { dryRun: true });
    };
    await waitFor(
      'a plan that is kept',
      keptPlan,
      ({ endpoints }) => (endpoints ?? []).every((one) => zonesOf(one).length === 2),
      {
        intervalMs: 1_000,
      },
    );
    await waitFor('planned again', hinted, (counts) => counts.length > 0 && counts.every((count) => count === 2));
    // The EndpointSlice controller answers each plan with one more write, about a second later.
    await delay(5_000);
    expect(await hinted()).to.deep.equal([2, 2, 2]);
    await admin.delete(LEASES, leaseRef);
    const died = performance.now();
    await waitFor('back to spread', hinted, (counts) => counts.every((count) => count === 0), { timeoutSeconds: 150 });
    console.log(`      spread ${((performance.now() - died) / 1_000).toFixed(1)} s after the Lease was gone`);
    for (const { metadata } of await planned.slices()) {
      const slice = await admin.get<EndpointSlice>(ENDPOINT_SLICES, { namespace, name: metadata.name });
      expect(slice.metadata?.annotations, metadata.name).to.have.property(ANNOTATION_TOUCHED);
    }
  });

  it('--dry-run says what would be done, and --cleanup removes all of it, bindings first', async () => {
    await reconciler.stop();
    await admin.delete(MUTATING_ADMISSION_POLICIES, { name: `${EXTENSION_NAME}.same-node` });
    const run = async (name: string, flags: string[]): Promise<string> => {
      const program = await installedProgram(bed(), RECONCILER, name, flags);
      program.start();
      await waitFor(
        `end of ${name}`,
        () => program.pid,
        (pid) => pid === undefined,
      );
      return tailOf(program.logFile, 40);
    };
    const report = await run('dry-run', ['--dry-run']);
    expect(report).to.contain('Admission by policy');
    expect(report).to.match(new RegExp(`create +MutatingAdmissionPolicy ${EXTENSION_NAME}.same-node`));
    expect(report).not.to.contain(`${EXTENSION_NAME}.same-zone`);
    expect(await run('cleanup', ['--cleanup'])).to.contain('12 object(s) of admission policies removed');
    expect(await policies()).to.deep.equal([]);
    expect(await said()).to.equal(undefined);
    const removed = readFileSync(bed().auditLog, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"verb":"delete"') && line.includes(`:${RECONCILER}"`))
      .map((line) => (JSON.parse(line) as { objectRef: { resource: string } }).objectRef.resource)
      .slice(-12);
    expect([...new Set(removed)]).to.deep.equal([
      'mutatingadmissionpolicybindings',
      'mutatingadmissionpolicies',
      'configmaps',
    ]);
    // The webhook stays, and takes over.
    await waitFor('webhook with slices', webhooks, (names) => names.includes('endpoint-slice-hints'));
  });

  it('refuses to install over what another writer has under the same name, and says so', async () => {
    const [name] = [`${EXTENSION_NAME}.same-zone`];
    const foreign = { spec: { policyName: 'somebody-else' }, metadata: { name } };
    await admin.create<KubernetesObject & { spec: object }>(MUTATING_ADMISSION_POLICY_BINDINGS, foreign);
    await configure('policy');
    await waitFor(
      'event',
      () => bed().api.list<{ reason: string; message: string }>('/api/v1/namespaces/default/events'),
      (events) =>
        events.some(
          ({ reason, message }) =>
            reason === 'PolicyRefused' && message.includes(`MutatingAdmissionPolicyBinding ${name} exists`),
        ),
    );
    expect(await said()).not.to.equal('policy');
    expect(await webhooks()).to.include('endpoint-slice-hints');
  });
});

// Shows, version by stored version, that a real rolling update never publishes a ready endpoint without its hint.
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { is, waitFor } from '../bed/machine.ts';
import { type Workload, createNodes, deploy, startKubelets } from '../churn.ts';
import { type StoredVersion, bareVersions, gapsIn, recordSlices } from '../hints-figures.ts';
import {
  connectAs,
  expectNone,
  hasOwnZone,
  serviceSelector,
  slicesOf,
  startStrictWebhook,
  touchSlices,
  untilAdmission,
} from '../hints-support.ts';
import { isLate, readAudit, refusals } from '../settings-audit.ts';

const namespace = 'shop';
const zones = ['a', 'b', 'c'];
const replicas = 30;

/** Pods that were ready in some version, by the UID that their endpoint names. */
const readyPodsOf = (versions: readonly StoredVersion[]): Set<string> =>
  new Set(
    versions.flatMap(({ slice }) =>
      (slice.endpoints ?? [])
        .filter(({ conditions }) => conditions?.ready)
        .map(({ targetRef }) => targetRef?.uid ?? 'no Pod'),
    ),
  );

describe('hints during a rolling update', () => {
  let client: Client;
  const bed = useBed();
  let workload: Workload;
  let webhook: Component;

  const untilAllHinted = (): Promise<unknown> =>
    waitFor(
      'own zone on every endpoint of both families',
      async () =>
        (await slicesOf(client, namespace, serviceSelector('web'))).flatMap(({ endpoints }) => endpoints ?? []),
      (endpoints) => endpoints.length === 2 * replicas && endpoints.every(hasOwnZone),
    );

  /** Replaces all Pods and judges every version that was stored meanwhile. */
  const rollOut = async (round: number): Promise<void> => {
    // What was stored before stays as it is until somebody writes it.
    await touchSlices(client, namespace, String(round));
    await untilAllHinted();
    const audit = readAudit(bed().auditLog);
    const history = await recordSlices(client, namespace);
    const initial = readyPodsOf(history.versions);
    await workload.restart(round);
    await untilAllHinted();
    await history.complete();
    const { versions } = history;
    expectNone('versions that nobody saw', gapsIn(versions));
    expectNone('versions with a ready endpoint without hint', bareVersions(versions));
    expectNone('writes that were refused', refusals(audit.next()));
    // Every Pod was seen, the old ones and the new ones; terminating ones are published as such.
    expect(initial.size, 'Pods at the start').to.equal(replicas);
    expect(readyPodsOf(versions).size, 'Pods seen ready').to.be.at.least(2 * replicas);
    const families = new Set(versions.map(({ slice }) => slice.addressType));
    expect([...families]).to.have.members(['IPv4', 'IPv6']);
    const terminating = versions.some(({ slice }) => slice.endpoints?.some((one) => one.conditions?.terminating));
    expect(terminating, 'terminating endpoints seen').to.equal(true);
    console.log(
      `${versions.length} stored versions of ${families.size} slices, all with hints on every ready endpoint`,
    );
  };

  before(`a Deployment of ${replicas} Pods over three zones`, async () => {
    client = await connectAs(bed(), 'tester');
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespace } });
    const nodes = await createNodes(client, zones, 2);
    startKubelets({ client, namespace, nodes, terminationMs: 300 });
    workload = await deploy(client, namespace, 'web', replicas);
    await bed().service({
      name: 'web',
      namespace,
      ipFamilyPolicy: 'RequireDualStack',
      labels: { [LABEL_STRATEGY]: 'same-zone' },
    });
  });

  it('would show: without admission, versions without hints are stored', async () => {
    const history = await recordSlices(client, namespace);
    await workload.restart(0);
    await history.complete();
    expect(bareVersions(history.versions)).not.to.deep.equal([]);
    expectNone('versions that nobody saw', gapsIn(history.versions));
  });

  it('by the webhook: every stored version has hints on every ready endpoint', async () => {
    webhook = await startStrictWebhook(bed());
    await untilAdmission(client, namespace, true);
    await rollOut(1);
  });

  it('by a webhook that stands still for longer than API servers wait: what is late is stored with hints, too', async () => {
    const [looking, audit] = [readAudit(bed().auditLog), readAudit(bed().auditLog)];
    const history = await recordSlices(client, namespace);
    webhook.signal('SIGSTOP');
    const restarted = workload.restart(2);
    await waitFor('a write that is late', () => looking.next().some(({ message }) => isLate(message)), is(true));
    webhook.signal('SIGCONT');
    await restarted;
    await untilAllHinted();
    await history.complete();
    expectNone('versions that nobody saw', gapsIn(history.versions));
    expectNone('versions with a ready endpoint without hint', bareVersions(history.versions));
    expectNone('writes that were refused', refusals(audit.next()));
  });
});

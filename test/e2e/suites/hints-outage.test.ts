// Shows what a dead webhook costs, with both failure policies, and that all hints come back by themselves.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { EXTENSION_NAME, LABEL_MANAGED, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS, PODS, SERVICES } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { ofLength, waitFor } from '../bed/machine.ts';
import { type Pod, type Workload, createNodes, deploy, startKubelets } from '../churn.ts';
import { restartWebhook, startWebhook } from '../commands.ts';
import { bareVersions, formatOutages, gapsIn, recordSlices } from '../hints-figures.ts';
import type { Outage, StoredVersion } from '../hints-figures.ts';
import {
  configureWebhook,
  connectAs,
  each,
  expectNone,
  hasOwnZone,
  RECONCILER_USER,
  SLICE_CONTROLLER,
  slicesOf,
  startReconciler,
  untilAdmission,
} from '../hints-support.ts';
import { keepResults } from '../results.ts';
import { type AuditReader, type Write, readAudit, untilQuiet } from '../settings-audit.ts';

const namespace = 'shop';
const pods = 12;
/** Services that only the webhook hints, and one whose field says the same to the EndpointSlice controller. */
const plain = Array.from({ length: 20 }, (_, index) => `plain-${index}`);
const withField = 'with-field';
const label = { [LABEL_STRATEGY]: 'same-zone' };

interface Course {
  readonly outage: Outage;
  readonly versions: readonly StoredVersion[];
  readonly writes: readonly Write[];
}

/** Longer than the second after which the controller looks again at a slice that came back other than it wrote it. */
const quietMs = 2_500;

const secondsSince = (start: number): number => Number(((performance.now() - start) / 1000).toFixed(2));

const byUser = (writes: readonly Write[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { user, status } of writes) if (status === 200) counts[user] = (counts[user] ?? 0) + 1;
  return counts;
};

describe('an outage of the webhook', () => {
  let client: Client;
  const bed = useBed();
  const outages: Outage[] = [];
  let webhook: Component;
  let workload: Workload;
  let audit: AuditReader;
  let round = 0;

  const slices = (): Promise<EndpointSlice[]> => slicesOf(client, namespace, LABEL_STRATEGY);

  /** Waits until every Service publishes exactly the Pods that are there, and `accept` likes all their endpoints. */
  const untilFresh = async (accept: typeof hasOwnZone, timeoutSeconds = 120): Promise<void> => {
    const sorted = (uids: readonly (string | undefined)[]): string => JSON.stringify(uids.map(String).toSorted());
    await waitFor(
      'every Service publishes its Pods',
      async () => {
        // Listed anew each time: a Pod that is going may still be there when a rollout is complete.
        const { items } = await client.list<Pod>(PODS, { namespace });
        const expected = sorted(items.map(({ metadata }) => metadata?.uid));
        const isFresh = ({ endpoints }: EndpointSlice): boolean =>
          sorted((endpoints ?? []).map(({ targetRef }) => targetRef?.uid)) === expected &&
          (endpoints ?? []).every(accept);
        return (await slices()).filter((slice) => !isFresh(slice)).map(({ metadata }) => metadata?.name);
      },
      ofLength(0),
      { timeoutSeconds },
    );
  };
  /** Each refused write doubles the controller's pause, up to giving up; a change of the Service, or of any of its Pods, ends it. */
  const touchServices = (): Promise<unknown> =>
    each([...plain, withField], 4, (name) =>
      client.patch(SERVICES, { namespace, name }, 'merge', { metadata: { annotations: { touched: String(round) } } }),
    );

  /** Kills the webhook, replaces every Pod, lets `judge` look, starts the webhook again and waits for the hints. */
  const play = async (failurePolicy: Outage['failurePolicy'], judge: () => Promise<void>): Promise<Course> => {
    await untilFresh(hasOwnZone);
    await untilQuiet(audit, 1500);
    const history = await recordSlices(client, namespace);
    const killed = performance.now();
    await webhook.kill();
    await workload.restart((round += 1));
    const changed = performance.now();
    await judge();
    const freshAway = secondsSince(changed);
    // What the controller still has to write would get its hints back from the webhook, and leave less to repair. With Fail it
    // has everything left to write, and pauses longer each time.
    const away = await untilQuiet(audit, failurePolicy === 'Ignore' ? quietMs : 500);
    const unhinted = bareVersions(history.versions).length;
    const awaySeconds = secondsSince(killed);
    await restartWebhook(webhook);
    const back = performance.now();
    if (failurePolicy === 'Fail') await untilFresh(hasOwnZone, 60).catch(touchServices);
    await untilFresh(hasOwnZone);
    const hintedAfterSeconds = secondsSince(back);
    const freshAfterSeconds = failurePolicy === 'Ignore' ? freshAway : secondsSince(changed);
    await history.complete();
    const repairs = await untilQuiet(audit, 500);
    const outage: Outage = {
      failurePolicy,
      services: plain.length,
      pods,
      awaySeconds,
      refused: away.filter(({ status }) => status >= 500).length,
      unhinted,
      freshAfterSeconds,
      hintedAfterSeconds,
      writes: byUser(repairs),
    };
    outages.push(outage);
    expectNone('versions that nobody saw', gapsIn(history.versions));
    return { outage, versions: history.versions, writes: [...away, ...repairs] };
  };

  before(`${plain.length + 1} Services of ${pods} Pods, the webhook and the settings reconciler`, async () => {
    client = await connectAs(bed(), 'tester');
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespace } });
    const nodes = await createNodes(client, ['a', 'b', 'c'], 2);
    startKubelets({ client, namespace, nodes, terminationMs: 200 });
    workload = await deploy(client, namespace, 'web', pods);
    webhook = await startWebhook(bed(), { flags: ['--config', configureWebhook(bed(), 'Ignore')] });
    await untilAdmission(client, namespace, true);
    await each(plain, 4, (name) =>
      bed().service({ name, namespace, app: 'web', labels: { ...label, [LABEL_MANAGED]: 'false' } }),
    );
    const service = await bed().service({ name: withField, namespace, app: 'web', labels: label });
    // The shortest pause that its configuration takes, so that the suite is short; the default is 60 seconds.
    await startReconciler(bed(), { config: { hintRepair: { backoffSeconds: 10 } } });
    await waitFor(
      'the settings reconciler sets the field',
      () =>
        bed().api.get<{ metadata: { name: string }; spec: { trafficDistribution?: string } }>(
          `/api/v1/namespaces/${namespace}/services/${service.name}`,
        ),
      ({ spec }) => spec.trafficDistribution === 'PreferSameZone',
    );
    audit = readAudit(bed().auditLog);
  });

  it('with Ignore keeps endpoints fresh, without hints, until the settings reconciler brings them back', async () => {
    // Pods that are going would be written once more when they are gone.
    const { outage, versions, writes } = await play('Ignore', () =>
      untilFresh(({ conditions }) => conditions?.ready === true),
    );
    expect(outage.refused, 'refused writes').to.equal(0);
    expect(outage.unhinted, 'versions without hints: what there is to repair').to.be.at.least(plain.length);
    // Nobody else touched them: the Pods stood still.
    expect(outage.writes[RECONCILER_USER], 'slices touched by the settings reconciler').to.be.at.least(plain.length);
    const { length } = writes.filter(({ user }) => user !== RECONCILER_USER && user !== SLICE_CONTROLLER);
    expect(length, 'writes by anybody else').to.equal(0);
    const ofField = versions.filter(({ service }) => service === withField);
    expect(ofField.length, 'versions of the Service with the field').to.be.above(2);
    expectNone('versions of the Service with the field without hints', bareVersions(ofField));
  });

  it('with Fail stores nothing without hints: writes are late, and succeed once it is back', async () => {
    configureWebhook(bed(), 'Fail');
    await webhook.stop();
    await restartWebhook(webhook);
    await waitFor(
      'registered with Fail',
      () => client.get<MutatingWebhookConfiguration>(MUTATING_WEBHOOK_CONFIGURATIONS, { name: EXTENSION_NAME }),
      ({ webhooks }) => webhooks?.some(({ failurePolicy }) => failurePolicy === 'Fail') ?? false,
    );
    const replaced = new Set((await client.list<Pod>(PODS, { namespace })).items.map(({ metadata }) => metadata?.uid));
    const { outage, versions } = await play('Fail', async () => {
      await waitFor(
        'the slices stay as they were',
        async () => (await slices()).flatMap(({ endpoints }) => endpoints ?? []),
        (endpoints) => endpoints.every(({ targetRef }) => replaced.has(targetRef?.uid)),
      );
    });
    expect(outage.refused, 'refused writes').to.be.at.least(1);
    expectNone('versions without hints', bareVersions(versions));
  });

  after(() => {
    console.log(`${plain.length} Services of ${pods} Pods, all replaced:\n\n${formatOutages(outages)}\n`);
    keepResults('outage', outages);
  });
});

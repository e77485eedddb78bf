// Counts what hints at admission cost the real EndpointSlice controller in writes, and shows that nobody writes in circles.
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import type { BedService, ServiceOptions } from '../bed/pod.ts';
import { createNodes, createPod, setPodStatus } from '../churn.ts';
import { startWebhook } from '../commands.ts';
import {
  countWrites,
  hiddenChanges,
  isEachPut,
  isTelling,
  printCounts,
  putsOf,
  recordSlices,
} from '../hints-figures.ts';
import type { InterplayCount, SliceHistory } from '../hints-figures.ts';
import {
  connectAs,
  each,
  expectNone,
  hasOwnZone,
  serviceSelector,
  SLICE_CONTROLLER,
  slicesOf,
  touchSlices,
  untilAdmission,
} from '../hints-support.ts';
import { keepResults } from '../results.ts';
import { type AuditReader, type Write, readAudit, untilQuiet, untilQuietAfter } from '../settings-audit.ts';

const namespace = 'shop';
const zones = ['a', 'b', 'c'];
/** Pods by app; a slice takes 100 endpoints. */
const sizes = { small: 12, large: 250 } as const;
type App = keyof typeof sizes;

interface Variant {
  readonly settings: InterplayCount['settings'];
  readonly options: Pick<ServiceOptions, 'labels' | 'trafficDistribution'>;
}
const label = { [LABEL_STRATEGY]: 'same-zone' };
const variants: readonly Variant[] = [
  { settings: 'none', options: {} },
  { settings: 'label', options: { labels: label } },
  { settings: 'label and field', options: { labels: label, trafficDistribution: 'PreferSameZone' } },
];

/** Longer than the second after which the controller looks again at a slice that came back other than it wrote it. */
const quietMs = 2_500;

describe('writes of slices', () => {
  let client: Client;
  let history: SliceHistory;
  const bed = useBed();
  const services: { service: BedService; app: App; variant: Variant }[] = [];
  const counts: InterplayCount[] = [];
  let audit: AuditReader;

  const pods = (Object.keys(sizes) as App[]).flatMap((app) =>
    Array.from({ length: sizes[app] }, (_, index) => ({ namespace, app, name: `${app}-${index}`, index })),
  );
  const numberOf = ({ app, index }: { app: App; index: number }): number => (app === 'small' ? 256 : 512) + index;

  const untilHinted = (): Promise<unknown> =>
    waitFor(
      'own zone where it is asked for',
      () => slicesOf(client, namespace, LABEL_STRATEGY),
      (slices) => slices.every(({ endpoints }) => (endpoints ?? []).every(hasOwnZone)),
    );

  /** Counts the writes of each Service from `act` until nobody writes any more. */
  const count = async (
    admission: InterplayCount['admission'],
    event: InterplayCount['event'],
    act: () => Promise<unknown>,
  ): Promise<void> => {
    const from = history.versions.length;
    const named = await Promise.all(
      services.map(async ({ service, variant: { settings } }) => {
        const names = new Set((await service.slices()).map(({ metadata }) => metadata.name));
        return { settings, names };
      }),
    );
    // A sync takes hints away that the Service asks for by label alone; with the field, or without hints, it writes nothing.
    const begun = (seen: readonly Write[]): boolean =>
      event.startsWith('a Pod')
        ? named.every(({ names }) => putsOf(names, seen).length > 0)
        : named.every(({ settings, names }) => settings !== 'label' || admission === 'none' || isEachPut(names, seen));
    await act();
    const writes = await untilQuietAfter(audit, begun, quietMs);
    const byOthers = writes.filter(({ user }) => user !== SLICE_CONTROLLER);
    expectNone(
      'writes by others than the controller',
      byOthers.map((write) => JSON.stringify(write)),
    );
    expectNone('changes beside the time stamp of a sync', hiddenChanges(history.versions, from));
    for (const { settings, names } of named) {
      const counted = countWrites(names, writes, history.versions, from);
      counts.push({ admission, settings, event, slices: names.size, ...counted });
    }
  };

  /** The first Pod of each app: an endpoint of the same slice every time. */
  const switchPods = (ready: boolean): Promise<void> =>
    each(
      pods.filter(({ index }) => index === 0),
      2,
      (pod) => setPodStatus(client, pod, numberOf(pod), ready),
    );
  const touchServices = (value: string): Promise<void> =>
    each(services, 4, ({ service }) => service.patch({ metadata: { annotations: { touched: value } } }));

  const measure = async (admission: InterplayCount['admission']): Promise<void> => {
    await untilAdmission(client, namespace, admission !== 'none');
    if (admission !== 'none') {
      await touchSlices(client, namespace, admission);
      await untilHinted();
    }
    await untilQuiet(audit, quietMs);
    await count(admission, 'a Pod becomes unready', () => switchPods(false));
    await count(admission, 'a Pod becomes ready', () => switchPods(true));
    await count(admission, 'next sync without a change', () => touchServices(`${admission} 1`));
    await count(admission, 'further sync without a change', () => touchServices(`${admission} 2`));
    if (admission !== 'none') await untilHinted();
  };
  const of = (settings: string, event: string): InterplayCount[] =>
    counts.filter((one) => one.admission === 'webhook' && one.settings === settings && one.event === event);

  before('Services with one slice and with several, asking for nothing, by label, and by label and field', async () => {
    client = await connectAs(bed(), 'tester');
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespace } });
    const nodes = await createNodes(client, zones, 1);
    await each(pods, 8, (pod) =>
      createPod(client, { ...pod, node: nodes[pod.index % nodes.length]!, number: numberOf(pod) }),
    );
    for (const app of Object.keys(sizes) as App[]) {
      for (const [index, variant] of variants.entries()) {
        const service = await bed().service({ name: `${app}-${index}`, namespace, app, ...variant.options });
        services.push({ service, app, variant });
      }
    }
    for (const { service, app } of services) {
      await waitFor(
        `all endpoints of ${service.name}`,
        () => slicesOf(client, namespace, serviceSelector(service.name)),
        (slices) => slices.flatMap(({ endpoints }) => endpoints ?? []).length === sizes[app],
      );
    }
    audit = readAudit(bed().auditLog);
    history = await recordSlices(client, namespace);
  });

  it('are counted without admission', async () => {
    await measure('none');
    const syncs = counts.filter(({ event }) => event.includes('sync'));
    expect(syncs.map(({ puts }) => puts)).to.deep.equal(syncs.map(() => 0));
  });

  it('are counted with the webhook', async () => {
    await startWebhook(bed());
    await measure('webhook');
    printCounts(counts);
    keepResults('interplay', counts.filter(isTelling));
  });

  it('change nothing that is stored while nothing changes', () => {
    const further = counts.filter(
      (one) => one.admission === 'webhook' && one.event === 'further sync without a change',
    );
    expect(further.map(({ stored }) => stored)).to.deep.equal(services.map(() => 0));
    for (const event of ['next sync without a change', 'further sync without a change']) {
      // The controller takes the hints away that it did not ask for, and admission puts them back in the same write. The first
      // such sync may also take away its own time stamp, and then syncs again where the watch was faster than the answer.
      const syncs = event.startsWith('next') ? 2 : 1;
      for (const { puts, slices } of of('label', event)) {
        expect(puts, `${slices} slices, ${event}: writes`).to.be.within(slices, syncs * slices);
        expect(puts % slices, `${slices} slices, ${event}: writes of an unfinished sync`).to.equal(0);
      }
      // With the field it wants the same hints.
      for (const { puts } of of('label and field', event)) expect(puts).to.equal(0);
    }
  });

  it("change no content in a sync, at most the controller's own time stamp", () => {
    const syncs = counts.filter((one) => one.admission === 'webhook' && one.event.includes('sync'));
    expect(syncs.map(({ changed }) => changed)).to.deep.equal(syncs.map(() => 0));
  });

  it('change one slice once for each change of a Pod, in three syncs at most', () => {
    const changes = counts.filter((one) => one.admission === 'webhook' && one.event.startsWith('a Pod'));
    expect(changes).to.have.lengthOf(2 * services.length);
    for (const { changed, puts, slices, settings, event } of changes) {
      expect(changed, `${settings}, ${slices} slices, ${event}: changes of content`).to.equal(1);
      // The controller syncs again a second later where the watch was faster than the answer to its write; and once more if
      // that happens to the write by which the second sync takes the first one's time stamp away.
      expect(puts, `${settings}, ${slices} slices, ${event}: writes`).to.be.within(1, 3 * slices);
    }
  });
});

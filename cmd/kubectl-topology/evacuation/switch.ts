// What `kubectl topology off` and `on` do, with the API server alone: one switch for all hints of this extension in the cluster.
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import { type EndpointSlice, type Namespace, serviceKeyOf } from '../../../pkg/apis/core.ts';
import { ANNOTATION_HINTS, HINTS_OFF, SWITCH_NAMESPACE } from '../../../pkg/apis/names.ts';
import { firstFew, keyOf } from '../../../pkg/apis/values.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { ENDPOINT_SLICES, MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, SERVICES } from '../../../pkg/apis/resources.ts';
import type { Resource } from '../../../pkg/apis/resources.ts';
import { cleanUpSettings, patchAnew } from '../../../pkg/controllers/settings/cleanup.ts';
import { returnSlices } from '../../../pkg/controllers/evacuation/cleanup.ts';
import { carriesApplied } from '../../../pkg/controllers/settings/decide/objects.ts';
import { releaseOperations } from '../../../pkg/evacuation/admit.ts';
import { sleep, systemClock } from '../../../pkg/kubernetes/wait.ts';
import { listKept } from '../../../pkg/kubernetes/request.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { countText } from '../../../pkg/report/figures.ts';
import { nullLogger } from '../../../pkg/telemetry/log.ts';
import { isOurs } from '../../../pkg/webhook/register.ts';
import type { ExitCode, Io } from '../io.ts';
import type { FlagsOf } from '../command.ts';
import type { ClusterFlags } from '../flags.ts';
import { withClient, withProgress } from '../session.ts';
import { whyLeft } from './follow.ts';
import type { OFF_FLAGS } from './flags.ts';

const CONFIGURATIONS = MUTATING_WEBHOOK_CONFIGURATIONS;
/** API servers read webhook configurations by their watches; a write that was on its way comes meanwhile. */
const SETTLE_MS = 2_000;

const hasEntries = ({ webhooks }: MutatingWebhookConfiguration): boolean => webhooks?.some(isOurs) === true;

const turn = (client: Client, value: string | null, signal: AbortSignal, dryRun = false): Promise<Namespace> => {
  const patch = { metadata: { annotations: { [ANNOTATION_HINTS]: value } } };
  return client.patch<Namespace>(NAMESPACES, { name: SWITCH_NAMESPACE }, 'merge', patch, { dryRun }, signal);
};

/** Takes our entries out and leaves those of others; says whether there were any. */
const withdraw = (client: Client, found: MutatingWebhookConfiguration, signal: AbortSignal): Promise<boolean> => {
  const patchOf = ({ webhooks = [] }: MutatingWebhookConfiguration) =>
    webhooks.some(isOurs) ? { webhooks: webhooks.filter((webhook) => !isOurs(webhook)) } : undefined;
  return patchAnew(client, CONFIGURATIONS, found, patchOf, signal);
};

const withdrawAll = async (client: Client, signal: AbortSignal): Promise<number> => {
  let count = 0;
  for await (const { items } of client.pages<MutatingWebhookConfiguration>(CONFIGURATIONS, {}, signal))
    for (const item of items) if (await withdraw(client, item, signal)) count += 1;
  return count;
};

const countOf = async <T extends KubernetesObject>(
  client: Client,
  resource: Resource,
  fits: (object: T) => boolean,
  signal: AbortSignal,
): Promise<number> => (await listKept<T, true>(client, resource, (object) => fits(object) || undefined, signal)).length;

const partsText = (slices: number, entries: number, services: number): string =>
  `hints and annotations of ${countText(slices, 'EndpointSlice')}, entries of ${countText(entries, 'MutatingWebhookConfiguration')}, settings of ${countText(services, 'Service')}`;

/** The API server says whether the switch may be turned; the rest is counted. */
const dryRun = async (client: Client, { out, signal }: Io): Promise<ExitCode> => {
  await turn(client, HINTS_OFF, signal, true);
  const isChanged = (slice: EndpointSlice): boolean => releaseOperations(slice).length > 0;
  const slices = await countOf(client, ENDPOINT_SLICES, isChanged, signal);
  const entries = await countOf(client, CONFIGURATIONS, hasEntries, signal);
  const services = await countOf(client, SERVICES, carriesApplied, signal);
  out.write(`would remove: ${partsText(slices, entries, services)}\nDry run: nothing was written.\n`);
  return 0;
};

const isHinted = ({ endpoints }: EndpointSlice): boolean =>
  (endpoints ?? []).some(({ hints }) => (hints?.forZones ?? hints?.forNodes ?? []).length > 0);

const listOf = (names: Iterable<string>): string => firstFew([...names].sort(), 5);

const run = async (client: Client, io: Io): Promise<ExitCode> => {
  const { err, out, signal } = io;
  const removeHints = (operationsOf: typeof releaseOperations) =>
    withProgress(io, (show) => {
      const onDone = (done: number, all: number): void =>
        show(`removing hints: ${done} of ${countText(all, 'EndpointSlice')}`);
      return returnSlices({ client, fieldManager: 'kubectl-topology', operationsOf, onDone }, signal);
    });

  await turn(client, HINTS_OFF, signal);
  err.write('switched off: components that run write no hints any more\n');
  const configurations = await withdrawAll(client, signal);
  const first = await removeHints(releaseOperations);
  err.write(`hints of ${countText(first.returned, 'EndpointSlice')} removed\n`);
  const settings = await cleanUpSettings({ client, clock: systemClock, logger: nullLogger }, signal);
  await sleep(systemClock, SETTLE_MS, signal);
  const kept = new Set<string>();
  const last = await removeHints((slice) => {
    const operations = releaseOperations(slice);
    if (operations.length === 0 && isHinted(slice)) kept.add(serviceKeyOf(slice) ?? keyOf(slice));
    return operations;
  });
  out.write(`removed: ${partsText(first.returned + last.returned, configurations, settings.services)}\n`);
  if (settings.leftToDruid.length > 0)
    out.write(`left to etcd-druid's next write: settings of ${listOf(settings.leftToDruid)}\n`);
  if (kept.size > 0)
    out.write(
      `${countText(kept.size, 'Service')} with hints that the control plane or another writer gives for settings of their own: ${listOf(kept)}\n`,
    );
  if (last.left > 0) {
    const why = whyLeft(last.errors, 'the components of this extension');
    err.write(`error: ${countText(last.left, 'EndpointSlice')} not done: ${why}; try again\n`);
    return 1;
  }
  out.write('Hints are off in the whole cluster, and stay so until: kubectl topology on\n');
  return 0;
};

export const switchOff = (io: Io, flags: FlagsOf<typeof OFF_FLAGS>): Promise<ExitCode> =>
  withClient(flags, (client) => (flags.dryRun === true ? dryRun(client, io) : run(client, io)));

export const switchOn = (io: Io, flags: ClusterFlags): Promise<ExitCode> =>
  withClient<ExitCode>(flags, async (client) => {
    await turn(client, null, io.signal);
    io.out.write(
      'Hints are on: components that run register the webhook, set settings and write hints again within a minute; see kubectl topology status\n',
    );
    return 0;
  });

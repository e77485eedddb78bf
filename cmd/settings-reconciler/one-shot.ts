// SPDX-License-Identifier: Apache-2.0
// The two ways of running that end by themselves: --dry-run and --cleanup.
import { removePolicies } from '../../pkg/controllers/admission-policies/cleanup.ts';
import { createPolicyWriter } from '../../pkg/controllers/admission-policies/writer.ts';
import { cleanUp } from '../../pkg/controllers/settings/cleanup.ts';
import type { CleanupReport } from '../../pkg/controllers/settings/cleanup.ts';
import { createVersionTracker } from '../../pkg/controllers/settings/version-tracker.ts';
import { runLeaderElection } from '../../pkg/kubernetes/leader-election.ts';
import { sleep } from '../../pkg/kubernetes/sleep.ts';
import { reportAdmission } from './dry-run-admission.ts';
import { collectDecisions, renderReport, reportOf } from './dry-run.ts';
import { electionOptions } from './election.ts';
import { landscapeSettled, openLandscape, readOnly, runLandscape } from './session.ts';
import type { Session } from './session.ts';

/** How long another leader is waited for; longer than the Lease of one that crashed. */
const CLEANUP_PATIENCE_MS = 60_000;

/** Prints what would be changed; sends nothing but reads. */
export const dryRun = async (session: Session, format: 'table' | 'json', signal: AbortSignal): Promise<void> => {
  const { config, clock, logger } = session;
  const client = readOnly(session.client);
  const gardenClient = session.gardenClient === undefined ? undefined : readOnly(session.gardenClient);
  const reading = { ...session, client, gardenClient };
  const { override, rereadSeconds } = config.kubernetesVersion;
  const version = createVersionTracker({
    client,
    clock,
    logger,
    ...(override === undefined ? {} : { override }),
    rereadMs: rereadSeconds * 1_000,
    stableMs: 0,
    trial: () => Promise.resolve(true),
    onChange: () => undefined,
  });
  const landscape = openLandscape(reading, () => undefined);
  const stop = new AbortController();
  const running = runLandscape(landscape, AbortSignal.any([signal, stop.signal]));
  try {
    await version.read(signal);
    await landscapeSettled(landscape, reading, signal);
    const admission = await reportAdmission(reading, landscape, signal);
    const report = reportOf(collectDecisions(landscape, config, version.current), version.current, admission);
    session.print(renderReport(report, format));
  } finally {
    stop.abort();
    await running;
  }
};

const describe = ({ services, etcds, namespaces, slices }: CleanupReport): string =>
  `settings taken back from ${services} Service(s) and ${etcds} Etcd(s), marks from ${namespaces} Namespace(s) and ${slices} EndpointSlice(s)\n`;

/** Takes everything back; holds the Lease meanwhile, so that no replica sets again what is taken back. */
export const runCleanup = async (session: Session, signal: AbortSignal): Promise<void> => {
  const { config, client, clock, logger, namespace } = session;
  const work = async (workSignal: AbortSignal): Promise<void> => {
    const settings = await cleanUp({ client, logger }, workSignal);
    const writer = createPolicyWriter({ client, clock, logger });
    const { name } = config.policies;
    const policies = await removePolicies({ client, name, namespace, writer }, workSignal);
    session.print(describe(settings));
    if (policies > 0) session.print(`${policies} object(s) of admission policies removed\n`);
  };
  if (!config.leaderElection.enabled) {
    await work(signal);
    return;
  }
  const impatient = new AbortController();
  let leading = false;
  void sleep(clock, CLEANUP_PATIENCE_MS, AbortSignal.any([signal, impatient.signal])).then(
    () => leading || impatient.abort(),
    () => undefined,
  );
  const onStartedLeading = (leaderSignal: AbortSignal): Promise<void> => {
    leading = true;
    return work(leaderSignal);
  };
  const options = { ...electionOptions(session), onStartedLeading, onStoppedLeading: () => undefined };
  const result = await runLeaderElection(options, AbortSignal.any([signal, impatient.signal]));
  const timedOut = impatient.signal.aborted;
  impatient.abort();
  if (result.kind === 'ended') return;
  if (result.kind === 'failed') throw result.error;
  if (result.kind === 'lost') throw new Error(result.message);
  if (timedOut) throw new Error('another replica holds the Lease; stop all replicas before --cleanup');
  signal.throwIfAborted();
};

// The two ways of running that end by themselves: --dry-run and --cleanup.
import type { Namespace } from '../../pkg/apis/core.ts';
import { extensionClassesOf } from '../../pkg/controllers/settings/homes.ts';
import { returnSlices } from '../../pkg/controllers/evacuation/cleanup.ts';
import { releaseExtensions } from '../../pkg/controllers/extension/release.ts';
import { createRouterEvidence } from '../../pkg/controllers/routers/evidence.ts';
import { isOwnedElsewhere } from '../../pkg/controllers/settings/ownership.ts';
import { cleanUpSettings } from '../../pkg/controllers/settings/cleanup.ts';
import type { CleanupReport } from '../../pkg/controllers/settings/cleanup.ts';
import { openSettingsCaches } from '../../pkg/controllers/settings/caches.ts';
import { followVersion } from '../../pkg/controllers/settings/version.ts';
import { createCaches } from '../../pkg/kubernetes/caches.ts';
import type { OutputFormat } from '../shared/controller-flags.ts';
import { workOnceAsLeader } from '../../pkg/kubernetes/leadership.ts';
import { collectDecisions, renderReport, reportOf } from './dry-run.ts';
import { candidateOf } from '../shared/session.ts';
import type { Session } from './session.ts';

/** Prints what would be changed; sends nothing but reads. */
export const dryRun = async (session: Session, format: OutputFormat, signal: AbortSignal): Promise<void> => {
  const { config, gardenClient } = session;
  const set = createCaches(session);
  const caches = openSettingsCaches(set.open, {
    gardenClient,
    modes: config.modes,
    extensions: config.extensions.enabled,
  });
  const version = followVersion({ ...session, caches });
  const stop = new AbortController();
  const running = set.run(AbortSignal.any([signal, stop.signal]));
  try {
    await version.read(signal);
    await set.settled(signal);
    const routers = createRouterEvidence(session);
    await routers.read(signal);
    const report = reportOf(collectDecisions(caches, config, version.current, routers), version.current);
    session.print(renderReport(report, format));
  } finally {
    stop.abort();
    await running;
  }
};

const describe = ({ services, namespaces, slices }: CleanupReport): string =>
  `settings removed from ${services} Service(s), marks from ${namespaces} Namespace(s) and ${slices} EndpointSlice(s)\n`;

/** Takes everything back; holds the Lease meanwhile, so that no replica sets again what is reverted. */
export const runCleanup = async (session: Session, signal: AbortSignal): Promise<void> => {
  const { config, client, clock, logger } = session;
  const work = async (workSignal: AbortSignal): Promise<void> => {
    // Sole installation: clean up everything, including what earlier configurations applied.
    const shared = config.installation.claim !== undefined;
    const leaves = (of: Namespace): boolean => shared && isOwnedElsewhere(of, config);
    const settings = await cleanUpSettings({ client, leaves, clock, logger }, workSignal);
    const { returned, errors } = await returnSlices({ client }, workSignal);
    if (returned > 0) session.print(`${returned} evacuated EndpointSlice(s) returned\n`);
    if (errors.length > 0) throw errors[0];
    session.print(describe(settings));
    for (const service of settings.leftToDruid) session.print(`left to etcd-druid's next write: Service ${service}\n`);
    for (const left of settings.left) session.print(`left to another installation: namespace ${left}\n`);
    // Whatever was followed before: this project's finalizers must not outlive it.
    const released = await releaseExtensions({ client, classes: extensionClassesOf(config.modes), logger }, workSignal);
    if (released > 0) session.print(`${released} Extension(s) released\n`);
  };
  await workOnceAsLeader(candidateOf(session), work, signal);
};

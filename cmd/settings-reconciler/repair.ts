// SPDX-License-Identifier: Apache-2.0
// Wires what touches slices that lack what admission should have written: hints after an outage, plans after their planner.
import { createPlanRetirement } from '../../pkg/controllers/hint-repair/plan-retirement.ts';
import { isChosen } from '../../pkg/controllers/hint-repair/etcd-clients.ts';
import type { EtcdClientView } from '../../pkg/controllers/hint-repair/etcd-clients.ts';
import { createHintRepair, UNHINTED } from '../../pkg/controllers/hint-repair/reconciler.ts';
import type { HintRepair, HintRepairOptions } from '../../pkg/controllers/hint-repair/reconciler.ts';
import { needsTouch } from '../../pkg/controllers/hint-repair/select.ts';
import type { SettingsMetrics } from '../../pkg/controllers/settings/metrics.ts';
import type { Reconciler } from '../../pkg/kubernetes/types.ts';
import type { Admission } from './admission.ts';
import type { EngineOptions } from './engine.ts';

/** What all touches of slices have in common. */
const touching = (
  options: EngineOptions,
): Pick<
  HintRepairOptions,
  'client' | 'clock' | 'writesPerSecond' | 'backoffMs' | 'events' | 'regarding' | 'logger'
> => {
  const { config, client, clock, events, logger, namespace } = options;
  return {
    client,
    clock,
    writesPerSecond: config.hintRepair.writesPerSecond,
    backoffMs: config.hintRepair.backoffSeconds * 1_000,
    events,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name: namespace },
    logger,
  };
};

export const createRepair = (
  options: EngineOptions,
  { isOwned, view }: { isOwned: (namespace: string) => boolean; view: EtcdClientView },
  admission: Pick<Admission, 'slices'>,
  figures: () => Pick<SettingsMetrics, 'touched'>,
): HintRepair =>
  createHintRepair({
    ...touching(options),
    task: { ...UNHINTED, needsTouch: (slice) => needsTouch(slice, isChosen(slice, view)) },
    // Where admission does not look, a touch would help nobody.
    slices: () => admission.slices().filter(({ metadata }) => isOwned(metadata?.namespace ?? '')),
    onTouch: (helped) => figures().touched(helped ? 'hinted' : 'unhinted'),
  });

/** Plans are not bound to the modes: a Service with a plan may be in any namespace that admission serves. */
export const createRetirement = (
  options: EngineOptions,
  admission: Admission,
  figures: () => Pick<SettingsMetrics, 'touched'>,
): Reconciler =>
  createPlanRetirement({
    ...touching(options),
    // Of several installations, the one that admits takes plans back.
    planner: {
      alive: () => admission.planner.alive(),
      known: () => admission.planner.known() && admission.claimed(),
    },
    slices: () => admission.slices(),
    onTouch: (helped) => figures().touched(helped ? 'spread' : 'planned'),
  });

// SPDX-License-Identifier: Apache-2.0
// Which Services have a FlowPolicy to look at, and that policy from the cluster: most have none, and need no right to read any.
import type { Service } from '../../pkg/apis/core.ts';
import { refOf } from '../../pkg/diagnosis/models/lookup.ts';
import type { ClusterSnapshot } from '../../pkg/diagnosis/snapshot.ts';
import { effectiveStrategy, strategyFromLabels } from '../../pkg/routing/strategy.ts';
import type { InputFlags } from './flags.ts';
import type { Io } from './io.ts';
import { load } from './session.ts';

/** Its hints are planned by the flow-controller. */
export const asksForPlan = (service: Service): boolean => {
  const strategy = effectiveStrategy(service) ?? strategyFromLabels(service.metadata?.labels);
  return strategy === 'load-aware' || strategy === 'proportional';
};

/** Adds the FlowPolicies of the Service's namespace where it asks for a plan; files were read as a whole already. */
export const withFlowPolicies = async (
  snapshot: ClusterSnapshot,
  service: Service,
  flags: InputFlags,
  io: Io,
): Promise<ClusterSnapshot> => {
  if (flags.filename !== undefined || !asksForPlan(service)) return snapshot;
  const { namespace } = refOf(service);
  const more = await load({ ...flags, namespace, allNamespaces: false }, ['flowPolicies'], io);
  return { ...snapshot, flowPolicies: more.snapshot.flowPolicies };
};

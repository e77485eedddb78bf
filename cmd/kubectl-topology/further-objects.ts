// What only some Services need of the cluster: the FlowPolicy of one that is planned, and the ZoneEvacuation of one that is moved. For
// all others no right to read them is needed.
import type { Service } from '../../pkg/apis/core.ts';
import { evacuatedZones } from '../../pkg/diagnosis/explain/evacuated.ts';
import { serviceKeyOfRef, serviceRefOf, slicesByService } from '../../pkg/diagnosis/models/lookup.ts';
import { itemsOf } from '../../pkg/diagnosis/snapshot.ts';
import type { ClusterSnapshot, CollectionName } from '../../pkg/diagnosis/snapshot.ts';
import { effectiveStrategy, strategyFromLabels } from '../../pkg/routing/strategy.ts';
import type { InputFlags } from './flags.ts';
import type { Io } from './io.ts';
import { load } from './session.ts';

/** Its hints are planned by the flow-controller. */
export const asksForPlan = (service: Service): boolean => {
  const strategy = effectiveStrategy(service) ?? strategyFromLabels(service.metadata?.labels);
  return strategy === 'load-aware' || strategy === 'proportional';
};

/** What an explanation of the Service needs beside what every one does. */
const furtherNeeds = (snapshot: ClusterSnapshot, service: Service): readonly CollectionName[] => {
  const slices = slicesByService(itemsOf(snapshot.slices)).get(serviceKeyOfRef(serviceRefOf(service))) ?? [];
  return [
    ...(asksForPlan(service) ? (['flowPolicies'] as const) : []),
    ...(evacuatedZones({ slices }).length > 0 ? (['evacuations'] as const) : []),
  ];
};

/** Adds what the Service needs; files were read as a whole already. */
export const withFurtherObjects = async (
  snapshot: ClusterSnapshot,
  service: Service,
  flags: InputFlags,
  io: Io,
): Promise<ClusterSnapshot> => {
  const needs = furtherNeeds(snapshot, service);
  if (flags.filename !== undefined || needs.length === 0) return snapshot;
  const { namespace } = serviceRefOf(service);
  const more = await load({ ...flags, namespace, allNamespaces: false }, needs, io);
  return { ...snapshot, ...Object.fromEntries(needs.map((need) => [need, more.snapshot[need]])) };
};

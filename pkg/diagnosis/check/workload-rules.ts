// Whether the Pods behind a Service can be where its clients are: replicas, spread over zones, zones that are allowed.
import { LABEL_ZONE } from '../../apis/names.ts';
import { counted } from '../explain/cause.ts';
import type { Autoscaler, SpreadConstraint, Workload } from '../snapshot.ts';
import type { Said } from './service-rules.ts';

/** Most replicas that a workload may have, its autoscalers' included. */
export const mostReplicas = (workload: Workload, autoscalers: readonly Autoscaler[]): number =>
  autoscalers
    .filter(
      ({ namespace, targetKind, targetName, off }) =>
        !off && namespace === workload.namespace && targetKind === workload.kind && targetName === workload.name,
    )
    .reduce((most, { maxReplicas = 0 }) => Math.max(most, maxReplicas), workload.replicas);

const workloadTitle = ({ kind, name }: Workload): string => `${kind} ${name}`;

const overZones = ({ spread }: Workload): SpreadConstraint[] =>
  spread.filter(({ topologyKey }) => topologyKey === LABEL_ZONE);

/** Of one workload, with or without a request for routing by zone: constraints that cannot do what they say. */
export const spreadRules = (workload: Workload, replicas: number): Said[] =>
  overZones(workload).flatMap(({ selectsOwn, maxSkew, whenUnsatisfiable }): Said[] => {
    if (!selectsOwn) {
      const message = `the zone constraint of ${workloadTitle(workload)} selects none of its own Pods`;
      return [{ severity: 'error', reason: 'SpreadSelectsNothing', message }];
    }
    if (replicas > 1 && maxSkew >= replicas && whenUnsatisfiable === 'DoNotSchedule') {
      const message = `maxSkew ${maxSkew} of ${workloadTitle(workload)} allows all ${replicas} replicas in one zone`;
      return [{ severity: 'warning', reason: 'SpreadTooWide', message }];
    }
    return [];
  });

/** Of a workload behind a Service that asks for routing by zone. */
export const placementRules = (workload: Workload, replicas: number): Said[] => {
  const { allowedZones, zoneAntiAffinity } = workload;
  if (replicas <= 1) {
    const message = `${workloadTitle(workload)} has ${counted(replicas, 'replica')}: clients in all other zones always cross`;
    return [{ severity: 'note', reason: 'SingleEndpoint', message }];
  }
  if (allowedZones !== undefined && new Set(allowedZones).size === 1) {
    const message = `${workloadTitle(workload)} may run in ${allowedZones[0] ?? ''} only`;
    return [{ severity: 'warning', reason: 'PinnedToOneZone', message }];
  }
  const constraints = overZones(workload).filter(({ selectsOwn }) => selectsOwn);
  if (constraints.length === 0 && !zoneAntiAffinity && overZones(workload).length === 0) {
    const message = `${workloadTitle(workload)} has up to ${counted(replicas, 'replica')}, and nothing spreads them over zones`;
    return [{ severity: 'warning', reason: 'PodsNotSpread', message }];
  }
  const soft =
    constraints.length > 0 && constraints.every(({ whenUnsatisfiable }) => whenUnsatisfiable === 'ScheduleAnyway');
  if (!soft || zoneAntiAffinity) return [];
  const message = `${workloadTitle(workload)} is spread over zones only as a preference (ScheduleAnyway)`;
  return [{ severity: 'note', reason: 'SpreadOnlyPreferred', message }];
};

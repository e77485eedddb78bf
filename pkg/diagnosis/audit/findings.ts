// Silent failures of a whole cluster: what stops routing by zone although Services and slices look right.
import type { EndpointSlice } from '../../apis/core.ts';
import { nameOf } from '../../apis/object.ts';
import { zoneOfNode } from '../../apis/readings.ts';
import { REASONS } from '../../upstream/index.ts';
import type { Finding, Severity } from '../check/types.ts';
import { counted, listed } from '../explain/cause.ts';
import { DIAGNOSIS_REASONS } from '../explain/reasons.ts';
import type { SnapshotIndex } from '../explain/types.ts';
import { itemsOf } from '../snapshot.ts';
import type { ClusterSnapshot } from '../snapshot.ts';
import { AUDIT_REASONS } from './reasons.ts';
import type { AuditGroup, AuditReport, ClusterFinding } from './types.ts';

const SEVERITY: Readonly<Record<AuditGroup, Severity>> = {
  Fails: 'error',
  Costs: 'warning',
  NotSavable: 'note',
  NotKnown: 'note',
  Kept: 'note',
};

/** One for the first cause of each Service, and one for what is seen of the cluster as a whole; `file`: what was read. */
export const auditFindings = ({ services, findings }: AuditReport, file: string | undefined): Finding[] => {
  const place = file === undefined ? {} : { place: { file, line: 1 } };
  const ofServices = services.flatMap(({ group, namespace, name, cause }): Finding[] => {
    if (cause === null) return [];
    const { reason, evidence: message, remedy } = cause;
    return [{ severity: SEVERITY[group], reason, kind: 'Service', namespace, name, message, remedy, ...place }];
  });
  const ofCluster = findings.map(({ reason, certainty, evidence: message, remedy }): Finding => {
    const severity = certainty === 'seen' ? 'warning' : 'note';
    return { severity, reason, kind: 'Cluster', namespace: '', name: '', message, remedy, ...place };
  });
  return [...ofServices, ...ofCluster];
};

/** Slices may be hinted in full: clients on such a Node spread over all endpoints all the same. */
const zonelessNodes = ({ readyNodes }: SnapshotIndex): ClusterFinding[] => {
  const zoneless = readyNodes.filter((node) => zoneOfNode(node) === '');
  if (zoneless.length === 0) return [];
  return [
    {
      reason: 'ClientNodeWithoutZone',
      certainty: 'seen',
      evidence: `${zoneless.length} of ${counted(readyNodes.length, 'ready Node')} without zone label: ${listed(zoneless.map(nameOf))}. Their clients ignore the hints of every Service and do not count in the shares here; and no Service gets proportional hints.`,
      remedy: REASONS.ClientNodeWithoutZone.remedy,
    },
  ];
};

const strayEndpoints = (slices: readonly EndpointSlice[], zones: ReadonlyMap<string, string>): string[] =>
  slices.flatMap((slice) =>
    (slice.endpoints ?? []).flatMap(({ addresses, nodeName = '', zone = '' }) => {
      const actual = zones.get(nodeName) ?? '';
      if (zone === '' || actual === '' || actual === zone) return [];
      const where = `${slice.metadata?.namespace ?? 'default'}/${nameOf(slice)}`;
      return [`${addresses[0] ?? ''} of ${where} (${zone}; Node ${nodeName} is in ${actual})`];
    }),
  );

const strayZones = (snapshot: ClusterSnapshot, slices: readonly EndpointSlice[]): ClusterFinding[] => {
  const zones = new Map(itemsOf(snapshot.nodes).map((node) => [nameOf(node), zoneOfNode(node)]));
  const stray = strayEndpoints(slices, zones);
  if (stray.length === 0) return [];
  return [
    {
      reason: 'EndpointZoneDiffers',
      certainty: 'seen',
      evidence: `${counted(stray.length, 'endpoint')} in another zone than their Node: ${listed(stray)}.`,
      remedy: AUDIT_REASONS.EndpointZoneDiffers.remedy,
    },
  ];
};

const [FIRST_RACE, LAST_RACE] = [34, 36];

/** Nothing in the API shows it: the proxy read its Node before the label was set. */
const racedProxies = ({ readyNodes, routers }: SnapshotIndex): ClusterFinding[] => {
  const raced = readyNodes.filter((node) => {
    const { router, routing } = routers.of(node);
    const { minor } = routing.version;
    return router === 'kube-proxy' && minor >= FIRST_RACE && minor <= LAST_RACE;
  });
  if (raced.length === 0) return [];
  return [
    {
      reason: 'ProxyMissedItsZone',
      certainty: 'possible',
      evidence: `${counted(raced.length, 'Node')} run kube-proxy 1.${FIRST_RACE} to 1.${LAST_RACE}. One that started before its Node had the zone label may ignore all hints, and no object shows it: compare with measured traffic.`,
      remedy: DIAGNOSIS_REASONS.ProxyMissedItsZone.remedy,
    },
  ];
};

/** `slices`: those of the Services that are audited. */
export const clusterFindings = (
  snapshot: ClusterSnapshot,
  index: SnapshotIndex,
  slices: readonly EndpointSlice[],
): ClusterFinding[] => [...zonelessNodes(index), ...strayZones(snapshot, slices), ...racedProxies(index)];

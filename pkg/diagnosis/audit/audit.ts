// Audits all Services of a cluster: each as explain does, what crosses zones altogether, why, and what would be saved.
// Silent failures of a whole cluster: what stops routing by zone although Services and slices look right.
import { type EndpointSlice, type Service, zoneOfNode } from '../../apis/core.ts';
import { nameOf } from '../../apis/values.ts';
import { formatVersion } from '../../routing/version.ts';
import type { Measured } from '../../traffic/measured.ts';
import { REASONS } from '../../upstream/index.ts';
import type { Finding, Severity } from '../check/check.ts';
import { counted, listed } from '../explain/given.ts';
import { diagnose, racedNodes, unseenOf } from '../explain/explain.ts';
import { type SnapshotIndex, indexSnapshot } from '../explain/facts.ts';
import { DIAGNOSIS_REASONS } from '../explain/reasons.ts';
import type { ExplainOptions } from '../explain/types.ts';
import { type MeasuredReport, type MeasuredService, flowsByService, measuredParts } from '../measured.ts';
import { serviceKeyOfRef, serviceRefOf, sortedServices } from '../models/lookup.ts';
import type { Tariff } from '../prices.ts';
import { routersReport } from '../routers/types.ts';
import { type ClusterSnapshot, type CollectionName, EVIDENCE, itemsOf, known } from '../snapshot.ts';
import { type Assessed, addTo, assessed, plainMatrix, serviceAudit } from './service.ts';
import { AUDIT_REASONS } from './types.ts';
import type { AuditGroup, AuditOptions, AuditReport, ClusterFinding, MonthlyCost, ServiceAudit } from './types.ts';
import { auditSum, causeGroups, sortServices } from './sum.ts';

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

/** Nothing in the API shows it: the proxy read its Node before the label was set. */
const racedProxies = (index: SnapshotIndex): ClusterFinding[] => {
  const { raced, versions } = racedNodes(index);
  if (raced.length === 0) return [];
  return [
    {
      reason: 'ProxyMissedItsZone',
      certainty: 'possible',
      evidence: `${counted(raced.length, 'Node')} run kube-proxy ${versions}. One that started before its Node had the zone label may ignore all hints, and no object shows it: compare with measured traffic.`,
      remedy: DIAGNOSIS_REASONS.ProxyMissedItsZone.remedy,
    },
  ];
};

/** `slices`: those of the Services that are audited. */
const clusterFindings = (
  snapshot: ClusterSnapshot,
  index: SnapshotIndex,
  slices: readonly EndpointSlice[],
): ClusterFinding[] => [...zonelessNodes(index), ...strayZones(snapshot, slices), ...racedProxies(index)];

const matrixOf = (all: readonly Assessed[], total: number): AuditReport['matrix'] => {
  const cells = new Map<string, Map<string, number>>();
  for (const { prediction, weight } of all) {
    if (prediction !== undefined && weight > 0) addTo(cells, prediction.now, weight / total);
  }
  return plainMatrix(cells);
};

/** What routing by zone saves already, by what asks for it. */
const savedBy = (services: readonly ServiceAudit[]): MeasuredReport['savedBy'] => {
  const sums: Record<string, number> = {};
  for (const { wanted, monthlyCost } of services) {
    const { saved = 0 } = monthlyCost ?? {};
    if (saved > 0) sums[wanted.source] = (sums[wanted.source] ?? 0) + saved;
  }
  return sums;
};

const billOf = (
  { bill }: AuditOptions,
  services: readonly ServiceAudit[],
): Pick<AuditReport, 'prices' | 'measured'> => {
  if (bill === undefined) return {};
  const { currency, source, date } = bill.tariff.table;
  if (bill.measured === undefined) {
    return { prices: { currency, source, date, gigabytesPerDay: bill.gigabytesPerDay, basis: 'Assumed' } };
  }
  const { flows: _, ...about } = bill.measured;
  const parts = measuredParts(bill.tariff, bill.measured, new Set(services.map(serviceKeyOfRef)));
  return {
    prices: { currency, source, date, gigabytesPerDay: parts.services.gigabytesPerDay, basis: 'Measured' },
    measured: { ...about, ...parts, savedBy: savedBy(services) },
  };
};

/** Pods and events add to the evidence of a cause and change none; from a cluster they are not even read. */
const JUDGED_BY: readonly CollectionName[] = [
  'nodes',
  'slices',
  ...EVIDENCE.filter((what) => what !== 'pods' && what !== 'events'),
];

/** Services come worst first: what fails, then what crosses most of all connections, or costs most where prices are given. */
export const audit = (snapshot: ClusterSnapshot, options: AuditOptions): AuditReport => {
  const { namespace, bill } = options;
  const index = indexSnapshot(snapshot, options);
  const chosen = sortedServices(snapshot).filter(
    (service) => namespace === undefined || serviceRefOf(service).namespace === namespace,
  );
  const all = chosen.map((service) => assessed(diagnose(snapshot, service, options, index)));
  const total = all.reduce((sum, { weight }) => sum + weight, 0);
  const flows = bill?.measured === undefined ? undefined : flowsByService(bill.measured);
  const services = all.map((each) => serviceAudit(each, total, bill, flows?.get(serviceKeyOfRef(each.draft)) ?? []));
  const slices = chosen.flatMap((service) => index.slices.get(serviceKeyOfRef(serviceRefOf(service))) ?? []);
  return {
    kubernetesVersion: formatVersion(options.version ?? index.version),
    ...routersReport(index.readyNodes, index.routers),
    namespace: namespace ?? null,
    services: sortServices(services, 'worst'),
    sum: auditSum(services, index.readyNodes.length, index.weights === undefined ? 'nodes' : 'cpu'),
    causes: causeGroups(services),
    matrix: matrixOf(all, total),
    findings: clusterFindings(snapshot, index, slices),
    ...billOf(options, services),
    unseen: unseenOf(snapshot, JUDGED_BY),
  };
};

export interface ExplainedTraffic extends MeasuredService, Pick<Measured, 'by' | 'seconds' | 'notes'> {
  readonly monthlyCost: MonthlyCost;
  readonly prices: { readonly currency: string; readonly source: string; readonly date: string };
}

export const explainTraffic = (
  snapshot: ClusterSnapshot,
  service: Service,
  options: ExplainOptions,
  bill: { readonly tariff: Tariff; readonly measured: Measured },
): ExplainedTraffic | undefined => {
  const [only] = audit({ ...snapshot, services: known([service]) }, { ...options, bill }).services;
  if (only?.measured === undefined || only.monthlyCost === undefined) return undefined;
  const { by, seconds, notes } = bill.measured;
  const { currency, source, date } = bill.tariff.table;
  return { by, seconds, notes, ...only.measured, monthlyCost: only.monthlyCost, prices: { currency, source, date } };
};

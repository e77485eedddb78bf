// Audits all Services of a cluster: each as explain does, what crosses zones altogether, why, and what would be saved.
import { formatVersion } from '../../routing/version.ts';
import { diagnose, unseenOf } from '../explain/explain.ts';
import { indexSnapshot } from '../explain/facts.ts';
import { serviceKeyOfRef, serviceRefOf, sortedServices } from '../models/lookup.ts';
import { routersReport } from '../routers/report.ts';
import type { ClusterSnapshot, CollectionName } from '../snapshot.ts';
import { clusterFindings } from './findings.ts';
import { addTo, plainMatrix } from './matrix.ts';
import { assessed, serviceAudit } from './service.ts';
import type { Assessed } from './service.ts';
import { sortServices } from './sort.ts';
import { auditSum, causeGroups } from './sum.ts';
import { flowsByService, measuredParts } from '../measured/cost.ts';
import type { MeasuredReport } from '../measured/cost.ts';
import type { AuditOptions, AuditReport, ServiceAudit } from './types.ts';

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

/** They add to the evidence of a cause and change none; from a cluster they are not even read. */
const ONLY_EVIDENCE: ReadonlySet<CollectionName> = new Set(['pods', 'events']);

const unseen = (snapshot: ClusterSnapshot): AuditReport['unseen'] => {
  const needed = (['nodes', 'slices'] as const).flatMap((what) => {
    const collection = snapshot[what];
    return collection.kind === 'unknown' ? [{ what, why: collection.why }] : [];
  });
  return [...needed, ...unseenOf(snapshot).filter(({ what }) => !ONLY_EVIDENCE.has(what))];
};

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
    unseen: unseen(snapshot),
  };
};

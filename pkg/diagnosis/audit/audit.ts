// Audits all Services of a cluster: each as explain does, what crosses zones altogether, why, and what would be saved.
import { type Service, zoneOfNode } from '../../apis/core.ts';
import { defined, nameOf, sumBy, sumsBy } from '../../apis/values.ts';
import { formatVersion } from '../../routing/version.ts';
import type { Finding, Severity } from '../check/check.ts';
import { diagnose } from '../explain/explain.ts';
import type { ExplainOptions } from '../explain/facts.ts';
import { type SnapshotIndex, indexSnapshot, racedNodes } from '../explain/snapshot-index.ts';
import { type Cause, LATE_ZONE_VERSIONS, NO_ZONES, counted, listed, remedyOf } from '../explain/reasons.ts';
import { flowsByService, measuredParts } from '../measured.ts';
import { serviceKeyOfRef, sortedServices } from '../models/lookup.ts';
import { type Tariff, weightedSum } from '../prices.ts';
import { routersReport } from '../routers/routers.ts';
import { type ClusterSnapshot, EVIDENCE, known, unseenOf } from '../snapshot.ts';
import { type AuditGroup, type Bill, type ServiceAudit, assessed, plainMatrix, serviceAudit } from './service.ts';
import { auditSum, causeGroups, sortServices } from './sum.ts';

export const AUDIT_REASONS = {
  EndpointWatchers: 'See in the documentation of those named whether they use cluster IPs, or have a mode for zones.',
};

export interface AuditOptions extends ExplainOptions {
  /** Services of this namespace only. Default: of all. */
  readonly namespace?: string;
  /** Default: shares only, no money. */
  readonly bill?: Bill;
  /** Whether commands for the first cause of each Service are tried, a diagnosis each. Default: true. */
  readonly fixes?: boolean;
}

/** Something about the cluster as a whole, which may concern every Service. */
export interface ClusterFinding extends Pick<Cause, 'evidence' | 'remedy'> {
  readonly reason: Cause['reason'] | keyof typeof AUDIT_REASONS;
  /** It is there; `possible`: objects cannot show whether it is. */
  readonly certainty: 'seen' | 'possible';
}

const SEVERITY: Partial<Readonly<Record<AuditGroup, Severity>>> = { Fails: 'error', Costs: 'warning' };

/** One for the first cause of each Service, and one for what is seen of the cluster as a whole; `file`: what was read. */
export const auditFindings = ({ services, findings }: AuditReport, file: string | undefined): Finding[] => {
  const place = file === undefined ? {} : { place: { file, line: 1 } };
  const ofServices = services.flatMap(({ group, namespace, name, cause }): Finding[] => {
    if (cause === null) return [];
    const { reason, evidence: message, remedy } = cause;
    const severity = SEVERITY[group] ?? 'note';
    return [{ severity, reason, kind: 'Service', namespace, name, message, remedy, ...place }];
  });
  const ofCluster = findings.map(({ reason, certainty, evidence: message, remedy }): Finding => {
    const severity = certainty === 'seen' ? 'warning' : 'note';
    return { severity, reason, kind: 'Cluster', namespace: '', name: '', message, remedy, ...place };
  });
  return [...ofServices, ...ofCluster];
};

/** In one line, whatever their number: what is only possible changes no verdict. */
const watchersText = ({ bypasses: { watchers } }: SnapshotIndex): string => {
  const titlesOf = (all: readonly Pick<(typeof watchers.others)[number], 'runner'>[]): string[] => [
    ...new Set(all.map(({ runner: { kind, namespace, name } }) => `${kind} ${namespace}/${name}`)),
  ];
  const may = 'may watch EndpointSlices or Endpoints everywhere';
  const suspects = titlesOf(watchers.receivers.filter(({ suspected }) => suspected));
  const others = titlesOf(watchers.others);
  const near = titlesOf([...watchers.near.values()].flat().filter(({ may: { within } }) => within !== ''));
  return [
    suspects.length > 0 && `${listed(suspects)} ${may} and receives traffic of others.`,
    others.length > 0 && `${counted(others.length, 'other workload')} ${may}: ${listed(others)}.`,
    near.length > 0 && `${counted(near.length, 'workload')} may watch those of a namespace: ${listed(near)}.`,
  ]
    .filter(Boolean)
    .join(' ');
};

type Known = readonly [ClusterFinding['reason'], ClusterFinding['certainty'], evidence: string, remedy: string];

const when = (isThere: boolean, ...[reason, certainty, evidence, remedy]: Known): ClusterFinding[] =>
  isThere ? [{ reason, certainty, evidence, remedy }] : [];

const clusterFindings = (index: SnapshotIndex) => {
  const zoneless = index.readyNodes.filter((node) => zoneOfNode(node) === '');
  const raced = racedNodes(index);
  const watching = watchersText(index);
  const without = `${zoneless.length} of ${counted(index.readyNodes.length, 'ready Node')} without zone label: ${listed(zoneless.map(nameOf))}. Their clients ignore the hints of every Service and ${index.weights === undefined ? 'never stay in a zone' : 'do not count in the shares here'}${index.shares.kind === 'unknown' ? '; and no Service gets proportional hints' : ''}.`;
  const label = zoneless.length === index.readyNodes.length ? NO_ZONES : remedyOf('ClientNodeWithoutZone');
  const late = `${counted(raced.length, 'Node')} run kube-proxy ${LATE_ZONE_VERSIONS}. One that started before its Node had the zone label may ignore all hints, and no object shows it: compare with measured traffic.`;
  return [
    // Slices may be hinted in full: clients on a Node without zone spread over all endpoints all the same.
    ...when(zoneless.length > 0, 'ClientNodeWithoutZone', 'seen', without, label),
    // Nothing in the API shows it: the proxy read its Node before the label was set.
    ...when(raced.length > 0, 'ProxyMissedItsZone', 'possible', late, remedyOf('ProxyMissedItsZone')),
    ...when(watching !== '', 'EndpointWatchers', 'possible', watching, AUDIT_REASONS.EndpointWatchers),
  ];
};

/** What routing by zone saves already, by what asks for it. */
const savedBy = (services: readonly ServiceAudit[]): Readonly<Record<string, number>> => {
  const saved = ({ monthlyCost }: ServiceAudit): number => monthlyCost?.saved ?? 0;
  const saving = services.filter((own) => saved(own) > 0);
  return Object.fromEntries(sumsBy(saving, ({ wanted }) => wanted.source, saved));
};

const measuredOf = (bill: Bill | undefined, services: readonly ServiceAudit[]) => {
  if (bill?.measured === undefined) return undefined;
  const { flows: _, ...about } = bill.measured;
  const parts = measuredParts(bill.tariff, bill.measured, new Set(services.map(serviceKeyOfRef)));
  return { ...about, ...parts, savedBy: savedBy(services) };
};

/** `Assumed`: the volume was given as a flag, and divided among Services by their ready endpoints. */
const pricesOf = (bill: Bill | undefined, measured: ReturnType<typeof measuredOf>) => {
  if (bill === undefined) return undefined;
  const { currency, source, date } = bill.tariff.table;
  const gigabytesPerDay = measured?.services.gigabytesPerDay ?? bill.gigabytesPerDay ?? 0;
  const basis: 'Assumed' | 'Measured' = measured === undefined ? 'Assumed' : 'Measured';
  return { currency, source, date, gigabytesPerDay, basis };
};

/** Pods and events add to the evidence of a cause and change none; from a cluster they are not even read. */
const JUDGED_BY = (['nodes', 'slices', ...EVIDENCE] as const).filter((what) => what !== 'pods' && what !== 'events');

/** Services come worst first: what fails, then what crosses most of all connections, or costs most where prices are given. */
export const audit = (snapshot: ClusterSnapshot, options: AuditOptions) => {
  const { namespace, bill, fixes = true } = options;
  const index = indexSnapshot(snapshot, options);
  const chosen = sortedServices(snapshot, namespace);
  const measuring = { ...options, ...defined({ measured: bill?.measured ?? options.measured }) };
  const all = chosen.map((service) => assessed(diagnose(snapshot, service, measuring, index), fixes));
  const total = sumBy(all, ({ weight }) => weight);
  const matrices = all.flatMap(({ prediction, weight }) =>
    prediction && weight > 0 ? [[prediction.now, weight / total] as const] : [],
  );
  const flows = bill?.measured === undefined ? undefined : flowsByService(bill.measured);
  const services = all.map((each) => serviceAudit(each, total, bill, flows?.get(serviceKeyOfRef(each.draft)) ?? []));
  const measured = measuredOf(bill, services);
  return {
    kubernetesVersion: formatVersion(options.version ?? index.version),
    ...routersReport(index.readyNodes, index.routers),
    namespace: namespace ?? null,
    services: sortServices(services, 'worst'),
    sum: auditSum(services, index.readyNodes.length, index.weights === undefined ? 'nodes' : 'cpu'),
    causes: causeGroups(services),
    /** Fractions of all connections by client zone, then endpoint zone; the empty name is for no zone. */
    matrix: plainMatrix(weightedSum(matrices)),
    findings: clusterFindings(index),
    ...defined({ prices: pricesOf(bill, measured), measured }),
    unseen: unseenOf(snapshot, JUDGED_BY),
  };
};

export type AuditReport = ReturnType<typeof audit>;

/** What was measured of one Service, for its explanation. */
export const explainTraffic = (all: ClusterSnapshot, service: Service, options: ExplainOptions, tariff: Tariff) => {
  const { measured } = options;
  if (measured === undefined) return undefined;
  const asked = { ...options, bill: { tariff, measured }, fixes: false };
  const [only] = audit({ ...all, services: known([service]) }, asked).services;
  if (only?.measured === undefined || only.monthlyCost === undefined) return undefined;
  const { by, seconds, notes } = measured;
  const { currency, source, date } = tariff.table;
  const [prices, predicted] = [{ currency, source, date }, only.crossZoneShare];
  return { by, seconds, notes, predicted, ...only.measured, monthlyCost: only.monthlyCost, prices };
};

export type ExplainedTraffic = NonNullable<ReturnType<typeof explainTraffic>>;

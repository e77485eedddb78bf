// Judges the cluster and installations of the chart: what runs, who leads, whether admission acts, and what went wrong last.
// The registration of a webhook: entries, who answers, and how long its certificates are valid.
import { type Node, isEndpointReady, isNodeReady, zoneOfNode } from '../../apis/core.ts';
import { EXTENSION_NAME, GROUP, LABEL_SERVICE_NAME } from '../../apis/names.ts';
import { byText } from '../../apis/values.ts';
import { markOf } from '../../evacuation/decide.ts';
import { mechanismOf } from '../../routing/plan.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { InvalidVersionError, formatVersion, parseVersion } from '../../routing/version.ts';
import { routersOf } from '../routers/of-snapshot.ts';
import { routersReport } from '../routers/types.ts';
import { type ClusterSnapshot, itemsOf } from '../snapshot.ts';
import type { CertificateFacts, RegistrationEntry, StatusEvidence } from './evidence.ts';
import { flowStatus, servicesStatus, statusFindings } from './findings.ts';
import { installationStatuses } from './leases.ts';
import { LABEL_NAME } from './collect.ts';
import { type CertificateStatus, type ClusterStatus, NOTES, type StatusReport, type WebhookStatus } from './types.ts';

const DAY_MS = 86_400_000;

const certificateStatus = ({ notAfter, fingerprint }: CertificateFacts, now: number): CertificateStatus => ({
  notAfter: new Date(notAfter).toISOString(),
  daysLeft: Math.floor((notAfter - now) / DAY_MS),
  fingerprint,
});

/** Addresses may be listed in a slice each; a Pod counts once. */
const readyEndpoints = ({ slices }: ClusterSnapshot, service: NonNullable<WebhookStatus['service']>): number | null => {
  if (slices.kind === 'unknown') return null;
  const addresses = slices.items
    .filter(
      ({ metadata }) =>
        metadata?.namespace === service.namespace && metadata.labels?.[LABEL_SERVICE_NAME] === service.name,
    )
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(isEndpointReady)
    .map(({ addresses: own, targetRef }) => targetRef?.name ?? own.join());
  return new Set(addresses).size;
};

/** Of all entries the authority that ends first; null where one entry has none. */
const authorityOf = (entries: readonly RegistrationEntry[], evidence: StatusEvidence): CertificateStatus | null => {
  const found = entries.map(({ caBundle = '' }) => evidence.authorities.get(caBundle));
  const ends = found.flatMap((authority) => authority ?? []).sort((a, b) => a.notAfter - b.notAfter);
  const [first] = ends;
  return first === undefined || ends.length < found.length ? null : certificateStatus(first, evidence.now);
};

const servingOf = (service: WebhookStatus['service'], evidence: StatusEvidence): WebhookStatus['serving'] => {
  if (service === null) return { why: 'the webhook is registered by URL' };
  const seen = evidence.serving.find(({ namespace }) => namespace === service.namespace);
  if (seen?.certificate === undefined) return { why: seen?.why ?? 'it was not looked for' };
  return { ...certificateStatus(seen.certificate, evidence.now), from: seen.from };
};

/** Entries of one configuration that are answered by the same Service. */
const webhookStatus = (entries: readonly RegistrationEntry[], evidence: StatusEvidence): WebhookStatus => {
  const [first] = entries;
  const service = first?.service ?? null;
  return {
    configuration: first?.configuration ?? '',
    entries: entries.map(({ name, failurePolicy, timeoutSeconds }) => ({ name, failurePolicy, timeoutSeconds })),
    service,
    readyEndpoints: service === null ? null : readyEndpoints(evidence.snapshot, service),
    authority: authorityOf(entries, evidence),
    serving: servingOf(service, evidence),
  };
};

/** One for each configuration and Service. */
const webhookStatuses = (evidence: StatusEvidence): WebhookStatus[] => {
  const groups = Map.groupBy(evidence.registrations, ({ configuration, service }) =>
    [configuration, service?.namespace, service?.name].join('\n'),
  );
  return [...groups.values()].map((entries) => webhookStatus(entries, evidence));
};

/** Services that answer as webhooks. */
export const servicesBehind = (
  registrations: readonly RegistrationEntry[],
): NonNullable<WebhookStatus['service']>[] => [
  ...new Map(
    registrations.flatMap(({ service }) =>
      service === undefined ? [] : [[`${service.namespace}/${service.name}`, service] as const],
    ),
  ).values(),
];

const UNKNOWN = 'unknown';

/** `1.33`, or `unknown`. */
const minorOf = (version: string | undefined): string => {
  try {
    return formatVersion(parseVersion(version));
  } catch (error) {
    if (error instanceof InvalidVersionError) return UNKNOWN;
    throw error;
  }
};

/** How many Nodes have each value, in order of the values. */
const countsOf = (nodes: readonly Node[], valueOf: (node: Node) => string): Record<string, number> => {
  const groups = Map.groupBy(nodes, valueOf);
  return Object.fromEntries(
    [...groups].map(([value, own]) => [value, own.length] as const).sort(([a], [b]) => byText(a, b)),
  );
};

const nodesOf = ({ nodes }: ClusterSnapshot): ClusterStatus['nodes'] => {
  if (nodes.kind === 'unknown') return null;
  const ready = nodes.items.filter(isNodeReady);
  return {
    count: nodes.items.length,
    ready: ready.length,
    zones: countsOf(ready, zoneOfNode),
    versions: countsOf(nodes.items, ({ status }) => minorOf(status?.nodeInfo?.kubeletVersion)),
  };
};

/** The API server's version, else the newest of the Nodes. */
const versionOf = ({ version }: ClusterSnapshot, nodes: ClusterStatus['nodes']): KubernetesVersion | undefined => {
  if (version !== undefined) return version;
  const known = Object.keys(nodes?.versions ?? {}).filter((each) => each !== UNKNOWN);
  const newest = known.map(parseVersion).sort((a, b) => b.major - a.major || b.minor - a.minor)[0];
  return newest;
};

const clusterStatus = (snapshot: ClusterSnapshot, serverVersion: string | undefined): ClusterStatus => {
  const nodes = nodesOf(snapshot);
  const version = versionOf(snapshot, nodes);
  return {
    version: serverVersion ?? (version === undefined ? UNKNOWN : formatVersion(version)),
    mechanism: version === undefined ? UNKNOWN : mechanismOf(version),
    nodes,
  };
};

/** Selects everything that the chart renders. */
export const CHART_SELECTOR = `${LABEL_NAME}=${EXTENSION_NAME}`;
/** apiVersion of what a status prints and of what a bundle keeps. */
const STATUS_API_VERSION = `status.${GROUP}/v1alpha1`;

interface StatusOptions {
  /** Most events that are reported, the newest first. */
  readonly events: number;
}

const extensionsOf = ({ extensions, unseen }: StatusEvidence): StatusReport['extensions'] => {
  if (unseen.some(({ what }) => what === 'extensions')) return null;
  const failing = extensions.filter(({ lastError, conditions }) => lastError !== '' || conditions.length > 0);
  return { count: extensions.length, failing };
};

const evacuationsOf = ({ snapshot, now }: StatusEvidence): StatusReport['evacuations'] => {
  if (snapshot.evacuations.kind === 'unknown' || snapshot.slices.kind === 'unknown') return null;
  const running = itemsOf(snapshot.evacuations).filter(({ until = 0 }) => until > now);
  const left = new Set(running.map(({ zone }) => zone));
  const zones = itemsOf(snapshot.slices).flatMap((slice) => [...(markOf(slice)?.out.keys() ?? [])]);
  const overdue = [...Map.groupBy(zones, (zone) => zone)].filter(([zone]) => !left.has(zone));
  return {
    running,
    overdue: overdue.map(([zone, own]) => ({ zone, slices: own.length })).sort((a, b) => byText(a.zone, b.zone)),
  };
};

export const status = (evidence: StatusEvidence, { events }: StatusOptions): StatusReport => {
  const { snapshot, namespace, serverVersion, probes } = evidence;
  const cluster = clusterStatus(snapshot, serverVersion);
  const webhooks = webhookStatuses(evidence);
  const installations = installationStatuses(evidence, webhooks);
  const found = new Set(installations.map((installation) => installation.namespace));
  // Where one namespace was looked at, others may have installations as well.
  const strays = namespace === undefined ? webhooks.filter(({ service }) => !found.has(service?.namespace ?? '')) : [];
  const admission = { strays, probes };
  const services = servicesStatus(evidence);
  const findings = statusFindings({ cluster, installations, admission, services }, evidence);
  const bad = findings.some(({ reason }) => !NOTES.has(reason));
  return {
    apiVersion: STATUS_API_VERSION,
    kind: 'TopologyStatus',
    time: new Date(evidence.now).toISOString(),
    verdict: installations.length === 0 ? 'NotInstalled' : bad ? 'Degraded' : 'Healthy',
    lookedFor: { labelSelector: CHART_SELECTOR, namespace: namespace ?? null },
    cluster,
    ...routersReport(itemsOf(snapshot.nodes).filter(isNodeReady), routersOf(snapshot)),
    installations,
    admission,
    services,
    flowPolicies: flowStatus(snapshot),
    extensions: extensionsOf(evidence),
    evacuations: evacuationsOf(evidence),
    events: evidence.events.toSorted((a, b) => byText(b.lastSeen, a.lastSeen)).slice(0, events),
    findings,
    unseen: evidence.unseen,
  };
};

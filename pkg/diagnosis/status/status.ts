// Judges the cluster and installations of the chart: what runs, who leads, whether admission acts, and what Services get of it.
import { type Service, isNodeReady, zoneOfNode } from '../../apis/core.ts';
import { ANNOTATION_APPLIED, ANNOTATION_TOPOLOGY_MODE, GROUP } from '../../apis/names.ts';
import { LABEL_CONSIDER, LABEL_MANAGED, LABEL_NAMESPACE_NAME, LABEL_STRATEGY } from '../../apis/names.ts';
import { byText, countBy, nameOf, refOf } from '../../apis/values.ts';
import { audit } from '../audit/audit.ts';
import { markedSlices } from '../../evacuation/decide.ts';
import { mechanismOf } from '../../routing/plan.ts';
import { type KubernetesVersion, matchesSelector } from '../../routing/types.ts';
import { compareVersions, formatVersion } from '../../routing/version.ts';
import { kubeletVersion } from '../routers/nodes.ts';
import { routersOf, routersReport } from '../routers/routers.ts';
import { type ClusterSnapshot, itemsOf, known } from '../snapshot.ts';
import { CHART_SELECTOR, type StatusEvidence, registrationsOf } from './evidence.ts';
import { NOTES, statusFindings, when } from './findings.ts';
import { installationStatuses, webhookStatuses } from './installations.ts';

const UNKNOWN = 'unknown';

const minorOf = (version: KubernetesVersion | undefined): string => (version ? formatVersion(version) : UNKNOWN);

const nodesOf = ({ nodes }: ClusterSnapshot) => {
  if (nodes.kind === 'unknown') return null;
  const ready = nodes.items.filter(isNodeReady);
  return {
    count: nodes.items.length,
    ready: ready.length,
    zones: Object.fromEntries(countBy(ready, zoneOfNode)),
    /** Nodes by minor version of the kubelet, which stands in for the kube-proxy's. */
    versions: Object.fromEntries(countBy(nodes.items, (node) => minorOf(kubeletVersion(node)))),
  };
};

const clusterStatus = ({ snapshot, serverVersion }: StatusEvidence) => {
  const kubelets = itemsOf(snapshot.nodes).flatMap((node) => kubeletVersion(node) ?? []);
  const version = snapshot.version ?? kubelets.sort(compareVersions).at(-1);
  return {
    /** gitVersion of the API server, else the newest minor of the Nodes. */
    version: serverVersion ?? minorOf(version),
    /** How Services are routed by zone on that version. */
    mechanism: version === undefined ? UNKNOWN : mechanismOf(version),
    /** Null where Nodes could not be seen. */
    nodes: nodesOf(snapshot),
  };
};

/** It carries one of our labels or annotations, and is not left out by one. */
const isManaged = ({ metadata }: Service): boolean => {
  const { labels = {}, annotations = {} } = metadata ?? {};
  if (labels[LABEL_MANAGED] === 'false') return false;
  return (
    labels[LABEL_MANAGED] === 'true' ||
    labels[LABEL_STRATEGY] !== undefined ||
    labels[LABEL_CONSIDER] === 'true' ||
    annotations[ANNOTATION_APPLIED] !== undefined ||
    (annotations[ANNOTATION_TOPOLOGY_MODE] ?? '').startsWith(`${GROUP}/`)
  );
};

const servicesStatus = ({ snapshot, now }: StatusEvidence) => {
  if (snapshot.services.kind === 'unknown' || snapshot.slices.kind === 'unknown') return null;
  const own = { ...snapshot, services: known(itemsOf(snapshot.services).filter(isManaged)) };
  const { sum, causes } = audit(own, { now, fixes: false });
  return {
    count: sum.services,
    effective: sum.verdicts.Effective,
    /** Effective if the router of every Node is what it is taken to be. */
    assumed: sum.verdicts.Assumed,
    /** Nothing is wrong, and who routes on some Node is not known. */
    unknown: sum.verdicts.Unknown,
    ineffective: sum.verdicts.Ineffective,
    notWanted: sum.verdicts.NotWanted,
    /** First causes, most Services first. */
    causes: causes
      .map(({ reason, services }) => ({ reason, services }))
      .sort((a, b) => b.services - a.services || byText(a.reason, b.reason)),
  };
};

/** The first namespace that the webhook serves, rather one with managed Services; empty where none is known, undefined where no webhook is registered. */
export const probedNamespace = (options: Pick<StatusEvidence, 'snapshot' | 'namespaces'>): string | undefined => {
  const { snapshot, namespaces } = options;
  const webhooks = registrationsOf(snapshot).filter(({ slices }) => slices);
  if (webhooks.length === 0) return undefined;
  const services = itemsOf(snapshot.services);
  const labelsOf = new Map([
    ...services.map((service) => [refOf(service).namespace, {}] as const),
    ...namespaces.map((namespace) => [nameOf(namespace), namespace.metadata?.labels ?? {}] as const),
  ]);
  const own = new Set(services.filter(isManaged).map((service) => refOf(service).namespace));
  const served = [...labelsOf].filter(([name, labels]) => {
    const marked = { ...labels, [LABEL_NAMESPACE_NAME]: name };
    return webhooks.some(({ namespaceSelector }) => matchesSelector(namespaceSelector, marked));
  });
  const [first] = served.sort(([a], [b]) => Number(own.has(b)) - Number(own.has(a)) || byText(a, b));
  return first?.[0] ?? '';
};

/** That run, and zones that slices show as left although no evacuation of them runs; null where they could not be seen. */
const evacuationsOf = ({ snapshot, now }: StatusEvidence) => {
  if (snapshot.evacuations.kind === 'unknown' || snapshot.slices.kind === 'unknown') return null;
  const running = itemsOf(snapshot.evacuations).filter(({ until = 0 }) => until > now);
  const left = new Set(running.map(({ zone }) => zone));
  const overdue = [...markedSlices(itemsOf(snapshot.slices))].filter(([zone]) => !left.has(zone));
  return { running, overdue: overdue.map(([zone, slices]) => ({ zone, slices })) };
};

export const status = (evidence: StatusEvidence) => {
  const { snapshot, namespace, probes } = evidence;
  const webhooks = webhookStatuses(evidence);
  const installations = installationStatuses(evidence, webhooks);
  const found = new Set(installations.map((installation) => installation.namespace));
  // Where one namespace was looked at, others may have installations as well.
  const strays = namespace === undefined ? webhooks.filter(({ service }) => !found.has(service?.namespace ?? '')) : [];
  const services = servicesStatus(evidence);
  const { ineffective = 0, count = 0, causes = [] } = services ?? {};
  const list = causes.map(({ reason, services: own }) => `${reason} ${own}`);
  const findings = [
    ...statusFindings(installations, strays, evidence),
    ...when(ineffective > 0, 'ServicesIneffective', `${ineffective} of ${count}: ${list.join(', ')}.`),
  ];
  const bad = findings.some(({ reason }) => !NOTES.has(reason));
  return {
    apiVersion: `status.${GROUP}/v1alpha1`,
    kind: 'TopologyStatus',
    /** RFC 3339: when everything was looked at. */
    time: new Date(evidence.now).toISOString(),
    verdict: installations.length === 0 ? 'NotInstalled' : bad ? 'Degraded' : 'Healthy',
    lookedFor: { labelSelector: CHART_SELECTOR, namespace: namespace ?? null },
    cluster: clusterStatus(evidence),
    ...routersReport(itemsOf(snapshot.nodes).filter(isNodeReady), routersOf(snapshot)),
    installations,
    admission: { strays, probes },
    services,
    evacuations: evacuationsOf(evidence),
    findings,
    unseen: evidence.unseen,
  } as const;
};

export type StatusReport = ReturnType<typeof status>;

// What is wrong with an installation, the gravest first.
// The Services that ask for routing through us, judged as an audit judges them, and the FlowPolicies.
import type { Service } from '../../apis/core.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_ORIGIN,
  ANNOTATION_TOPOLOGY_MODE,
  COMMANDS,
  GROUP,
  LABEL_CONSIDER,
  LABEL_MANAGED,
  LABEL_NAMESPACE_NAME,
  LABEL_ROUTING,
  LABEL_STRATEGY,
} from '../../apis/names.ts';
import { byText } from '../../apis/values.ts';
import { proxyNeedsAnnotation } from '../../routing/version.ts';
import { audit } from '../audit/audit.ts';
import { selects } from '../explain/given.ts';
import { serviceRefOf } from '../models/lookup.ts';
import { type ClusterSnapshot, itemsOf, known } from '../snapshot.ts';
import type { DeployedComponent, KeepingFacts, StatusEvidence, StatusObjects } from './evidence.ts';
import { DEAD_MANS_SWITCH_SECONDS } from './leases.ts';
import {
  type AdmissionStatus,
  type ClusterStatus,
  type ComponentStatus,
  type FlowStatus,
  type InstallationStatus,
  STATUS_REASONS,
  type ServicesStatus,
  type StatusFinding,
  type StatusReason,
  type WebhookStatus,
} from './types.ts';

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

export const servicesStatus = (evidence: StatusEvidence): ServicesStatus | null => {
  const { snapshot, namespaces, unseen, now } = evidence;
  if (snapshot.services.kind === 'unknown' || snapshot.slices.kind === 'unknown') return null;
  const own: ClusterSnapshot = { ...snapshot, services: known(itemsOf(snapshot.services).filter(isManaged)) };
  const { sum, causes } = audit(own, { now });
  return {
    count: sum.services,
    effective: sum.verdicts.Effective,
    assumed: sum.verdicts.Assumed,
    unknown: sum.verdicts.Unknown,
    ineffective: sum.verdicts.Ineffective,
    notWanted: sum.verdicts.NotWanted,
    causes: causes
      .map(({ reason, services }) => ({ reason, services }))
      .sort((a, b) => b.services - a.services || byText(a.reason, b.reason)),
    keptNamespaces: unseen.some(({ what }) => what === 'namespaces')
      ? null
      : namespaces.filter(({ labels }) => labels[LABEL_ROUTING] !== undefined).length,
  };
};

const holdsSettings = (service: Service): boolean =>
  isManaged(service) && service.metadata?.annotations?.[ANNOTATION_APPLIED] !== undefined;

const hasOrigin = ({ metadata }: Service): boolean => metadata?.annotations?.[ANNOTATION_ORIGIN] !== undefined;

/** What is wrong with the label of a namespace with managed Services; undefined: nothing, as far as objects show. */
const labelProblem = (
  label: string | undefined,
  services: readonly Service[],
  keeping: readonly KeepingFacts[],
): string | undefined => {
  const values = [...new Set(keeping.map((one) => one.label))].sort(byText).join(' or ');
  if (label !== undefined) {
    return keeping.some((one) => one.label === label)
      ? undefined
      : `has the label ${LABEL_ROUTING}=${label}, which no installation here uses (${values})`;
  }
  const expected = keeping.every(({ keep }) => keep === 'on' || (keep === 'auto' && services.some(hasOrigin)));
  return expected ? `lacks the label ${LABEL_ROUTING}=${values}` : undefined;
};

/** Sentences about namespaces with settings that admission does not keep, for want of the label by which it is to. */
const unkeptNamespaces = ({ snapshot, namespaces, configs, namespace, unseen }: StatusEvidence): string[] => {
  const keeping = configs.flatMap((config) => config.keeping ?? []);
  // Where one namespace was looked at, another installation may be the one that keeps.
  if (keeping.length === 0 || namespace !== undefined || unseen.some(({ what }) => what === 'namespaces')) return [];
  const own = Map.groupBy(
    itemsOf(snapshot.services).filter(holdsSettings),
    (service) => serviceRefOf(service).namespace,
  );
  return namespaces.flatMap(({ name, labels }) => {
    const services = own.get(name) ?? [];
    const problem = services.length === 0 ? undefined : labelProblem(labels[LABEL_ROUTING], services, keeping);
    return problem === undefined
      ? []
      : [`Namespace ${name}, ${services.length} of its Services managed here, ${problem}.`];
  });
};

export const flowStatus = ({ flowPolicies }: ClusterSnapshot): FlowStatus | null => {
  if (flowPolicies.kind === 'unknown') return null;
  const groups = Map.groupBy(
    flowPolicies.items.flatMap(({ loop }) => loop?.conditions ?? []),
    ({ type, status, reason }) => [type, status, reason].join('\n'),
  );
  const conditions = [...groups.values()].flatMap((own) => {
    const [first] = own;
    return first === undefined
      ? []
      : [{ type: first.type, status: first.status, reason: first.reason, count: own.length }];
  });
  return {
    count: flowPolicies.items.length,
    conditions: conditions.sort((a, b) => byText(a.type, b.type) || b.count - a.count || byText(a.reason, b.reason)),
  };
};

/** Days before the end. The webhook renews when ten of thirty are left, so this is no longer a matter of course. */
export const WARN_DAYS = 7;

const finding = (reason: StatusReason, message: string): StatusFinding => ({
  reason,
  message,
  remedy: STATUS_REASONS[reason].remedy,
});

const componentFindings = (
  { name, component, replicas }: ComponentStatus,
  { namespace }: InstallationStatus,
  evidence: StatusEvidence,
): StatusFinding[] => {
  const { desired, ready, updated } = replicas;
  const title = `Deployment ${namespace}/${name}`;
  const own = ({ namespace: other, name: another }: DeployedComponent): boolean =>
    other === namespace && another === name;
  const problems = evidence.deployments.find(own)?.problems ?? [];
  const waiting = evidence.pods.filter(
    (pod) => pod.namespace === namespace && pod.component === component && pod.waiting !== '',
  );
  const few = ready < desired || updated < desired;
  return [
    ...(desired === 0 ? [finding('ScaledToZero', `${title}: zero replicas are desired.`)] : []),
    ...(few
      ? [
          finding(
            'ReplicasNotReady',
            `${title}: ${ready} of ${desired} ready, ${updated} updated${problems.map((text) => `; ${text}`).join('')}.`,
          ),
        ]
      : []),
    ...waiting.map((pod) => {
      const { lastTermination: last } = pod;
      const ended = last === undefined ? '' : `, ended last with ${last.reason} (exit code ${last.exitCode})`;
      return finding('ContainerNotRunning', `Pod ${namespace}/${pod.name}: ${pod.waiting}${ended}.`);
    }),
  ];
};

/** Components that work through one leader; every replica of the webhook serves. */
const LED: ReadonlySet<string> = new Set([COMMANDS.settingsReconciler, COMMANDS.flowController]);

/** A component that is there and should run, and works through a leader. */
const leaderFindings = (installation: InstallationStatus, unseenLeases: boolean): StatusFinding[] =>
  installation.components.flatMap(({ component, replicas }) => {
    if (!LED.has(component) || replicas.desired === 0 || unseenLeases) return [];
    const lease = installation.leases.find((each) => each.purpose === 'leader' && each.component === component);
    if (lease === undefined) {
      return [finding('NoLeader', `${component} in namespace ${installation.namespace}: no Lease names a leader.`)];
    }
    const title = `Lease ${lease.namespace}/${lease.name}`;
    if (lease.state === 'Released') return [finding('NoLeader', `${title} has no holder.`)];
    if (lease.state === 'Held') return [];
    const age = lease.ageSeconds ?? 0;
    const stale = finding('LeaseStale', `${title}: ${lease.holder} last renewed it ${age} seconds ago.`);
    return component === COMMANDS.flowController && age >= DEAD_MANS_SWITCH_SECONDS
      ? [
          stale,
          finding(
            'HintsNotCarried',
            `${title} was renewed ${age} seconds ago; after ${DEAD_MANS_SWITCH_SECONDS} seconds plans are dropped.`,
          ),
        ]
      : [stale];
  });

/** A heartbeat by which gardenlet judges the extension; Leases of others are theirs. */
const heartbeatFindings = ({ namespace, leases }: InstallationStatus): StatusFinding[] =>
  leases
    .filter(({ purpose, state }) => purpose === 'heartbeat' && state === 'Stale')
    .map(({ name, ageSeconds }) =>
      finding('LeaseStale', `Lease ${namespace}/${name}: the last heartbeat is ${ageSeconds} seconds old.`),
    );

const daysText = (days: number): string =>
  days < 0 ? 'has expired' : days === 0 ? 'expires within a day' : `expires in ${days} day${days === 1 ? '' : 's'}`;

const webhookFindings = (webhook: WebhookStatus): StatusFinding[] => {
  const { configuration, authority, serving, readyEndpoints, service } = webhook;
  const title = `MutatingWebhookConfiguration ${configuration}`;
  const found: StatusFinding[] = [];
  if (readyEndpoints === 0 && service !== null) {
    found.push(
      finding('NoReadyWebhook', `Service ${service.namespace}/${service.name} behind ${title} has no ready endpoint.`),
    );
  }
  if (authority === null) {
    found.push(finding('AuthorityMissing', `${title}: an entry has no certificate in its caBundle.`));
  } else if (authority.daysLeft < WARN_DAYS) {
    found.push(
      finding(
        'AuthorityExpiring',
        `The authority in ${title} ${daysText(authority.daysLeft)} (${authority.notAfter}).`,
      ),
    );
  }
  if ('notAfter' in serving && serving.daysLeft < WARN_DAYS) {
    found.push(
      finding(
        'CertificateExpiring',
        `The serving certificate behind ${title} ${daysText(serving.daysLeft)} (${serving.notAfter}).`,
      ),
    );
  }
  return found;
};

const admissionFindings = (
  installations: readonly InstallationStatus[],
  { probes }: AdmissionStatus,
  evidence: StatusEvidence,
): StatusFinding[] => {
  const cannotSee = evidence.unseen.some(({ what }) => what === 'webhooks');
  const installed = installations.filter(({ components }) =>
    components.some(({ component, replicas }) => component === COMMANDS.endpointSliceWebhook && replicas.desired > 0),
  );
  const registered = evidence.registrations.some(({ slices }) => slices);
  const missing = installed.length > 0 && !registered && !cannotSee;
  return [
    ...(missing
      ? [finding('AdmissionMissing', 'No MutatingWebhookConfiguration of this extension serves EndpointSlices.')]
      : []),
    ...probes.flatMap(({ namespace, outcome, message }) => {
      const where = `Slice in namespace ${namespace}`;
      if (outcome === 'NotHinted')
        return [finding('AdmissionNotActing', `${where}: the dry run came back without hints.`)];
      return outcome === 'Refused' ? [finding('AdmissionRefuses', `${where}: ${message}`)] : [];
    }),
  ];
};

const versionFindings = ({ namespace, release, components }: InstallationStatus): StatusFinding[] => {
  const versions = new Set(components.map(({ version, image }) => version || image));
  if (versions.size < 2) return [];
  const text = components.map(({ component, version, image }) => `${component} ${version || image}`).join(', ');
  return [finding('VersionsDiffer', `Release ${namespace}/${release}: ${text}.`)];
};

const clusterFindings = ({ mechanism, nodes }: ClusterStatus): StatusFinding[] => {
  const byField = mechanism.startsWith('Prefer');
  const old = Object.entries(nodes?.versions ?? {}).filter(
    ([version]) => version !== 'unknown' && proxyNeedsAnnotation(version),
  );
  if (!byField || old.length === 0) return [];
  return [
    finding('OldProxies', `${old.map(([version, count]) => `${count} of ${version}`).join(', ')} among the Nodes.`),
  ];
};

const serviceFindings = (services: ServicesStatus | null): StatusFinding[] => {
  if (services === null || services.ineffective === 0) return [];
  const causes = services.causes.map(({ reason, services: count }) => `${reason} ${count}`).join(', ');
  return [finding('ServicesIneffective', `${services.ineffective} of ${services.count}: ${causes}.`)];
};

interface Judged {
  readonly cluster: ClusterStatus;
  readonly installations: readonly InstallationStatus[];
  readonly admission: AdmissionStatus;
  readonly services: ServicesStatus | null;
}

export const statusFindings = (
  { cluster, installations, admission, services }: Judged,
  evidence: StatusEvidence,
): StatusFinding[] => {
  const unseenLeases = evidence.unseen.some(({ what }) => what === 'leases');
  const webhooks = installations.flatMap((installation) => installation.webhooks);
  return [
    ...admissionFindings(installations, admission, evidence),
    ...installations.flatMap((installation) => [
      ...installation.components.flatMap((component) => componentFindings(component, installation, evidence)),
      ...leaderFindings(installation, unseenLeases),
      ...heartbeatFindings(installation),
      ...versionFindings(installation),
    ]),
    ...[...webhooks, ...admission.strays].flatMap(webhookFindings),
    ...admission.strays.map(({ configuration, service }) =>
      finding(
        'RegistrationWithoutInstallation',
        `MutatingWebhookConfiguration ${configuration}: ${service === null ? 'a URL' : `Service ${service.namespace}/${service.name}`}.`,
      ),
    ),
    ...evidence.extensions
      .filter(({ lastError }) => lastError !== '')
      .map(({ namespace, name, lastError }) =>
        finding('ExtensionFailing', `Extension ${namespace}/${name}: ${lastError}`),
      ),
    ...unkeptNamespaces(evidence).map((message) => finding('NamespaceNotKept', message)),
    ...serviceFindings(services),
    ...clusterFindings(cluster),
  ];
};

/** Known namespaces with their labels; those with managed Services first, then by name. */
const candidates = ({ namespaces, snapshot }: StatusObjects): { name: string; labels: Record<string, string> }[] => {
  const labelsOf = new Map(namespaces.map(({ name, labels }) => [name, labels]));
  const own = new Set<string>();
  for (const service of itemsOf(snapshot.services)) {
    const { namespace } = serviceRefOf(service);
    if (!labelsOf.has(namespace)) labelsOf.set(namespace, {});
    if (isManaged(service)) own.add(namespace);
  }
  return [...labelsOf]
    .map(([name, labels]) => ({ name, labels: { ...labels, [LABEL_NAMESPACE_NAME]: name } }))
    .sort((a, b) => Number(own.has(b.name)) - Number(own.has(a.name)) || byText(a.name, b.name));
};

/** The first namespace that the webhook serves, empty where none is known; undefined where no webhook is registered. */
export const probedNamespace = (objects: StatusObjects): string | undefined => {
  const webhooks = objects.registrations.filter(({ slices }) => slices);
  if (webhooks.length === 0) return undefined;
  const isServed = ({ labels }: { labels: Record<string, string> }): boolean =>
    webhooks.some(({ namespaceSelector }) => selects(namespaceSelector, labels));
  return candidates(objects).find(isServed)?.name ?? '';
};

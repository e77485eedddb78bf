// Whether the holder of a Lease is alive, by the age of its last renewal.
// Installations of the chart: which components each has, how they run, and who leads.
import { COMMANDS, HEARTBEAT_LEASE } from '../../apis/names.ts';
import { byText, nameOf } from '../../apis/values.ts';
import { zoneOfNode } from '../../apis/core.ts';
import { itemsOf } from '../snapshot.ts';
import type { ComponentPod, ConfigFacts, DeployedComponent, LeaseFacts, LeaseUse, StatusEvidence } from './evidence.ts';
import type { ComponentStatus, InstallationStatus, LeaseStatus, WebhookStatus } from './types.ts';

/** Renewals may be late by as much as a busy API server takes, and clocks differ. */
const GRACE_SECONDS = 15;
/** Heartbeats are renewed only as often as the Lease lasts: one may be missed. */
const HEARTBEAT_FACTOR = 2;
/** As long as admission carries plans of the flow-controller over after the last renewal. */
export const DEAD_MANS_SWITCH_SECONDS = 600;

const SECOND_MS = 1_000;

/** Where the configuration cannot be read: the Lease through which the component has one leader, by default. */
const DEFAULT_LEASES: Readonly<Record<string, string>> = {
  [COMMANDS.settingsReconciler]: `${COMMANDS.settingsReconciler}-leader-election`,
  [COMMANDS.flowController]: COMMANDS.flowController,
};

/** Leases that the components of a namespace go by. */
export const leaseUsesOf = (configs: readonly ConfigFacts[], namespace: string): LeaseUse[] => {
  const said = configs.filter((config) => config.namespace === namespace).flatMap(({ leases }) => leases);
  const defaults = Object.entries(DEFAULT_LEASES)
    .filter(([component]) => said.every((use) => use.component !== component || use.purpose !== 'leader'))
    .map(([component, name]): LeaseUse => ({ component, purpose: 'leader', namespace, name }));
  return [...said, ...defaults];
};

const isUseOf =
  ({ namespace, name }: LeaseFacts) =>
  (use: LeaseUse): boolean =>
    use.namespace === namespace && use.name === name;

const stateOf = (
  { holder, durationSeconds }: LeaseFacts,
  purpose: LeaseStatus['purpose'],
  age: number | null,
): LeaseStatus['state'] => {
  if (holder === '' || age === null) return 'Released';
  const patience = durationSeconds * (purpose === 'heartbeat' ? HEARTBEAT_FACTOR : 1) + GRACE_SECONDS;
  return age > patience ? 'Stale' : 'Held';
};

interface LeaseContext {
  readonly now: number;
  readonly uses: readonly LeaseUse[];
  /** All that were seen; undefined where they could not be. */
  readonly pods: readonly ComponentPod[] | undefined;
}

export const leaseStatus = (lease: LeaseFacts, { now, uses, pods }: LeaseContext): LeaseStatus => {
  const { namespace, name, holder, installation, renewedAt } = lease;
  const use = uses.find(isUseOf(lease));
  const purpose = name === HEARTBEAT_LEASE ? 'heartbeat' : (use?.purpose ?? 'other');
  const component = use?.purpose === 'leader' ? use.component : '';
  const age = renewedAt === undefined ? null : Math.max(0, Math.round((now - renewedAt) / SECOND_MS));
  // An identity begins with the host's name, which is the Pod's; installations that were not looked for have Pods that were
  // not seen.
  const host = holder.split('_')[0] ?? '';
  const own = pods?.filter((pod) => pod.component === component) ?? [];
  const known = own.length === 0 || own.some((pod) => pod.name.startsWith(host));
  return {
    namespace,
    name,
    purpose,
    component,
    installation,
    state: stateOf(lease, purpose, age),
    holder,
    ageSeconds: age,
    holderGone: purpose === 'leader' && holder !== '' && !known,
  };
};

/** Those in the namespace of the installation, and those that it shares with others. */
export const leasesOf = (leases: readonly LeaseFacts[], namespace: string, uses: readonly LeaseUse[]): LeaseFacts[] =>
  leases.filter((lease) => lease.namespace === namespace || uses.some(isUseOf(lease)));

/** Whether Pods could be seen at all: without the right to, none is no news. */
const sawPods = ({ unseen }: StatusEvidence): boolean => unseen.every(({ what }) => what !== 'pods');

const podsOf = (evidence: StatusEvidence, { namespace, instance, component }: DeployedComponent): ComponentPod[] =>
  evidence.pods.filter(
    (pod) => pod.namespace === namespace && pod.instance === instance && pod.component === component,
  );

const lastTermination = (pods: readonly ComponentPod[]): NonNullable<ComponentStatus['pods']>['lastTermination'] => {
  const ended = pods.flatMap(({ name, lastTermination: last }) => (last === undefined ? [] : [{ ...last, pod: name }]));
  return ended.sort((a, b) => byText(b.finishedAt, a.finishedAt))[0] ?? null;
};

const componentStatus = (evidence: StatusEvidence, deployment: DeployedComponent): ComponentStatus => {
  const { name, component, version, image, desired, ready, updated } = deployment;
  const pods = podsOf(evidence, deployment);
  const zones = new Map(itemsOf(evidence.snapshot.nodes).map((node) => [nameOf(node), zoneOfNode(node)]));
  const nodes = new Set(pods.map(({ nodeName }) => nodeName).filter((node) => node !== ''));
  const used = new Set([...nodes].map((node) => zones.get(node) ?? '').filter((zone) => zone !== ''));
  return {
    name,
    component,
    version,
    image,
    replicas: { desired, ready, updated },
    pods: sawPods(evidence)
      ? {
          restarts: pods.reduce((sum, { restarts }) => sum + restarts, 0),
          lastTermination: lastTermination(pods),
          nodes: nodes.size,
          zones: [...used].sort(byText),
        }
      : null,
  };
};

const installationStatus = (
  evidence: StatusEvidence,
  deployments: readonly DeployedComponent[],
  webhooks: readonly WebhookStatus[],
): InstallationStatus => {
  const { namespace = '', instance = '' } = deployments[0] ?? {};
  const configs = evidence.configs.filter((config) => config.namespace === namespace);
  const pods = sawPods(evidence) ? evidence.pods : undefined;
  const uses = leaseUsesOf(configs, namespace);
  const context = { now: evidence.now, uses, pods };
  return {
    namespace,
    release: instance,
    components: deployments
      .toSorted((a, b) => byText(a.component, b.component))
      .map((deployment) => componentStatus(evidence, deployment)),
    modes: configs.find(({ modes }) => modes !== undefined)?.modes ?? null,
    leases: leasesOf(evidence.leases, namespace, uses)
      .map((lease) => leaseStatus(lease, context))
      .sort((left, right) => byText(left.name, right.name)),
    webhooks: webhooks.filter(({ service }) => service?.namespace === namespace),
  };
};

/** By namespace and release. */
export const installationStatuses = (
  evidence: StatusEvidence,
  webhooks: readonly WebhookStatus[],
): InstallationStatus[] => {
  const groups = Map.groupBy(evidence.deployments, ({ namespace, instance }) => `${namespace}/${instance}`);
  return [...groups]
    .sort(([a], [b]) => byText(a, b))
    .map(([, deployments]) => installationStatus(evidence, deployments, webhooks));
};

// Installations of the chart: which components each has, how they run, and who leads.
import { nameOf } from '../../apis/object.ts';
import { zoneOfNode } from '../../apis/readings.ts';
import { itemsOf } from '../snapshot.ts';
import type { ComponentPod, DeployedComponent, StatusEvidence } from './evidence.ts';
import { leasesOf, leaseStatus, leaseUsesOf } from './leases.ts';
import type { ComponentStatus, InstallationStatus, WebhookStatus } from './types.ts';
import { byText } from '../../apis/order.ts';

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

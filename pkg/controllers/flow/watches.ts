// Which Services a change concerns: those that an object belongs to, and all of them when the zones change.
import type { Namespace, Node, Service } from '../../apis/core.ts';
import type { FlowPolicy } from '../../apis/flow-policy.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { keyOf, nameOf } from '../../apis/object.ts';
import { isSwitching } from '../../apis/readings.ts';
import type { FlowSlice } from '../../flow/assemble/slice.ts';
import { changes, objects } from '../../kubernetes/watches.ts';
import type { KeysOf, Watch } from '../../kubernetes/watches.ts';
import { servicesOfPod } from './caches.ts';
import type { FlowCaches } from './caches.ts';
import type { FlowPod } from './projections.ts';
import { isRelevant } from './snapshots.ts';
import type { Snapshots } from './snapshots.ts';

const sameContent = (left: FlowSlice, right: FlowSlice): boolean =>
  left.service === right.service &&
  left.strategy === right.strategy &&
  left.mark === right.mark &&
  JSON.stringify(left.endpoints) === JSON.stringify(right.endpoints);

const ofSlice: KeysOf<FlowSlice> = (slice, previous, deleted) => {
  if (slice.service === '' || (previous !== undefined && !deleted && sameContent(slice, previous))) return [];
  return [`${slice.metadata?.namespace ?? ''}/${slice.service}`];
};

/** A status that was written changes nothing for the loop. */
const ofPolicy: KeysOf<FlowPolicy> = (policy, previous, deleted) => {
  const edited = JSON.stringify(policy.spec ?? {}) !== JSON.stringify(previous?.spec ?? {});
  return deleted || previous === undefined || edited ? [keyOf(policy)] : [];
};

export const flowWatches = (
  { services, slices, pods, nodes, policies, namespaces }: FlowCaches,
  snapshots: Pick<Snapshots, 'services'>,
): Watch[] => {
  const ofPod: KeysOf<FlowPod> = (pod, previous, deleted) => {
    const resized = JSON.stringify(pod.cpu) !== JSON.stringify(previous?.cpu);
    return !deleted && (previous === undefined || resized) ? servicesOfPod(slices, pod) : [];
  };
  const ofNode: KeysOf<Node> = (node, previous, deleted) => {
    const zone = previous?.metadata?.labels?.[LABEL_ZONE] ?? node.metadata?.labels?.[LABEL_ZONE];
    return isRelevant(node, previous, deleted) && zone !== undefined ? snapshots.services() : [];
  };
  const ofNamespace: KeysOf<Namespace> = (namespace, previous, deleted) => {
    if (isSwitching(namespace, previous)) return snapshots.services();
    const relabelled = JSON.stringify(namespace.metadata?.labels) !== JSON.stringify(previous?.metadata?.labels);
    if (deleted || !relabelled) return [];
    const begin = `${nameOf(namespace)}/`;
    return services
      .list()
      .map(keyOf)
      .filter((key) => key.startsWith(begin));
  };
  return [
    ...objects(services, (service: Service) => [keyOf(service)]),
    ...changes(policies, ofPolicy),
    ...changes(slices, ofSlice),
    ...changes(pods, ofPod),
    ...changes(nodes, ofNode),
    ...changes(namespaces, ofNamespace),
  ];
};

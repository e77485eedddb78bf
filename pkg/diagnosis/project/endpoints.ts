// Endpoints, which kube-proxy reads before Kubernetes 1.19, for Services of which there are no EndpointSlices.
import { type EndpointSlice, type Node, serviceKeyOf, zoneOfNode } from '../../apis/core.ts';
import { type Fields, defined, nameOf } from '../../apis/values.ts';
import { LABEL_SERVICE_NAME } from '../../apis/names.ts';
import { kubeletText } from '../routers/nodes.ts';
import { createSliceReader } from './core.ts';
import { type Metadata, listIn, textIn } from './fields.ts';

/** From 1.21 on slices may have hints, of which Endpoints show none. */
const WITHOUT_HINTS = /^v1\.(?:\d|1\d|20)\./;

/** A slice for each subset. */
export const subsetsOf = (object: Fields, named: Metadata): EndpointSlice[] =>
  listIn(object, 'subsets').map((subset) => {
    const at = (key: string, ready: boolean) =>
      listIn(subset, key).map((own) => ({ ...own, addresses: [textIn(own, 'ip')], conditions: { ready } }));
    const endpoints = [...at('addresses', true), ...at('notReadyAddresses', false)];
    const addressType = String(endpoints[0]?.addresses).includes(':') ? 'IPv6' : 'IPv4';
    const metadata = { ...named, labels: { [LABEL_SERVICE_NAME]: named.name } };
    return { ...createSliceReader()({ ...subset, addressType, endpoints }, metadata), kind: 'Endpoints' };
  });

/** Without the Endpoints of Services that have slices; of the others each address is in the zone of its Node. */
export const withEndpoints = (all: readonly EndpointSlice[], nodes: readonly Node[]): EndpointSlice[] => {
  const isOld = nodes.length > 0 && nodes.every((node) => WITHOUT_HINTS.test(kubeletText(node)));
  const zones = new Map(nodes.map((node) => [nameOf(node), zoneOfNode(node) || undefined]));
  const sliced = new Set(all.map((own) => (own.kind === 'Endpoints' ? '' : serviceKeyOf(own))));
  return all.flatMap((own) => {
    if (own.kind !== 'Endpoints') return [own];
    const endpoints = (own.endpoints ?? []).map((each) => defined({ ...each, zone: zones.get(each.nodeName ?? '') }));
    return isOld && !sliced.has(serviceKeyOf(own)) ? [{ ...own, endpoints }] : [];
  });
};

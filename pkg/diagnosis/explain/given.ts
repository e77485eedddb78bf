// Causes for hints that are asked for and are not there: why the control plane, or the webhook, has not written them.
import type { LabelSelector } from '../../apis/admission.ts';
import { type Endpoint, type EndpointSlice, type Node, type Service, zoneOfNode } from '../../apis/core.ts';
import { ETCD_CLIENT_SERVICES, LABEL_CONSIDER, LABEL_GARDENER_ROLE } from '../../apis/names.ts';
import { LABEL_NAMESPACE_NAME, LABEL_SLICE_MANAGED_BY, LABEL_ZONE } from '../../apis/names.ts';
import { byText, nameOf, picked } from '../../apis/values.ts';
import { type KubernetesVersion, matchesSelector } from '../../routing/types.ts';
import { atLeast, formatVersion } from '../../routing/version.ts';
import { allocate, isControlPlane, isControllerSlice, isReadyToController } from '../../upstream/index.ts';
import type { FinalHints } from '../models/hints.ts';
import { type ReadyEndpoint, barrier, hasSelector, readyEndpoints, serviceKeyOfRef } from '../models/lookup.ts';
import { isManaged } from '../models/lookup.ts';
import { type WebhookSummary, itemsOf } from '../snapshot.ts';
import type { Facts } from './facts.ts';
import { type Cause, type CauseReason, NO_ZONES, cause, counted, firstOfEach, listed, remedyOf } from './reasons.ts';
import { allows, drawnText } from './scheduler.ts';

const given = (...said: [reason: CauseReason, evidence: string, remedy?: string]) => [cause('given', ...said)];

/** Of a namespace only the name is known: what selectors say about other labels is taken to hold. */
const selectsNamespace = ({ matchLabels = {}, matchExpressions: all = [] }: LabelSelector, namespace: string) => {
  const matchExpressions = all.filter(({ key }) => key === LABEL_NAMESPACE_NAME);
  const selector = { matchLabels: picked(matchLabels, [LABEL_NAMESPACE_NAME]), matchExpressions };
  return matchesSelector(selector, { [LABEL_NAMESPACE_NAME]: namespace });
};

const named = ({ configuration, name }: WebhookSummary): string => `webhook ${name} of ${configuration}`;

/** Why a webhook that selects the slices cannot answer; empty where nothing is against it. */
const whyDead = ({ snapshot, index, options }: Facts, webhook: WebhookSummary): Cause[] => {
  const { service, caNotAfter } = webhook;
  if (service !== undefined) {
    const key = serviceKeyOfRef(service);
    const slices = index.slices.get(key);
    // Files may leave out the webhook's own Service; a cluster was asked for its slices.
    const judged = slices !== undefined || snapshot.version !== undefined;
    if (judged && ['IPv4', 'IPv6'].every((family) => readyEndpoints(slices ?? [], family).length === 0))
      return given('WebhookWithoutEndpoint', `Service ${key} behind ${named(webhook)} has no ready endpoint.`);
  }
  if (caNotAfter === undefined || caNotAfter > options.now) return [];
  const end = new Date(caNotAfter).toISOString();
  return given('WebhookCertificateExpired', `The caBundle of ${named(webhook)} was valid until ${end}.`);
};

/** Webhooks that serve these slices, which get the labels of their Service. */
export const webhooksFor = ({ snapshot, ref }: Facts, { metadata: of }: Service, slices: readonly EndpointSlice[]) =>
  itemsOf(snapshot.webhooks).filter(
    (own) =>
      own.slices &&
      slices.some(({ metadata }) => matchesSelector(own.objectSelector, { ...of?.labels, ...metadata?.labels })) &&
      selectsNamespace(own.namespaceSelector, ref.namespace),
  );

/** docs/operations/topology_aware_routing.md of gardener/gardener; gardener/etcd-druid#973 */
const BY_FIELD =
  'Gardener runs a webhook for this label up to Kubernetes 1.31. From 1.32 on `spec.trafficDistribution` asks, for an Etcd `spec.etcd.clientService.trafficDistribution`: topologyAwareRouting in the Seed or Garden sets both, in releases that know the field. For hints by the label install the `endpointslice-webhook`.';

/** `unhinted`: ready endpoints in slices that a strategy label asks hints for, at least one. */
const webhookCauses = (facts: Facts, unhinted: readonly ReadyEndpoint[]): Cause[] => {
  const { ref, service } = facts;
  const { webhooks } = facts.snapshot;
  const slices = [...new Set(unhinted.map(({ slice }) => slice))];
  const what = `slice ${listed(slices.map(nameOf))} stored without hints`;
  const remedy = facts.labels[LABEL_CONSIDER] === 'true' && atLeast(facts.version, 32) ? BY_FIELD : undefined;
  if (webhooks.kind === 'unknown') {
    const reason = remedy === undefined ? 'WebhookSkipped' : 'WebhookMissing';
    return given(reason, `${what}; whether a webhook serves it could not be seen (${webhooks.why}).`, remedy);
  }
  const serving = webhooks.items.filter((webhook) => webhook.slices);
  if (serving.length === 0)
    return given('WebhookMissing', `${what}; no MutatingWebhookConfiguration serves EndpointSlices.`, remedy);
  const selecting = webhooksFor(facts, service, slices);
  if (selecting.length === 0) {
    const which = listed(serving.map(named));
    return given('WebhookDoesNotSelect', `${what}; ${which} does not select it in namespace ${ref.namespace}.`);
  }
  const dead = selecting.flatMap((webhook) => whyDead(facts, webhook));
  const skipped = `${what}, although ${listed(selecting.map(named))} serves it.`;
  return dead.length > 0 ? dead : given('WebhookSkipped', skipped);
};

const REACH = 40;
const SUGGESTIONS = 3;

/** Endpoint counts near `count` for which the CPU heuristic gives hints: the nearest below, and the next above. */
export const workingCounts = (ratios: ReadonlyMap<string, number>, count: number): number[] => {
  const works = (n: number): boolean => allocate(ratios, n).kind === 'allocated';
  const below = Array.from({ length: count }, (_, index) => count - 1 - index).find((n) => n > 0 && works(n));
  const above = Array.from({ length: REACH }, (_, index) => count + 1 + index).filter(works);
  return [...(below === undefined ? [] : [below]), ...above.slice(0, SUGGESTIONS)];
};

export const sharesText = ({ shares }: Facts): string =>
  shares.kind === 'unknown'
    ? ''
    : [...shares.ratios].map(([zone, ratio]) => `${zone} ${Math.round(ratio * 100)} %`).join(', ');

/** rancher/rke2#3398 */
const OF_VSPHERE = `Set \`labels.zone\` and \`labels.region\` in the configuration of the cloud-controller-manager of vSphere (in RKE2 \`vCenter.labels\` of chart rancher-vsphere-cpi). ${NO_ZONES}`;
const zonesFor = (nodes: readonly Node[]): string =>
  nodes.some(({ spec }) => spec?.providerID?.startsWith('vsphere:')) ? OF_VSPHERE : NO_ZONES;

/** Why CPU shares are unknown, as exactly as the Nodes show. */
const sharesCause = (facts: Facts): Cause[] => {
  const { shares, nodes } = facts;
  if (shares.kind === 'unknown' && shares.cause !== 'FewerThanTwoZones') {
    const lacks = shares.cause === 'NodeWithoutZone' ? `label ${LABEL_ZONE}` : 'status.allocatable.cpu';
    const who = `Ready Node ${listed(shares.nodes)}`;
    const remedy = nodes.every((node) => zoneOfNode(node) === '') ? zonesFor(nodes) : remedyOf(shares.cause);
    return given(shares.cause, `${who} without ${lacks}: no Service of the cluster gets proportional hints.`, remedy);
  }
  // Ready, in zones without a share of the CPU, because all their Nodes are of the control plane.
  const workerZones = new Set(nodes.filter((node) => !isControlPlane(node)).map(zoneOfNode));
  const others = nodes.filter((node) => !workerZones.has(zoneOfNode(node)));
  const only = `${listed(others.map(nameOf))}: the only Nodes of ${listed(others.map(zoneOfNode))}, with the label of the control plane, so their CPU does not count and fewer than two zones are left.`;
  return others.length === 0
    ? given('NodesInOneZone', `Ready worker Nodes are in ${counted(workerZones.size, 'zone')}.${lastEvent(facts)}`)
    : given('ControlPlaneNodes', only);
};

const WRITTEN_BEFORE = 'Have the slice written anew: its endpoints take the zone of their Node then.';
const LOST_NODE = 'Its Node is gone, or was not read. Delete the Pod where nothing else does: its endpoint goes too.';
const LEASE_REMEDY = 'Delete its lease in etcd (`/registry/masterleases/<address>`), by which API servers write it.';

/** Providers whose clusters are in one datacenter: DigitalOcean, Linode, Vultr. */
const WITHOUT_ZONES = /^(?:doks\.digitalocean|lke\.linode|vke\.vultr)\.com\//;
const ONE_PLACE = 'Its provider has clusters in one datacenter, no zones: nothing can cross, and nothing is to set.';

export const inOnePlace = (nodes: readonly Node[]): boolean => {
  const isOne = ({ metadata }: Node) => Object.keys(metadata?.labels ?? {}).some((own) => WITHOUT_ZONES.test(own));
  return nodes.every((node) => zoneOfNode(node) === '' && isOne(node));
};

const zonelessCause = ({ snapshot, wish, index: { zoneOf } }: Facts, endpoints: readonly ReadyEndpoint[]): Cause[] => {
  const zoneless = endpoints.filter(({ zone }) => zone === '');
  if (zoneless.length === 0) return [];
  const where = zoneless.map(({ address, nodeName }) => (nodeName === '' ? address : `${address} on Node ${nodeName}`));
  const evidence = `Ready endpoint ${listed(where)} has no zone`;
  const all = itemsOf(snapshot.nodes);
  if (all.length > 0 && all.every((node) => zoneOfNode(node) === '')) {
    // Hints for Nodes need none.
    if (wish.mode === 'same-node') return [];
    const none = `No Node of the cluster has the label ${LABEL_ZONE}, and ${counted(zoneless.length, 'ready endpoint')} no zone.`;
    return given('EndpointWithoutZone', none, inOnePlace(all) ? ONE_PLACE : zonesFor(all));
  }
  if (zoneless.every(({ nodeName, slice }) => isControllerSlice(slice) && (zoneOf.get(nodeName) ?? '') !== ''))
    return given('EndpointWithoutZone', `${evidence}, and its Node has one, which it got later.`, WRITTEN_BEFORE);
  return zoneOf.size > 0 && zoneless.every(({ nodeName }) => nodeName !== '' && !zoneOf.has(nodeName))
    ? given('EndpointWithoutZone', `${evidence}, and there is no such Node among these.`, LOST_NODE)
    : given('EndpointWithoutZone', `${evidence}.`);
};

/** Of a control plane that Gardener runs: gardener/gardener#7191. */
export const isOfGardener = ({ ref, workloads }: Facts): boolean =>
  ref.namespace.startsWith('shoot--') ||
  ETCD_CLIENT_SERVICES.some((name) => name === ref.name) ||
  workloads.some(({ podLabels }) => podLabels[LABEL_GARDENER_ROLE] === 'controlplane');

const FIELD_REMEDY =
  'Replace the annotation by `spec.trafficDistribution` or the strategy `same-zone`: neither looks at CPU or at the number. Or run as many replicas as suit the CPU of each zone, at least one in each.';
const SEED_REMEDY =
  'Switch topologyAwareRouting on in the Seed (`spec.settings.topologyAwareRouting.enabled`; of a Garden in `spec.runtimeCluster.settings`): each endpoint is then hinted for its own zone, whatever the CPU. More replicas, or Nodes, would only suit the CPU.';

const allocationCauses = (facts: Facts, { family, reason }: FinalHints, endpoints: readonly ReadyEndpoint[]) => {
  const { name, version, shares, slices } = facts;
  if (reason === 'InsufficientNodeInformation') return sharesCause(facts);
  if (reason === 'EndpointWithoutZone') return zonelessCause(facts, endpoints);
  if (reason !== 'TooFewEndpoints' && reason !== 'OverloadThreshold') return [];
  // Of its own slices the controller counts what says that it is ready; proxies take those that say nothing as well.
  const own = slices.filter((slice) => isControllerSlice(slice) && (slice.addressType ?? 'IPv4') === family);
  const count = own.flatMap((slice) => slice.endpoints ?? []).filter(isReadyToController).length;
  const zones = shares.kind === 'known' ? shares.ratios.size : 0;
  const few = `Service ${name} has ${counted(count, `ready ${family} endpoint`)} for ${zones} zones.`;
  const uneven = `${count} ready ${family} endpoints cannot be shared over CPU shares of ${sharesText(facts)} within 20 % (Kubernetes ${formatVersion(version)}).`;
  const drawn = facts.workloads.map(drawnText).join(' ');
  const takes = (node: Node) => facts.workloads.some((each) => allows(node, each) && barrier(node, each) === undefined); // kubernetes/kubernetes#110714
  const closed = facts.nodes.filter((node) => facts.workloads.length > 0 && !isControlPlane(node) && !takes(node));
  const others = ` The CPU of ${counted(closed.length, 'Node')} counts on which its Pods may not run: the control plane looks at no taint or nodeSelector.`;
  const what = reason === 'TooFewEndpoints' ? few : uneven;
  const counts = shares.kind === 'unknown' ? [] : workingCounts(shares.ratios, count);
  const would = counts.length === 0 ? '' : ` With these Nodes ${counts.join(', ')} endpoints would do.`;
  const evidence = `${what}${would}${closed.length > 0 ? others : ''} ${drawn}`.trimEnd();
  return given(reason, evidence, isOfGardener(facts) ? SEED_REMEDY : atLeast(version, 31) ? FIELD_REMEDY : undefined);
};

/** What the control plane itself said last of the Service or of Pods, by default about its hints; empty where it said nothing. */
export const lastEvent = (facts: Facts, about = /^TopologyAwareHints/, of = [`Service/${facts.ref.name}`]): string => {
  const own = itemsOf(facts.snapshot.events).filter(
    (each) => each.namespace === facts.ref.namespace && of.includes(each.of) && about.test(each.reason),
  );
  const last = own.sort((a, b) => byText(a.lastSeen, b.lastSeen)).at(-1);
  if (last === undefined) return '';
  return ` Last event${last.lastSeen === '' ? '' : ` at ${last.lastSeen}`}: "${last.message}".`;
};

/** kubernetes/kubernetes#117245, #117268 */
const ofRelease = (version: KubernetesVersion): string | undefined =>
  atLeast(version, 28)
    ? undefined
    : `${remedyOf('HintsLost')} Where the first brings no hints, the controller missed a zone that its Node got late (before 1.28 and 1.26.8): restart kube-controller-manager, or update.`;

/** Some carry hints and some do not: who wrote those that do not? */
const partialCause = (unhinted: readonly ReadyEndpoint[], all: number): Cause[] => {
  const names = unhinted.map(({ slice }) => {
    const manager = slice.metadata?.labels?.[LABEL_SLICE_MANAGED_BY];
    if (isControllerSlice(slice)) return nameOf(slice);
    return manager === undefined ? `${nameOf(slice)}, which no controller manages` : `${nameOf(slice)} of ${manager}`;
  });
  const addresses = unhinted.map(({ address, zone }) => `${address}${zone === '' ? ' (no zone)' : ''}`);
  const what = `${unhinted.length} of ${counted(all, 'ready endpoint')} without hint: ${listed(addresses)} in slice ${listed(names)}.`;
  return given('EndpointWithoutHint', `${what} One is enough for proxies to ignore all hints.`);
};

const familyCauses = (facts: Facts, hints: FinalHints): Cause[] => {
  const { family, source } = hints;
  const endpoints = readyEndpoints(facts.slices, family);
  if (endpoints.length === 0) return [];
  const unhinted = endpoints.filter(({ forZones }) => forZones.length === 0);
  // Before 1.23 it counted endpoints that are not ready, and hinted them (kubernetes/kubernetes#106510).
  const isGiven = unhinted.length === 0 && !atLeast(facts.version, 23);
  const refused = source === 'topology-mode' && !isGiven ? allocationCauses(facts, hints, endpoints) : [];
  if (refused.length > 0) return refused;
  if (unhinted.length === 0) return [];
  const partial = unhinted.length < endpoints.length ? partialCause(unhinted, endpoints.length) : [];
  if (partial.length > 0 && !unhinted.some(({ slice }) => isControllerSlice(slice))) return partial;
  const zoneless = zonelessCause(facts, unhinted);
  if (source === 'webhook') return [...zoneless, ...webhookCauses(facts, unhinted)];
  if (zoneless.length > 0) return zoneless;
  if (partial.length > 0) return partial;
  const all = `${counted(endpoints.length, `ready ${family} endpoint`)} of Service ${facts.name}`;
  const unused = facts.routes.find((route) => route.family === family && route.reason === 'NodeNotHinted');
  if (unused !== undefined)
    return given('NodeNotHinted', `The ${all} are hinted for Nodes only: ${unused.node}, for which none is, uses all.`);
  const isForNodes = facts.slices.some((slice) => slice.endpoints?.some(({ hints: own }) => own?.forNodes?.length));
  if (isForNodes && endpoints.every(({ zone }) => zone === '')) return [];
  const none = `None of the ${all} carries a zone hint, although`;
  return source === 'topology-mode'
    ? given('HintsLost', `${none} the Nodes as they are allow it.${lastEvent(facts)}`, ofRelease(facts.version))
    : given('HintsNotWritten', `${none} ${facts.wish.message.replace(/\.$/, '')}.`);
};

/** What the EndpointSlice controller would have written by now: it is behind, or does not run (kubernetes#107583, #117193). */
export const behindCauses = ({ ref, service, name, slices, pods, snapshot, index }: Facts): Cause[] => {
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? []);
  const stale = slices.filter(({ metadata }) => /mirroring/.test(metadata?.labels?.[LABEL_SLICE_MANAGED_BY] ?? '')); // kubernetes/kubernetes#105987, #105997
  const left = `Slice ${listed(stale.map(nameOf))} is left from when Service ${name} had no selector (endpointslicemirroring-controller): what routes still sends to its addresses.`;
  const drop = 'Delete that slice: Kubernetes 1.23 and newer (and later patches of 1.21 and 1.22) does by itself.';
  const fix = [`kubectl delete endpointslice ${stale.map(nameOf).join(' ')} -n ${ref.namespace}`];
  if (hasSelector(service) && stale.length > 0) return [{ ...cause('given', 'SlicesBehind', left, drop), fix }];
  const hosts = new Set(itemsOf(snapshot.nodes).flatMap(({ status }) => status?.addresses?.map((own) => own.address))); // lf-edge/eve#5927, kubernetes/kops#9327, kubernetes/kubernetes#86812
  const gone = endpoints.flatMap(({ addresses }) => addresses).filter((own) => !hosts.has(own));
  const none = `Of ${counted(endpoints.length, 'endpoint')} of Service ${name} no Node has ${listed(gone)}: where no API server answers there, that share of connections fails.`;
  if (name === 'default/kubernetes' && gone.length > 0 && gone.length < endpoints.length)
    return [{ ...cause('given', 'SlicesBehind', none, LEASE_REMEDY), fix: [] }];
  // One that is about to end is written as not ready.
  const isWritten = ({ conditions: { ready, terminating } = {} }: Endpoint) => ready !== false || terminating === true;
  const written = new Set(endpoints.filter(isWritten).map(({ targetRef }) => targetRef?.name));
  // A zone from which Amazon shifts traffic away has none (zone-shift of EKS).
  const isGone = slices.length === 0 && itemsOf(snapshot.slices).length > 0;
  const used = new Set(isGone ? index.zoneOf.values() : endpoints.map(({ zone }) => zone));
  // What names no Pod, as slices written by hand, shows none that is missing.
  const isNamed = slices.every((slice) => isControllerSlice(slice)) && endpoints.every(({ targetRef }) => targetRef);
  const own = hasSelector(service) && isNamed ? pods : [];
  const missing = own.filter((pod) => pod.ready && !written.has(pod.name) && used.has(index.zoneOf.get(pod.nodeName)));
  const moved = endpoints.filter(({ nodeName = '', zone }) => zone && zone !== (index.zoneOf.get(nodeName) || zone));
  const lack = `ready Pods without ready endpoint: ${listed(missing.map((pod) => pod.name))}`;
  const differ = `endpoints in another zone than their Node: ${listed(moved.map(({ nodeName, zone }) => `${zone} on ${nodeName}`))}`;
  const texts = [...(missing.length > 0 ? [lack] : []), ...(moved.length > 0 ? [differ] : [])];
  const evidence = `Slices of Service ${name} are not up to date: ${texts.join('; ')}.`;
  return texts.length === 0 ? [] : given('SlicesBehind', evidence);
};

const MEND_SERVER =
  'Mend that API server or stop it (its endpoint goes with its lease), or have all of them advertise a load balancer that asks `/readyz` (`--advertise-address`).';
const GOAWAY =
  ' Clients keep their HTTP/2 connection to the one that they reached, and one that was restarted has few: `--goaway-chance` of all API servers has clients connect anew now and then.';
/** Of the Service `kubernetes`: Azure/aks-engine#2948, kubernetes/kubernetes#121591. */
export const apiServerCause = ({ name, endpoints, nodes, snapshot, index: { hashing, bypasses } }: Facts): Cause => {
  const addresses = listed(endpoints.map(({ address }) => address));
  const evidence = `Service ${name} has ${counted(endpoints.length, 'endpoint')} (${addresses}) that the API servers write themselves.`;
  const say = (why: string, remedy?: string) => cause('wanted', 'ApiServer', `${evidence}${why}`, remedy);
  // kubernetes/kubernetes#79739; EKS has values for others of its flags alone (hashicorp/terraform-provider-aws#49411).
  const usual = `${remedyOf('ApiServer')}${nodes.some(isManaged) ? '' : GOAWAY}`;
  // By a lease that each renews while it runs: kubernetes/kubernetes#119535.
  const servers = bypasses.pods.get('kube-system')?.filter(({ labels }) => labels['component'] === 'kube-apiserver');
  const unready = servers?.flatMap((pod) => (pod.ready || servers.length > endpoints.length ? [] : pod.name)) ?? [];
  const stays = ` ${listed(unready)} is not ready, and its endpoint stays and gets its share: each server keeps its own by a lease while it runs, whatever its readiness.`;
  if (unready.length > 0) return say(stays, `${MEND_SERVER} ${usual}`);
  const masters = nodes.filter(isControlPlane).length;
  const one = ` That is one for ${masters} Nodes of the control plane: as the address of a load balancer many send nothing back to the host that a connection came from, and these Nodes lose some.`;
  const turns = ' kube-proxy in IPVS mode takes them in turn, from the same one on each Node: that gets most.';
  if (endpoints.length === 1 && masters > 1)
    return say(one, `Start each API server with \`--advertise-address\` of its own. ${usual}`);
  const isIpvs = !hashing && itemsOf(snapshot.routers).some(({ settings }) => settings['mode'] === 'ipvs');
  const instead = ' For even shares of first connections run kube-proxy in iptables or nftables mode.';
  return endpoints.length > 1 && isIpvs ? say(turns, `${usual}${instead}`) : say('', usual);
};

export const givenCauses = (facts: Facts): Cause[] => {
  const { service, wish, strategy, expected } = facts;
  const managed = hasSelector(service);
  // Whatever is asked for instead, no hint can be without zones.
  if (strategy === undefined && (wish.mode === 'none' || !managed))
    return managed && facts.nodes.every((node) => zoneOfNode(node) === '') ? zonelessCause(facts, facts.endpoints) : [];
  return firstOfEach(expected.flatMap((family) => familyCauses(facts, family)));
};

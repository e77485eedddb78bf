// Causes for hints that are asked for and are not there.
// Builds causes: the remedy comes from the table of the code.
// Why a webhook that should write hints has not: missing, not selecting, without endpoint, expired, or away.
import type { LabelSelector } from '../../apis/admission.ts';
import { type EndpointSlice, isNodeReady, zoneOfNode } from '../../apis/core.ts';
import { LABEL_NAMESPACE_NAME, LABEL_SLICE_MANAGED_BY, LABEL_ZONE } from '../../apis/names.ts';
import { nameOf } from '../../apis/values.ts';
import { matchesSelector } from '../../routing/types.ts';
import { formatVersion } from '../../routing/version.ts';
import { REASONS, allocate, isControlPlane, isControllerSlice, isReadyToController } from '../../upstream/index.ts';
import type { FinalHints } from '../models/hints.ts';
import { type ReadyEndpoint, readyEndpoints, serviceKeyOfRef, serviceRefOf } from '../models/lookup.ts';
import { type WebhookSummary, itemsOf } from '../snapshot.ts';
import type { Facts } from './facts.ts';
import { DIAGNOSIS_REASONS } from './reasons.ts';
import type { Cause, CauseReason, Stage } from './types.ts';

/** Of the models and of a diagnosis. */
const ALL_REASONS: Readonly<Record<CauseReason, { readonly remedy: string }>> = { ...REASONS, ...DIAGNOSIS_REASONS };

/** `remedy`: where the evidence allows a more exact one than the table's. */
export const cause = (stage: Stage, reason: CauseReason, evidence: string, remedy?: string): Cause => ({
  reason,
  stage,
  evidence,
  remedy: remedy ?? ALL_REASONS[reason].remedy,
});

const SHOWN = 3;

/** `a, b, c and 2 more`. */
export const listed = (names: readonly string[]): string => {
  const sorted = [...new Set(names)].sort();
  const more = sorted.length - SHOWN;
  const shown = sorted.slice(0, SHOWN);
  if (more > 0) return `${shown.join(', ')} and ${more} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1) ?? ''}`;
};

/** `1 Node`, `2 Nodes`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Each code once, where it comes first. */
export const firstOfEach = (causes: readonly Cause[]): Cause[] => {
  const seen = new Set<CauseReason>();
  return causes.filter(({ reason }) => !seen.has(reason) && seen.add(reason));
};

/** Of a namespace only the name is known: what selectors say about other labels is taken to hold. */
const selectsNamespace = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector, namespace: string): boolean =>
  matchesSelector(
    {
      matchLabels: Object.fromEntries(Object.entries(matchLabels).filter(([key]) => key === LABEL_NAMESPACE_NAME)),
      matchExpressions: matchExpressions.filter(({ key }) => key === LABEL_NAMESPACE_NAME),
    },
    { [LABEL_NAMESPACE_NAME]: namespace },
  );

const named = ({ configuration, name }: WebhookSummary): string => `webhook ${name} of ${configuration}`;

/** Why a webhook that selects the slices cannot answer; undefined where nothing is against it. */
const whyDead = (facts: Facts, webhook: WebhookSummary): Cause | undefined => {
  const { snapshot, index, options } = facts;
  const { service, caNotAfter } = webhook;
  if (service !== undefined) {
    const key = serviceKeyOfRef(service);
    const slices = index.slices.get(key);
    const listedService = itemsOf(snapshot.services).some((each) => serviceKeyOfRef(serviceRefOf(each)) === key);
    const ready = [...readyEndpoints(slices ?? [], 'IPv4'), ...readyEndpoints(slices ?? [], 'IPv6')];
    // Files may leave out the webhook's own Service; a cluster was asked for its slices.
    const judged = slices !== undefined || listedService || snapshot.version !== undefined;
    if (judged && ready.length === 0) {
      return cause('given', 'WebhookWithoutEndpoint', `Service ${key} behind ${named(webhook)} has no ready endpoint.`);
    }
  }
  if (caNotAfter !== undefined && caNotAfter <= options.now) {
    const end = new Date(caNotAfter).toISOString();
    return cause('given', 'WebhookCertificateExpired', `The caBundle of ${named(webhook)} was valid until ${end}.`);
  }
  return undefined;
};

/** `unhinted`: ready endpoints in slices that a strategy label asks hints for. */
const webhookCauses = (facts: Facts, unhinted: readonly ReadyEndpoint[]): Cause[] => {
  const { snapshot, ref, service } = facts;
  if (unhinted.length === 0) return [];
  const slices = [...new Set(unhinted.map(({ slice }) => slice))];
  const what = `slice ${listed(slices.map(nameOf))} stored without hints`;
  if (snapshot.webhooks.kind === 'unknown') {
    const evidence = `${what}; whether a webhook serves it could not be seen (${snapshot.webhooks.why}).`;
    return [cause('given', 'WebhookSkipped', evidence)];
  }
  const serving = snapshot.webhooks.items.filter((webhook) => webhook.slices);
  if (serving.length === 0) {
    return [cause('given', 'WebhookMissing', `${what}; no MutatingWebhookConfiguration serves EndpointSlices.`)];
  }
  const selecting = serving.filter(
    ({ objectSelector, namespaceSelector }) =>
      slices.some(({ metadata }) =>
        matchesSelector(objectSelector, { ...service.metadata?.labels, ...metadata?.labels }),
      ) && selectsNamespace(namespaceSelector, ref.namespace),
  );
  if (selecting.length === 0) {
    const evidence = `${what}; ${listed(serving.map(named))} does not select it in namespace ${ref.namespace}.`;
    return [cause('given', 'WebhookDoesNotSelect', evidence)];
  }
  const dead = selecting.map((webhook) => whyDead(facts, webhook)).filter((found) => found !== undefined);
  if (dead.length > 0) return dead;
  return [cause('given', 'WebhookSkipped', `${what}, although ${listed(selecting.map(named))} serves it.`)];
};

/** How far above the present number endpoint counts are tried. */
const REACH = 40;
const SUGGESTIONS = 3;

/** Endpoint counts near `count` for which the CPU heuristic gives hints: the nearest below, and the next above. */
export const workingCounts = (ratios: ReadonlyMap<string, number>, count: number): number[] => {
  const works = (n: number): boolean => allocate(ratios, n).kind === 'allocated';
  const below = Array.from({ length: count }, (_, index) => count - 1 - index).find((n) => n > 0 && works(n));
  const above = Array.from({ length: REACH }, (_, index) => count + 1 + index).filter(works);
  return [...(below === undefined ? [] : [below]), ...above.slice(0, SUGGESTIONS)];
};

const suggestion = ({ shares }: Facts, endpoints: number): string => {
  if (shares.kind === 'unknown') return '';
  const counts = workingCounts(shares.ratios, endpoints);
  return counts.length === 0 ? '' : ` With these Nodes ${counts.join(', ')} endpoints would do.`;
};

/** Share of the CPU by zone, for people. */
export const sharesText = ({ shares }: Facts): string =>
  shares.kind === 'unknown'
    ? ''
    : [...shares.ratios].map(([zone, ratio]) => `${zone} ${Math.round(ratio * 100)} %`).join(', ');

/** Why CPU shares are unknown, as exactly as the Nodes show. */
const sharesCause = (facts: Facts): Cause => {
  const { shares, snapshot } = facts;
  const none = cause('given', 'InsufficientNodeInformation', 'The CPU of the zones is not known.');
  if (shares.kind === 'known') return none;
  if (shares.cause === 'NodeWithoutZone') {
    const evidence = `Ready Node ${listed(shares.nodes)} without label ${LABEL_ZONE}: no Service of the cluster gets proportional hints.`;
    return cause('given', 'NodeWithoutZone', evidence);
  }
  if (shares.cause === 'NodeWithoutCpu') {
    const evidence = `Ready Node ${listed(shares.nodes)} without status.allocatable.cpu: no Service of the cluster gets proportional hints.`;
    return cause('given', 'NodeWithoutCpu', evidence);
  }
  const ready = itemsOf(snapshot.nodes).filter(isNodeReady);
  const workers = new Set(ready.filter((node) => !isControlPlane(node)).map(zoneOfNode));
  const others = ready.filter((node) => isControlPlane(node) && !workers.has(zoneOfNode(node)));
  if (others.length > 0) {
    const names = listed(others.map(nameOf));
    const evidence = `${names}: the only Nodes of ${listed(others.map(zoneOfNode))}, with the label of the control plane, so their CPU does not count and fewer than two zones are left.`;
    return cause('given', 'ControlPlaneNodes', evidence);
  }
  return cause('given', 'NodesInOneZone', `Ready worker Nodes are in ${counted(workers.size, 'zone')}.`);
};

/** Zones that have an endpoint and a Node, but no share of the CPU because the Nodes are of the control plane. */
const uncountedZones = (facts: Facts): Cause[] => {
  const { shares, endpoints, nodes } = facts;
  if (shares.kind === 'unknown') return [];
  const zones = new Set(endpoints.map(({ zone }) => zone).filter((zone) => zone !== '' && !shares.ratios.has(zone)));
  const owners = nodes.filter((node) => zones.has(zoneOfNode(node)) && isControlPlane(node));
  if (owners.length === 0) return [];
  const names = listed(owners.map(nameOf));
  const evidence = `Endpoints run in ${listed(owners.map(zoneOfNode))}, whose only Nodes (${names}) have the label of the control plane: the zone gets no share.`;
  return [cause('given', 'ControlPlaneNodes', evidence)];
};

const zonelessCause = (endpoints: readonly ReadyEndpoint[]): Cause[] => {
  const zoneless = endpoints.filter(({ zone }) => zone === '');
  if (zoneless.length === 0) return [];
  const where = zoneless.map(({ address, nodeName }) => (nodeName === '' ? address : `${address} on Node ${nodeName}`));
  return [cause('given', 'EndpointWithoutZone', `Ready endpoint ${listed(where)} has no zone.`)];
};

/** Of its own slices the controller counts what says that it is ready; proxies take those that say nothing as well. */
const readyToController = (slices: readonly EndpointSlice[], family: string): number =>
  slices
    .filter((slice) => isControllerSlice(slice) && (slice.addressType ?? 'IPv4') === family)
    .flatMap((slice) => slice.endpoints ?? [])
    .filter(isReadyToController).length;

/** Why the CPU heuristic hands out nothing. */
const allocationCauses = (facts: Facts, family: FinalHints, endpoints: readonly ReadyEndpoint[]): Cause[] => {
  const { name, version } = facts;
  const count = readyToController(facts.slices, family.family);
  const { reason } = family;
  if (reason === 'InsufficientNodeInformation') return [sharesCause(facts)];
  if (reason === 'EndpointWithoutZone') return zonelessCause(endpoints);
  if (reason === 'TooFewEndpoints') {
    const zones = facts.shares.kind === 'known' ? facts.shares.ratios.size : 0;
    const evidence = `Service ${name} has ${counted(count, `ready ${family.family} endpoint`)} for ${zones} zones.${suggestion(facts, count)}`;
    return [cause('given', reason, evidence)];
  }
  if (reason !== 'OverloadThreshold') return [];
  const evidence = `${count} ready ${family.family} endpoints cannot be shared over CPU shares of ${sharesText(facts)} within 20 % (Kubernetes ${formatVersion(version)}).${suggestion(facts, count)}`;
  return [cause('given', reason, evidence)];
};

/** What the control plane itself said last about hints of the Service; empty where it said nothing. */
export const lastEvent = ({ snapshot, ref }: Facts): string => {
  const events = itemsOf(snapshot.events)
    .filter(({ namespace, service }) => namespace === ref.namespace && service === ref.name)
    .filter(({ reason }) => reason.startsWith('TopologyAwareHints'))
    .sort((a, b) => (a.lastSeen < b.lastSeen ? -1 : 1));
  const last = events.at(-1);
  if (last === undefined) return '';
  const when = last.lastSeen === '' ? '' : ` at ${last.lastSeen}`;
  return ` Last event${when}: "${last.message}".`;
};

/** Some carry hints and some do not: who wrote those that do not? */
const partialCause = (unhinted: readonly ReadyEndpoint[], all: number): Cause => {
  const slices = [...new Map(unhinted.map(({ slice }) => [nameOf(slice), slice]))];
  const names = slices.map(([name, slice]) => {
    const manager = slice.metadata?.labels?.[LABEL_SLICE_MANAGED_BY];
    return isControllerSlice(slice)
      ? name
      : manager === undefined
        ? `${name}, which no controller manages`
        : `${name} of ${manager}`;
  });
  const addresses = unhinted.map(({ address, zone }) => `${address}${zone === '' ? ' (no zone)' : ''}`);
  const evidence = `${unhinted.length} of ${counted(all, 'ready endpoint')} without hint: ${listed(addresses)} in slice ${listed(names)}. One is enough for proxies to ignore all hints.`;
  return cause('given', 'EndpointWithoutHint', evidence);
};

const isForeign = ({ slice }: ReadyEndpoint): boolean => !isControllerSlice(slice);

const familyCauses = (facts: Facts, family: FinalHints): Cause[] => {
  const endpoints = readyEndpoints(facts.slices, family.family);
  if (endpoints.length === 0) return [];
  const unhinted = endpoints.filter(({ forZones }) => forZones.length === 0);
  const refused = family.source === 'topology-mode' ? allocationCauses(facts, family, endpoints) : [];
  if (refused.length > 0) return refused;
  if (unhinted.length === 0) return [];
  if (unhinted.length < endpoints.length && unhinted.every(isForeign))
    return [partialCause(unhinted, endpoints.length)];
  if (family.source === 'webhook') return [...zonelessCause(unhinted), ...webhookCauses(facts, unhinted)];
  const zoneless = zonelessCause(unhinted);
  if (zoneless.length > 0) return zoneless;
  if (unhinted.length < endpoints.length) return [partialCause(unhinted, endpoints.length)];
  const unused = facts.routes.find((route) => route.family === family.family && route.reason === 'NodeNotHinted');
  if (unused !== undefined) {
    const evidence = `The ${counted(endpoints.length, `ready ${family.family} endpoint`)} of Service ${facts.name} are hinted for Nodes only: ${unused.node}, for which none is, uses all.`;
    return [cause('given', 'NodeNotHinted', evidence)];
  }
  const none = `None of the ${counted(endpoints.length, `ready ${family.family} endpoint`)} of Service ${facts.name} carries a zone hint`;
  return family.source === 'topology-mode'
    ? [cause('given', 'HintsLost', `${none}, although the Nodes as they are allow it.${lastEvent(facts)}`)]
    : [cause('given', 'HintsNotWritten', `${none}, although ${facts.wish.message.replace(/\.$/, '')}.`)];
};

/** Causes of every family, each code once. */
export const givenCauses = (facts: Facts): Cause[] => {
  const { service, wish, strategy, expected } = facts;
  const managed = Object.keys(service.spec?.selector ?? {}).length > 0;
  if ((wish.mode === 'none' && strategy === undefined) || (!managed && strategy === undefined)) return [];
  const causes = expected.flatMap((family) => familyCauses(facts, family));
  if (wish.mode === 'proportional' && strategy === undefined) causes.push(...uncountedZones(facts));
  return firstOfEach(causes);
};

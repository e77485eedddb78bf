// Explains one Service: is routing by zone wanted, given, used and effective; and if not, the first cause and its remedy.
// Causes in the proxies: hints that are, or would be, there and are ignored.
import type { Service } from '../../apis/core.ts';
import { byText, defined, nameOf } from '../../apis/values.ts';
import { formatVersion } from '../../routing/version.ts';
import { MISSES_LATE_ZONE, type Reason, type Route, isEnabled } from '../../upstream/index.ts';
import { leastCertain, routersReport } from '../routers/routers.ts';
import type { RouterAnswer } from '../routers/types.ts';
import { type ClusterSnapshot, type CollectionName, EVIDENCE } from '../snapshot.ts';
import {
  balanceCauses,
  entryOf,
  evacuatedZones,
  evacuationCauses,
  failingCauses,
  inOneZone,
  meanInZoneShare,
  prerequisiteCauses,
  spreadCauses,
  spreadText,
} from './spread.ts';
import { cause, counted, firstOfEach, givenCauses, listed } from './given.ts';
import { type Facts, type FamilyRoute, type SnapshotIndex, gatherFacts, indexSnapshot } from './facts.ts';
import { fixOf } from './fix.ts';
import { loopCauses, loopReport, withLoop } from './loop.ts';
import { LATE_ZONE_VERSIONS } from './reasons.ts';
import type { Cause, ExplainOptions, Verdict } from './types.ts';
import { kindCauses, requestCauses, wantedReport } from './wanted.ts';

/** By endpoints that are not ready, which complete hints do not have. */
const OF_UNREADY: ReadonlySet<Reason> = new Set(['UnreadyForZone', 'UnusedWithoutHint', 'TerminatingForZone']);

/** Reasons that are the proxy's fault, the most general first. */
const PROXY_REASONS = [
  'RouterUnknown',
  'NoBackendForZone',
  'UnreadyForZone',
  'HintsIgnored',
  'CiliumServiceTopologyOff',
  'CiliumNotOptedIn',
  'RouterNotOptedIn',
  'CiliumExternalTrafficPolicyLocal',
  'LinkerdSlicesOff',
  'HintsGateOff',
  'ProxyNeedsAnnotation',
  'ClientNodeWithoutZone',
  'UnusedWithoutHint',
  'TerminatingForZone',
] as const satisfies readonly Reason[];

const versionOfNode = ({ nodes, index, version }: Facts, name: string): string => {
  const node = nodes.find(({ metadata }) => metadata?.name === name);
  return formatVersion(node === undefined ? version : index.routers.of(node).routing.version);
};

const evidenceOf = (facts: Facts, reason: Reason, routes: readonly FamilyRoute[]): string => {
  const matching = routes.filter((route) => route.reason === reason).flatMap((route) => route.nodes);
  const nodes = [...new Set(matching.map(nameOf))];
  const who = `${nodes.length} of ${counted(facts.nodes.length, 'ready Node')} (${listed(nodes)})`;
  if (reason === 'ProxyNeedsAnnotation' || reason === 'HintsGateOff') {
    const versions = listed(nodes.map((name) => versionOfNode(facts, name)));
    const why =
      reason === 'HintsGateOff' ? 'with the gate for hints off' : 'which uses hints only of annotated Services';
    return `${who} run kube-proxy ${versions}, ${why}.`;
  }
  if (reason === 'ClientNodeWithoutZone') return `${who} have no zone label: their proxies ignore hints.`;
  if (reason === 'CiliumServiceTopologyOff') {
    const first = facts.nodes.find(({ metadata }) => metadata?.name === nodes[0]);
    const beside = first !== undefined && facts.index.routers.of(first).notes.length > 0;
    return `Cilium routes ${beside ? 'what Pods send to cluster IPs, before kube-proxy, ' : ''}on ${who} and has loadBalancer.serviceTopology (enable-service-topology in cilium-config) off.`;
  }
  const first = routes.find((route) => route.reason === reason);
  return `${who}: ${first?.message ?? reason}`;
};

const usedCauses = (facts: Facts): Cause[] =>
  PROXY_REASONS.flatMap((reason) => {
    const routes = OF_UNREADY.has(reason) ? facts.routes : facts.idealRoutes;
    const found = routes.some((route) => route.reason === reason);
    return found ? [cause('used', reason, evidenceOf(facts, reason, routes))] : [];
  });

const givenReport = ({ families }: Facts) =>
  families.map(({ family: addressType, endpoints }) => {
    const zones = new Map<string, { endpoints: number; hinted: number }>();
    const row = (zone: string) => {
      const found = zones.get(zone) ?? { endpoints: 0, hinted: 0 };
      zones.set(zone, found);
      return found;
    };
    for (const { zone, forZones } of endpoints) {
      row(zone).endpoints += 1;
      for (const hinted of forZones) row(hinted).hinted += 1;
    }
    return {
      addressType,
      ready: endpoints.length,
      /** Ready endpoints that carry a zone hint. */
      hinted: endpoints.filter(({ forZones }) => forZones.length > 0).length,
      /** Ready endpoints and hints by zone. */
      zones: Object.fromEntries([...zones].sort(([a], [b]) => byText(a, b))),
    };
  });

/** kube-proxy is judged by its minor; of others the version counts as their image names it. */
const routerFields = ({ router, certainty, version, routing }: RouterAnswer) => ({
  router,
  certainty,
  /** `1.34.2`, or the minor by which it is judged; empty where that is not known. */
  version: router === 'kube-proxy' ? formatVersion(routing.version) : (version ?? ''),
});

const usedReport = ({ routes, families, index }: Facts) => {
  const order = families.map(({ family }) => family);
  return routes
    .flatMap(({ nodes, zone, family, port, mode, used, reason }) => {
      const inside = used.filter((endpoint) => zone !== '' && endpoint.zone === zone).length;
      return nodes.map((node) => ({
        node: nameOf(node),
        zone,
        addressType: family,
        port,
        ...routerFields(index.routers.of(node)),
        mode,
        /** That a connection from here is spread over. */
        endpoints: used.length,
        /** Fraction of them in the node's own zone; null where nothing is routed or the data plane is not known. */
        inZone: used.length === 0 || reason === 'RouterUnknown' ? null : inside / used.length,
        reason,
      }));
    })
    .sort((a, b) => order.indexOf(a.addressType) - order.indexOf(b.addressType) || byText(a.node, b.node));
};

const isKept = ({ mode, used, zone }: Route): boolean =>
  mode !== '' || (used.length > 0 && used.every((endpoint) => endpoint.zone === zone));

/** All that it uses is published as ready and is not. */
const isFailing = ({ used }: Route): boolean =>
  used.length > 0 && used.every(({ ready, serving }) => ready && !serving);

/** Why no share of the connections can be predicted. */
const whyNoShare = ({ service, nodes, routes, endpoints, noZones }: Facts): string => {
  if (service.spec?.type === 'ExternalName') return 'it is a DNS name';
  if (service.spec?.clusterIP === 'None') return 'headless: its clients choose among addresses from DNS';
  if (nodes.length === 0) return 'no ready Node is known';
  if (endpoints.length === 0) return 'no endpoint is ready';
  if (routes.every(({ reason }) => reason === 'RouterUnknown')) return 'the data plane is not known';
  if (endpoints.every(({ zone }) => zone === '')) return 'no endpoint has a zone';
  if (noZones.length > 0)
    return `Nodes of zone ${listed(noZones.map((zone) => `"${zone}"`))} may be in any zone of the region`;
  return 'no proxy of the cluster routes it';
};

const effectiveReport = (facts: Facts) => {
  const { routes, clientZones, noZones } = facts;
  const spread = loopReport(facts)?.spreadOnPurpose === true;
  const isServed = (route: Route): boolean =>
    (isKept(route) && !isFailing(route)) || (spread && route.reason === 'NoHints');
  const unserved = clientZones.filter(
    (zone) => noZones.includes(zone) || routes.some((route) => route.zone === zone && !isServed(route)),
  );
  const zoneless = routes.some(({ zone }) => zone === '');
  const inZoneShare = meanInZoneShare(facts);
  const unknown = routes.some(({ reason }) => reason === 'RouterUnknown');
  return {
    effective: clientZones.length > 0 && unserved.length === 0 && !zoneless && !unknown,
    clientZones,
    /** Client zones whose traffic is not kept inside, by any family or port, or that are no zones. */
    unserved,
    /** Zones whose connections fail: all that they are sent to is published as ready and is not. */
    failing: clientZones.filter((zone) => routes.some((route) => route.zone === zone && isFailing(route))),
    /**
     * Predicted fraction of connections that stay in their zone, of every family and port, clients by the CPU of the Nodes of each
     * zone; null where there is nothing to predict: no Node, no endpoint with a zone, no router that is known.
     */
    inZoneShare,
    /** Why there is no share; empty where there is one. */
    noShare: inZoneShare === null ? whyNoShare(facts) : '',
  };
};

/** Every Node whose router is known keeps to hints; of the others nothing can be said. */
const onlyUnknown = ({ routes, endpoints }: Facts): boolean =>
  endpoints.length > 0 &&
  endpoints.every(({ forZones }) => forZones.length > 0) &&
  routes.every((route) => route.reason === 'RouterUnknown' || isKept(route));

const trivialCauses = ({ nodes, clientZones, name }: Facts): Cause[] => {
  if (nodes.length === 0)
    return [
      cause('used', 'NoNodes', `No ready Node is known; no statement is possible about clients of Service ${name}.`),
    ];
  if (clientZones.length !== 1) return [];
  return [cause('prerequisite', 'SingleZone', `All ready worker Nodes are in ${listed(clientZones)}.`)];
};

/** Nodes of which one that got its zone late is ignored by its kube-proxy. */
export const racedNodes = ({ readyNodes, routers }: Pick<SnapshotIndex, 'readyNodes' | 'routers'>) => {
  const [first, last] = MISSES_LATE_ZONE;
  return readyNodes.filter((node) => {
    const { router, routing } = routers.of(node);
    const { minor } = routing.version;
    return router === 'kube-proxy' && minor >= first && minor <= last;
  });
};

/** The remaining cause if everything that objects show is right. */
const crossingCauses = ({ options, routes, index }: Facts, effective: boolean): Cause[] => {
  if (options.crossing !== true || !effective || routes.length === 0) return [];
  const raced = racedNodes(index);
  if (raced.length === 0) return [];
  const evidence = `${listed(raced.map(nameOf))} run kube-proxy ${LATE_ZONE_VERSIONS}, and all objects are correct.`;
  return [cause('used', 'ProxyMissedItsZone', evidence)];
};

/** Without what this version does not have. */
const remedyFor = (remedy: string, { version, options }: Facts): string =>
  isEnabled('ServiceTrafficDistribution', version, options.gates)
    ? remedy
    : remedy
        .replace(
          /`spec\.trafficDistribution` \(.*?\) or (the strategy `same-zone`): neither looks/,
          '$1, which does not look',
        )
        .replace(/ Or replace the annotation by `spec\.trafficDistribution`.*$/, '');

/** Causes in the order in which to look at them; each code once. */
const findCauses = (facts: Facts, effective: boolean, wanted: boolean): Cause[] => {
  const kind = kindCauses(facts);
  const loop = loopCauses(facts);
  const asked = requestCauses(facts).filter(({ reason }) => reason !== 'AnnotationNotRecognized' || loop.length === 0);
  const evacuation = evacuationCauses(facts);
  // The loop measures what is only assumed here; an evacuation lends endpoints and shifts load on purpose.
  const balance = loopReport(facts)?.inForce === true || evacuation.length > 0 ? [] : balanceCauses(facts);
  const isRouted = kind.every(({ stage }) => stage === 'given');
  const found = [
    ...trivialCauses(facts).filter(({ reason }) => reason === 'NoNodes'),
    ...evacuation,
    ...failingCauses(facts),
    ...kind,
    ...(kind.some(({ reason }) => reason === 'ExternalName') ? [] : asked),
    // No hint helps before Pods are spread.
    ...(isRouted && inOneZone(facts) ? spreadCauses(facts) : []),
    ...withLoop(facts, loop, givenCauses(facts)),
    // Proxies never look at hints of a headless Service or one with the policy Local.
    ...(isRouted ? [...usedCauses(facts), ...spreadCauses(facts)] : []),
    ...trivialCauses(facts).filter(({ reason }) => reason === 'SingleZone'),
    ...loop.filter(({ stage }) => stage === 'prerequisite'),
    ...(wanted ? [...balance, ...prerequisiteCauses(facts)] : []),
    ...crossingCauses(facts, effective),
  ];
  return firstOfEach(found).map((each) => {
    const fix = fixOf(each.reason, facts);
    const remedy = remedyFor(each.remedy, facts);
    return fix.length === 0 ? { ...each, remedy } : { ...each, remedy, fix };
  });
};

/** What of these could not be seen, and why. */
export const unseenOf = (snapshot: ClusterSnapshot, names: readonly CollectionName[]) =>
  names.flatMap((what) => {
    const collection = snapshot[what];
    return collection.kind === 'unknown' ? [{ what, why: collection.why }] : [];
  });

/**
 * What the verdict covers: connections through the cluster IP, by the routers seen. Pods or workloads show who else connects to
 * endpoints; an Ingress without a controller shows nothing.
 */
const scopeOf = (facts: Facts) => {
  const { snapshot, bypasses, clientZones } = facts;
  // With clients in one zone nothing crosses, whatever bypasses the cluster IP.
  const shown = snapshot.pods.kind === 'known' || snapshot.workloads.kind === 'known' || clientZones.length === 1;
  return {
    through: 'clusterIP' as const,
    /** Who goes around it, or may. */
    around: bypasses.map(({ client, evidence, possible }) => ({ client, object: evidence.object, possible })),
    /** What would show who goes around, where it was not read. */
    unseen: shown ? [] : unseenOf(snapshot, ['pods', 'workloads', 'ingresses']).map(({ what }) => what),
    /** By which Node traffic from outside enters; empty where none does. */
    enters: entryOf(facts)?.enters ?? '',
  };
};

/** What is found out about a Service, before it is rendered. `index`: share it between diagnoses of one snapshot. */
export const diagnose = (
  snapshot: ClusterSnapshot,
  service: Service,
  options: ExplainOptions,
  index: SnapshotIndex = indexSnapshot(snapshot, options),
) => {
  const facts = gatherFacts(snapshot, service, options, index);
  const wanted = wantedReport(facts);
  const effective = effectiveReport(facts);
  const certainty = leastCertain(
    index.groups.flatMap((nodes) => nodes.slice(0, 1)).map((node) => index.routers.of(node).certainty),
  );
  const verdict = ((): Verdict => {
    // Under an evacuation every Service has hints, also one that asks for none.
    if (!wanted.wanted && evacuatedZones(facts).length > 0) return 'NotWanted';
    if (effective.effective) return certainty === 'seen' ? 'Effective' : 'Assumed';
    if (!wanted.wanted) return 'NotWanted';
    // Hints may be right or wrong: whom they would serve is not known.
    if (facts.nodes.length === 0) return 'Unknown';
    const { unserved } = effective;
    if (unserved.length > 0 && unserved.every((zone) => facts.noZones.includes(zone))) return 'Unknown';
    return certainty === 'unknown' && onlyUnknown(facts) ? 'Unknown' : 'Ineffective';
  })();
  const causes = findCauses(facts, effective.effective, wanted.wanted);
  return { facts, verdict, wanted, given: givenReport(facts), effective, causes };
};

export type Diagnosis = ReturnType<typeof diagnose>;

export const explain = (snapshot: ClusterSnapshot, service: Service, options: ExplainOptions) => {
  const { facts, verdict, wanted, given, effective, causes } = diagnose(snapshot, service, options);
  const loop = loopReport(facts);
  return {
    namespace: facts.ref.namespace,
    name: facts.ref.name,
    kubernetesVersion: formatVersion(facts.version),
    ...routersReport(facts.nodes, facts.index.routers),
    verdict,
    scope: scopeOf(facts),
    wanted,
    given,
    used: usedReport(facts),
    effective,
    /** Only where its FlowPolicy was seen. */
    ...defined({ loop }),
    /** Clients that do not pass the rules of its proxies. */
    bypasses: facts.bypasses,
    /** By which constraint its Pods are spread over zones; empty where that could not be seen. */
    spread: spreadText(facts),
    /** The first is the one to look at first. */
    causes,
    // Only who asks for a plan misses its FlowPolicy.
    unseen: unseenOf(snapshot, facts.planned === undefined ? EVIDENCE : [...EVIDENCE, 'flowPolicies']),
  };
};

export type Explanation = ReturnType<typeof explain>;

// Answers whether the Services of a cluster survive the loss of a zone: N−1 of each, worst first.
import { byText, sumBy, sumOf, tally } from '../../apis/values.ts';
import { zoneOfNode } from '../../apis/core.ts';
import { formatVersion } from '../../routing/version.ts';
import { factsOf } from '../explain/facts.ts';
import { type SnapshotIndex, indexSnapshot } from '../explain/snapshot-index.ts';
import { sortedServices } from '../models/lookup.ts';
import { hintFor } from '../models/what-if.ts';
import { routersReport } from '../routers/routers.ts';
import { type ClusterSnapshot, itemsOf, unseenOf } from '../snapshot.ts';
import { ANSWERS, type ServiceSurvival, type SurvivalOptions, survivalOf, worstFirst } from './service.ts';

export const zonesOf = (snapshot: ClusterSnapshot): string[] => {
  const ofNodes = itemsOf(snapshot.nodes).map(zoneOfNode);
  const endpoints = itemsOf(snapshot.slices).flatMap((slice) => slice.endpoints ?? []);
  const ofEndpoints = endpoints.map(({ zone = '' }) => zone);
  return [...new Set([...ofNodes, ...ofEndpoints])].filter((zone) => zone !== '').sort(byText);
};

/** Why the question makes no sense for these objects; undefined where it does. */
export const unknownZone = (snapshot: ClusterSnapshot, zones: readonly string[]): string | undefined => {
  const known = zonesOf(snapshot);
  const stranger = zones.find((zone) => !known.includes(zone));
  if (stranger === undefined) return undefined;
  if (known.length === 0) return `no Node and no endpoint is in zone "${stranger}": none has a zone at all`;
  return `no Node and no endpoint is in zone "${stranger}"${hintFor(stranger, known)}`;
};

const sumUp = (services: readonly ServiceSurvival[], index: SnapshotIndex, zones: readonly string[]) => {
  const { readyNodes, weights } = index;
  const answers = services.map(({ answer }) => answer);
  return {
    services: services.length,
    answers: tally(ANSWERS, answers),
    measured: services.filter(({ load }) => load?.basis === 'measured').length,
    /** Services whose clients are where they were measured. */
    clientsMeasured: services.filter(({ load }) => load?.clientsMeasured === true).length,
    /** How clients of the others are taken to be spread. */
    clientsBy: weights === undefined ? 'nodes' : 'cpu',
    replicas: sumBy(services, ({ replicas }) => sumOf(Object.values(replicas))),
    /** Ready ones in the zones, of all; as are Nodes. */
    endpoints: { count: sumBy(services, (own) => own.endpoints.count), of: sumBy(services, (own) => own.endpoints.of) },
    nodes: { count: readyNodes.filter((node) => zones.includes(zoneOfNode(node))).length, of: readyNodes.length },
  } as const;
};

/** Clients of the zones still call, as they do in an evacuation; only what serves there is gone. */
export const survival = (snapshot: ClusterSnapshot, options: SurvivalOptions) => {
  const { namespace, zones, selects = () => true } = options;
  const index = indexSnapshot(snapshot, options);
  const flows = Map.groupBy(options.measured?.flows ?? [], ({ service }) => service);
  const services = sortedServices(snapshot, namespace)
    .filter(selects)
    .map((service) => survivalOf(factsOf(snapshot, service, options, index), options, flows))
    .sort((a, b) => worstFirst(a, b) || byText(a.namespace, b.namespace) || byText(a.name, b.name));
  const sum = sumUp(services, index, zones);
  return {
    kubernetesVersion: formatVersion(options.version ?? index.version),
    ...routersReport(index.readyNodes, index.routers),
    zones,
    namespace: namespace ?? null,
    survives: sum.answers.NoEndpointElsewhere + sum.answers.Overloaded === 0,
    services,
    sum,
    unseen: unseenOf(snapshot, ['routers']),
  };
};

export type SurvivalReport = ReturnType<typeof survival>;

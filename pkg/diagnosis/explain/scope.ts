// What a verdict covers: which clients are seen, and by which ways they come.
import { byText, countBy, defined, sumBy } from '../../apis/values.ts';
import { selects, unseenWatchers } from '../bypasses/watchers.ts';
import { entryOf, isCalledInside } from './entry.ts';
import { shutOut } from './local.ts';
import { type Traffic, inZoneShare } from '../../upstream/index.ts';
import { type Facts, meanInZoneShare } from './facts.ts';

/** What the verdict covers: connections through the cluster IP, by the routers seen. */
export const scopeOf = (facts: Facts, wanted: boolean) => {
  const { name, snapshot, bypasses, clientZones, service, index, past, callers, callerPods } = facts;
  const [entry, named] = [entryOf(facts), index.bypasses.byService.get(name) ?? []];
  const ways = named.filter(({ entry: { kind } }) => kind !== 'TargetGroupBinding'); // those are its load balancer's
  const isIn = countBy(callerPods, ({ pod }) => index.zoneOf.get(pod.nodeName) ?? '');
  const seenIn = clientZones.every((zone) => isIn.has(zone)) || isIn.has('') ? [] : [...isIn.keys()].sort(byText);
  const ofSeen = (traffic: Traffic): number =>
    sumBy([...isIn], ([zone, count]) => {
      const own = [...traffic.matrix].filter(([from]) => from === zone);
      return (count * inZoneShare({ ...traffic, matrix: new Map(own) })) / callerPods.length;
    });
  const isCalled =
    callers.some(({ runner }) => !selects(service, runner)) || bypasses.length + (entry?.doors ?? 0) < ways.length;
  const isBalanced = entry !== undefined && (service.spec?.type === 'LoadBalancer' || entry.doors > 0);
  const isOwn = !wanted && bypasses.every(({ client }) => client === 'kube-apiserver');
  const isMeant = isOwn && (ways.length > 0 || entry?.policy === 'Local');
  const foreign = !isCalled && past === undefined && (isBalanced || isMeant);
  const isShut = entry !== undefined && isCalledInside(facts) && shutOut(facts).length > 0;
  // A gateway in a zone without endpoints crosses from there (gardener/gardener#6997).
  const isServed = [...index.workerZones].every((zone) => facts.endpoints.some((own) => own.zone === zone));
  const unseen = clientZones.length === 1 ? [] : unseenWatchers(snapshot, service, index.bypasses.watchers);
  return {
    through: 'clusterIP' as const,
    // What each flag means stands in Client and Found.
    around: bypasses.map(({ client, evidence, possible, unsure, byHints, all, keeps, onNode, ...way }) => ({
      client,
      object: evidence.object,
      possible: possible || unsure === true,
      ...(way.firstContact && { firstContact: true }),
      ...defined({ byHints: byHints || undefined, all: all || undefined, behind: way.behind, how: way.how }),
      ...defined({ watches: way.watches, onNode, keeps: (keeps && (onNode || isServed)) || undefined }),
    })),
    /** With clients in one zone nothing crosses, whatever bypasses the cluster IP. What nothing went past needs no more to be read, but for load balancers. */
    unseen: past?.settled === true ? unseen.filter((what) => what === 'ingresses') : unseen,
    /** Only where meters measured it: connections a second past the Service, to the addresses of its endpoints. */
    ...defined({ past }),
    /** Zones of the clients that are seen to name it, where these are not all; empty: none is seen, or all zones have some. */
    seenIn,
    /** Of their connections, the predicted fraction that stays in the zone, where one is known: `inZoneShare` counts every Node. */
    seenShare: seenIn.length === 0 ? null : meanInZoneShare(facts, ofSeen),
    /** By which Node traffic from outside enters, and whether Pods that are seen to use its address may fail; empty where none does. */
    enters: `${entry?.enters ?? ''}${isShut ? '; Pods that use its address may fail' : ''}`,
    /** It is entered by a load balancer (by node ports as well) or under the policy Local, or called by the API server, and no other client is seen. */
    foreign,
  };
};

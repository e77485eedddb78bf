// What keeps a client with one endpoint, in its zone or not (affinity, a scheduler that hashes addresses, one connection for all requests),
// or from an address that works for others.
import { nameOf } from '../../apis/values.ts';
import { listIn } from '../project/fields.ts';
import { routerObjectTitle } from '../routers/kube-proxy.ts';
import type { RouterName } from '../routers/types.ts';
import { itemsOf } from '../snapshot.ts';
import type { Facts } from './facts.ts';
import { type Cause, cause, listed } from './reasons.ts';

const HTTP2 = /^(?:grpc|h2c|http2)(?:-|$)|^kubernetes\.io\/(?:h2c|wss?)$/;

// kubernetes/kubernetes#121590; mh takes ports into account (#115527).
const SCHEDULER_REMEDY =
  'Use another scheduler of IPVS: `rr` (the default), `lc`, or with kube-proxy from 1.27 on `mh`.';
/** kube-router pkg/controllers/proxy; dh hashes the cluster IP, of which there is one. */
const SCHEDULER = 'kube-router.io/service.scheduler';

const REUSE_REMEDY =
  'Limit the age of connections at the server (gRPC: MAX_CONNECTION_AGE), let clients balance over a headless Service (gRPC: round_robin), or put a proxy in between that balances requests (a mesh, a Gateway).';

/** What keeps a client with one endpoint; whether it matters depends on how many clients there are. */
export const stickyCauses = ({ service, name, endpoints, snapshot, nodes, bypasses, index }: Facts): Cause[] => {
  const { sessionAffinity, ports = [] } = service.spec ?? {};
  if (endpoints.length < 2 || service.spec?.clusterIP === 'None') return [];
  const hashing = itemsOf(snapshot.routers).find(
    ({ settings }) => settings['mode'] === 'ipvs' && settings['ipvs.scheduler'] === 'sh',
  );
  const scheduler = service.metadata?.annotations?.[SCHEDULER] ?? '';
  const reused = ports.find((port) => HTTP2.test(port.name ?? '') || HTTP2.test(port.appProtocol ?? ''));
  const sticky = (evidence: string, remedy?: string) => [cause('prerequisite', 'StickyClients', evidence, remedy)];
  const answers = nodes.map((node) => index.routers.of(node));
  // Beside kube-proxy Cilium keeps no affinity for the cluster IP (cilium#35254).
  if (sessionAffinity === 'ClientIP' && !answers.every(({ router, notes }) => router === 'cilium' && notes.length > 0))
    return sticky(
      `Service ${name} has sessionAffinity ClientIP: connections from one address go to one endpoint, and what comes through a proxy has one address.`,
    );
  const runs = (plane: RouterName): boolean => answers.some(({ router }) => router === plane);
  const hashed = (what: string, by: 'of' | 'to') =>
    sticky(`${what}: all connections ${by} one address go to one endpoint.`, SCHEDULER_REMEDY);
  if (hashing !== undefined && runs('kube-proxy'))
    return hashed(`${routerObjectTitle(hashing)} has ipvs.scheduler sh`, 'of');
  if (/^[sd]h$/.test(scheduler) && runs('kube-router'))
    return hashed(`Service ${name} has ${SCHEDULER} ${scheduler}`, scheduler === 'sh' ? 'of' : 'to');
  // What goes around the cluster IP may balance requests.
  if (reused === undefined || bypasses.length > 0) return [];
  const evidence = `Port ${reused.name ?? reused.port} of Service ${name} is of a protocol whose clients keep one connection open: the endpoint is picked once for all their requests.`;
  return sticky(evidence, REUSE_REMEDY);
};

/** kubernetes/kubernetes#131765 for nftables: mended by #132456, and in 1.33 by #133969. */
const SHUTS_OUT = /^1\.(?:29|3[0-2]|33\.[0-5]$)/;
const SHUT_OUT_REMEDY =
  'Have Pods use the cluster IP (the name of the Service), or update kube-proxy to 1.33.6, 1.34 or newer.';

/** Under the policy Local: on which Nodes Pods do not reach the addresses by which the world does. */
export const shutOut = ({ service, name, endpoints, nodes, index, snapshot }: Facts): Cause[] => {
  if (service.spec?.externalTrafficPolicy !== 'Local') return [];
  const hosts = new Set(endpoints.map(({ nodeName }) => nodeName));
  const out = nodes.filter((node) => {
    const { router, version } = index.routers.of(node);
    return !hosts.has(nameOf(node)) && router === 'kube-proxy' && SHUTS_OUT.test(version ?? '');
  });
  const isNft = itemsOf(snapshot.routers).some(({ settings }) => settings['mode'] === 'nftables');
  // kube-proxy knows addresses only: no host names, and none that a load balancer keeps for itself.
  const has = listIn(service, 'status.loadBalancer.ingress').some(({ ip, ipMode }) => ip && ipMode !== 'Proxy');
  if (!isNft || out.length === 0 || !has) return [];
  const evidence = `Nodes without an endpoint of Service ${name} (${listed(out.map(nameOf))}): kube-proxy in nftables mode there drops what their own Pods send to its external address.`;
  return [cause('prerequisite', 'LoadBalancerTraffic', evidence, SHUT_OUT_REMEDY)];
};

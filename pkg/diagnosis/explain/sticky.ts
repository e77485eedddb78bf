// What keeps a client with one endpoint, in its zone or not: affinity, a scheduler that hashes addresses, one connection for all requests.
import { routerObjectTitle } from '../routers/kube-proxy.ts';
import { itemsOf } from '../snapshot.ts';
import type { Facts } from './facts.ts';
import { type Cause, cause } from './reasons.ts';

const HTTP2 = /^(?:grpc|h2c|http2)(?:-|$)|^kubernetes\.io\/(?:h2c|wss?)$/;

// kubernetes/kubernetes#121590; mh takes ports into account (#115527).
const SCHEDULER_REMEDY = 'Use another scheduler of IPVS: `rr` (the default), `lc`, or from 1.27 on `mh`.';

const REUSE_REMEDY =
  'Limit the age of connections at the server (gRPC: MAX_CONNECTION_AGE), let clients balance over a headless Service (gRPC: round_robin), or put a proxy in between that balances requests (a mesh, a Gateway).';

/** What keeps a client with one endpoint; whether it matters depends on how many clients there are. */
export const stickyCauses = ({ service, name, endpoints, snapshot, nodes, bypasses, index }: Facts): Cause[] => {
  const { sessionAffinity, ports = [] } = service.spec ?? {};
  if (endpoints.length < 2 || service.spec?.clusterIP === 'None') return [];
  const hashing = itemsOf(snapshot.routers).find(
    ({ settings }) => settings['mode'] === 'ipvs' && settings['ipvs.scheduler'] === 'sh',
  );
  const reused = ports.find((port) => HTTP2.test(port.name ?? '') || HTTP2.test(port.appProtocol ?? ''));
  const sticky = (evidence: string, remedy?: string) => [cause('prerequisite', 'StickyClients', evidence, remedy)];
  const answers = nodes.map((node) => index.routers.of(node));
  // Beside kube-proxy Cilium keeps no affinity for the cluster IP (cilium#35254).
  if (sessionAffinity === 'ClientIP' && !answers.every(({ router, notes }) => router === 'cilium' && notes.length > 0))
    return sticky(
      `Service ${name} has sessionAffinity ClientIP: connections from one address go to one endpoint, and what comes through a proxy has one address.`,
    );
  if (hashing !== undefined && answers.some(({ router }) => router === 'kube-proxy')) {
    const evidence = `${routerObjectTitle(hashing)} has ipvs.scheduler sh: all connections of one address go to one endpoint.`;
    return sticky(evidence, SCHEDULER_REMEDY);
  }
  // What goes around the cluster IP may balance requests.
  if (reused === undefined || bypasses.length > 0) return [];
  const evidence = `Port ${reused.name ?? reused.port} of Service ${name} is of a protocol whose clients keep one connection open: the endpoint is picked once for all their requests.`;
  return sticky(evidence, REUSE_REMEDY);
};

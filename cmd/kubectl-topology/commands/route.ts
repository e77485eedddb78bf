// `kubectl topology route`: which endpoints the clients of each node get, and by which rule.
import { defined } from '../../../pkg/apis/values.ts';
import { type RoutesReport, routesReport } from '../../../pkg/diagnosis/models/routes.ts';
import { routersOf } from '../../../pkg/diagnosis/routers/routers.ts';
import { OBJECTS } from '../../../pkg/diagnosis/snapshot.ts';
import { type Column, tableOf } from '../../../pkg/report/text.ts';
import { choiceFlag, flag, requiredFlag, topologyCommand } from '../command.ts';
import { findNodes, findPort, loadService } from '../session.ts';
import { OUTPUT_FLAG, inputFlags, versionFlags } from '../flags.ts';
import { print } from '../output.ts';
import { PROXY_FLAGS, statedBy } from '../model-flags.ts';

const listText = (list: readonly string[] | null): string => {
  if (list === null) return '-';
  return list.length === 0 ? '(none)' : list.join(',');
};

const COLUMNS: readonly Column<RoutesReport['routes'][number]>[] = [
  ['NODE', ({ node }) => node],
  ['ZONE', ({ zone }) => zone || '-'],
  ['ROUTER', ({ router, certainty }) => (certainty === 'seen' ? router : `${router} (${certainty})`)],
  ['PORT', ({ port }) => port || '-'],
  ['MODE', ({ mode }) => mode || '-'],
  ['CLUSTER', ({ cluster }) => listText(cluster)],
  ['LOCAL', ({ local }) => listText(local)],
  ['REACHABLE', ({ reachable }) => listText(reachable)],
  ['REASON', ({ reason }) => reason],
  ['MESSAGE', ({ message }) => message],
];
const ONLY_WIDE: ReadonlySet<string> = new Set(['CLUSTER', 'LOCAL', 'MESSAGE']);

export const route = topologyCommand({
  name: 'route',
  hidden: true,
  summary: 'Which endpoints a connection from each node gets, and which rule of its proxy decided',
  examples: [
    ['Every node and port, as JSON', 'route -f cluster.yaml --service shop/web -o json'],
    ['One node, if its kube-proxy were 1.30', 'route --service shop/web --node node-a1 --kubernetes-version 1.30'],
    ['With Cilium instead', 'route -f cluster.yaml --service shop/web --proxy cilium --cilium-service-topology'],
  ],
  flags: {
    ...inputFlags(),
    service: requiredFlag('--service <name>', 'the Service: NAME or NAMESPACE/NAME'),
    port: flag('--port <port>', "one of the Service's ports, by name or number; default: all"),
    node: flag('--node <name>', 'one node; default: all'),
    addressType: choiceFlag('--address-type <family>', "default: the Service's first address family", ['IPv4', 'IPv6']),
    ...PROXY_FLAGS,
    ...OUTPUT_FLAG,
    ...versionFlags('kube-proxy on every node'),
  },
  async run(io, flags) {
    const { snapshot, service, slices } = await loadService(flags, flags.service, [...OBJECTS, 'routers'], io);
    const nodes = findNodes(snapshot, flags.node);
    const port = findPort(service, flags.port);
    const asked = { service, nodes, slices, ...defined({ port, family: flags.addressType }) };
    const report = routesReport(routersOf(snapshot, statedBy(flags)), asked);
    if (nodes.length === 0) io.err.write('warning: there are no Nodes, so there are no routes\n');
    const columns = (wide: boolean) => COLUMNS.filter(([title]) => wide || !ONLY_WIDE.has(title));
    await print(io, flags.output, report, ({ wide }) => tableOf(columns(wide), report.routes));
    return 0;
  },
});

// `kubectl topology route`: which endpoints the clients of each node get, and by which rule.
import { Option } from 'commander';
import { defined } from '../../../pkg/apis/values.ts';
import { serviceKeyOfRef, serviceRefOf, slicesByService } from '../../../pkg/diagnosis/models/lookup.ts';
import { type RoutesReport, routesReport } from '../../../pkg/diagnosis/models/routes.ts';
import { routersOf } from '../../../pkg/diagnosis/routers/routers.ts';
import { itemsOf } from '../../../pkg/diagnosis/snapshot.ts';
import { renderTable } from '../../../pkg/report/text.ts';
import { topologyCommand } from '../io.ts';
import { findNodes, findPort, findService, inNamespaceOf, load } from '../session.ts';
import { addInputFlags, addOutputFlag, addVersionFlags } from '../flags.ts';
import type { InputFlags, OutputFlags, VersionFlags } from '../flags.ts';
import { print } from '../output.ts';
import { type ProxyFlags, addProxyFlags, statedBy } from '../model-flags.ts';

interface Flags extends InputFlags, VersionFlags, OutputFlags, ProxyFlags {
  service: string;
  port?: string;
  node?: string;
  addressType?: string;
}

const listText = (list: readonly string[] | null): string => {
  if (list === null) return '-';
  return list.length === 0 ? '(none)' : list.join(',');
};

const renderRoutes = ({ routes }: RoutesReport, wide: boolean): string =>
  renderTable(
    [
      'NODE',
      'ZONE',
      'ROUTER',
      'PORT',
      'MODE',
      ...(wide ? ['CLUSTER', 'LOCAL', 'REACHABLE'] : ['REACHABLE']),
      'REASON',
      ...(wide ? ['MESSAGE'] : []),
    ],
    routes.map(({ node, zone, router, certainty, port, mode, cluster, local, reachable, reason, message }) => [
      node,
      zone === '' ? '-' : zone,
      certainty === 'seen' ? router : `${router} (${certainty})`,
      port === '' ? '-' : port,
      mode === '' ? '-' : mode,
      ...(wide ? [listText(cluster), listText(local)] : []),
      listText(reachable),
      reason,
      ...(wide ? [message] : []),
    ]),
  );

export const route = topologyCommand<Flags>({
  name: 'route',
  hidden: true,
  summary: 'Which endpoints a connection from each node gets, and which rule of its proxy decided',
  examples: [
    ['Every node and port, as JSON', 'route -f cluster.yaml --service shop/web -o json'],
    ['One node, if its kube-proxy were 1.30', 'route --service shop/web --node node-a1 --kubernetes-version 1.30'],
    [
      'With Cilium in place of kube-proxy',
      'route -f cluster.yaml --service shop/web --proxy cilium --cilium-service-topology',
    ],
  ],
  define(command) {
    addInputFlags(command)
      .requiredOption('--service <name>', 'the Service: NAME or NAMESPACE/NAME')
      .option('--port <port>', "one of the Service's ports, by name or number; default: all")
      .option('--node <name>', 'one node; default: all')
      .addOption(
        new Option('--address-type <family>', "default: the Service's first address family").choices(['IPv4', 'IPv6']),
      );
    addVersionFlags(addOutputFlag(addProxyFlags(command)), 'kube-proxy on every node');
  },
  async run(io, flags) {
    const loaded = await load(inNamespaceOf(flags, flags.service), ['nodes', 'services', 'slices', 'routers'], io);
    const { snapshot } = loaded;
    const service = findService(loaded, flags.service);
    const nodes = findNodes(loaded, flags.node);
    const routers = routersOf(snapshot, statedBy(flags));
    const report = routesReport({
      service,
      nodes,
      slices: slicesByService(itemsOf(snapshot.slices)).get(serviceKeyOfRef(serviceRefOf(service))) ?? [],
      routers,
      ...(flags.port === undefined ? {} : { port: findPort(service, flags.port) }),
      ...defined({ family: flags.addressType }),
    });
    if (nodes.length === 0) io.err.write('warning: there are no Nodes, so there are no routes\n');
    await print(io, flags.output, report, (wide) => renderRoutes(report, wide));
    return 0;
  },
});

// A real Envoy beside the clients of each zone, with its own rule for zones and the endpoints of a Service as files.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { builtProgram } from './bed/binaries.ts';
import type { Component } from './bed/component.ts';
import type { Bed, BedService } from './bed/index.ts';
import { enterPrefix, repeat, run, waitFor } from './bed/machine.ts';
import type { SliceEndpoint } from './bed/pod.ts';
import type { World } from './closed-loop-world.ts';
import { zonesOf } from './hints-support.ts';
import { readRules } from './proxy-rules.ts';

/** As `// Needs built` of the suite names it. */
export const ENVOY = 'envoy/1.40.0/envoy';
/** Of 127.0.0.1 on each node. */
export const ENVOY_PORT = 10_080;
const ADMIN_PORT = 9_901;
/** That the Pods listen on. */
const POD_PORT = 8_080;
/** Our clients wait as long. */
const TIMEOUT = '1.5s';
/** kube-proxy takes about as long. */
const LOOK_MS = 200;

const TYPES = 'type.googleapis.com/envoy';
const FILTERS = `${TYPES}.extensions.filters`;

const socketOf = (address: string, port: number) => ({ socket_address: { address, port_value: port } });

/** Everything but what has to be given is Envoy's default. */
const policyOf = (name: string, message: string, fields: object = {}) => ({
  policies: [
    {
      typed_extension_config: {
        name: `envoy.load_balancing_policies.${name}`,
        typed_config: { '@type': `${TYPES}.extensions.load_balancing_policies.${name}.v3.${message}`, ...fields },
      },
    },
  ],
});

const listener = {
  name: 'shop',
  address: socketOf('127.0.0.1', ENVOY_PORT),
  filter_chains: [
    {
      filters: [
        {
          name: 'http',
          typed_config: {
            '@type': `${FILTERS}.network.http_connection_manager.v3.HttpConnectionManager`,
            stat_prefix: 'shop',
            route_config: {
              virtual_hosts: [
                {
                  name: 'shop',
                  domains: ['*'],
                  routes: [{ match: { prefix: '/' }, route: { cluster: 'shop', timeout: TIMEOUT } }],
                },
              ],
            },
            http_filters: [{ name: 'router', typed_config: { '@type': `${FILTERS}.http.router.v3.Router` } }],
          },
        },
      ],
    },
  ],
};

const clusterOf = (folder: string) => ({
  name: 'shop',
  type: 'EDS',
  connect_timeout: '1s',
  eds_cluster_config: {
    eds_config: {
      resource_api_version: 'V3',
      path_config_source: { path: join(folder, 'endpoints.json'), watched_directory: { path: folder } },
    },
  },
  load_balancing_policy: policyOf('load_aware_locality', 'LoadAwareLocality', {
    endpoint_picking_policy: policyOf('round_robin', 'RoundRobin'),
  }),
});

/** The zone of the node is what makes its own endpoints local. */
const bootstrapOf = (zone: string, address: string, folder: string) => ({
  node: { id: `clients-${zone}`, cluster: 'clients', locality: { zone } },
  admin: { address: socketOf(address, ADMIN_PORT) },
  static_resources: { listeners: [listener], clusters: [clusterOf(folder)] },
});

const isReady = ({ conditions }: SliceEndpoint): boolean => conditions?.ready !== false;

/** All ready endpoints of all slices, by zone: Envoy follows no hint. */
const assignmentOf = (endpoints: readonly SliceEndpoint[]) => {
  const byZone = Map.groupBy(endpoints.filter(isReady), ({ zone = '' }) => zone);
  return {
    '@type': `${TYPES}.config.endpoint.v3.ClusterLoadAssignment`,
    cluster_name: 'shop',
    endpoints: [...byZone]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([zone, members]) => ({
        locality: { zone },
        lb_endpoints: members.map(({ addresses }) => ({
          endpoint: { address: socketOf(addresses[0] ?? '', POD_PORT) },
        })),
      })),
  };
};

export interface Envoys {
  readonly version: string;
  assertRunning(): void;
}

/** Starts one in each zone, and returns once all of them balance by the rule over all endpoints. */
export const startEnvoys = async (bed: Bed, { zones, services }: World, service: string): Promise<Envoys> => {
  const program = builtProgram(ENVOY);
  const folder = join(bed.directory, 'envoy');
  mkdirSync(folder);
  let shown = '';
  const look = async (): Promise<void> => {
    const assignment = assignmentOf((await services.get(service)?.endpoints()) ?? []);
    const text = JSON.stringify({ resources: [assignment] });
    if (text === shown) return;
    shown = text;
    writeFileSync(join(folder, 'next.json'), text);
    renameSync(join(folder, 'next.json'), join(folder, 'endpoints.json'));
  };
  await look();
  const envoys: Component[] = [];
  for (const [index, [zone, { node }]] of [...zones].entries()) {
    const file = join(folder, `${zone}.json`);
    writeFileSync(file, JSON.stringify(bootstrapOf(zone, node.addresses.ipv4, folder)));
    const words = ['--config-path', file, '--concurrency', '1', '--base-id', String(index + 1)];
    const command = [...enterPrefix(node.namespace), program, ...words, '--disable-hot-restart', '-l', 'warning'];
    const envoy = bed.program({ name: `envoy in ${zone}`, command: command as [string, ...string[]] });
    envoy.start();
    envoys.push(envoy);
    await waitFor(
      `${envoy.name} balances by its rule`,
      async () => (await request(`http://${node.addresses.ipv4}:${ADMIN_PORT}/stats`)).body.text(),
      (stats) => /load_aware_locality\.recompute_total: [1-9]/.test(stats) && /shop\.membership_total: 9/.test(stats),
      { assert: () => envoy.assertRunning() },
    );
  }
  repeat(LOOK_MS, () => look().catch(() => undefined));
  return {
    version: /\d+\.\d+\.\d+/.exec(await run(program, ['--version']))?.[0] ?? '',
    assertRunning: () => envoys.forEach((envoy) => envoy.assertRunning()),
  };
};

/** Addresses that a proxy of the zone has to use: those hinted for it, or all where none is. */
const wantedIn = (zone: string, endpoints: readonly SliceEndpoint[]): string => {
  const ready = endpoints.filter(isReady);
  const own = ready.filter((endpoint) => zonesOf(endpoint).includes(zone));
  return (own.length > 0 ? own : ready)
    .map(({ addresses }) => `${addresses[0]}:${POD_PORT}`)
    .sort()
    .join();
};

const isPlan = (endpoints: readonly SliceEndpoint[]): boolean =>
  endpoints.some((endpoint) => zonesOf(endpoint).join() !== endpoint.zone);

/** Looks until it is stopped; then gives the Services whose plan was in the rules of all kube-proxies at some time. */
export const watchPlans = ({ zones, services }: World, names: readonly string[]) => {
  const reached = new Set<string>();
  const isReached = async ({ clusterIPs, port, endpoints }: BedService): Promise<boolean> => {
    const all = await endpoints();
    if (!isPlan(all)) return false;
    for (const [zone, { node }] of zones) {
      const used = (await readRules(node.namespace, 'IPv4')).used(clusterIPs[0] ?? '', port);
      if (used?.join() !== wantedIn(zone, all)) return false;
    }
    return true;
  };
  const watching = repeat(1_000, async () => {
    for (const name of names) {
      const service = services.get(name);
      if (service !== undefined && !reached.has(name) && (await isReached(service))) reached.add(name);
    }
  });
  return async (): Promise<ReadonlySet<string>> => {
    await watching.stop();
    return reached;
  };
};

// `npm run bench:meter`: what the traffic-meter's caches and its ledger cost at 5,000 Services and 50,000 endpoints, without conntrack;
// with `--live` the whole of it beside conntrack, on real connections.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Flow, parseFlow } from '../../../pkg/traffic/conntrack.ts';
import { createDirectory } from '../../../pkg/traffic/directory.ts';
import { SETTLED_MS, createJudge } from '../../../pkg/traffic/hints.ts';
import { createLedger } from '../../../pkg/traffic/ledger.ts';
import { registerMeterMetrics } from '../../../cmd/traffic-meter/metrics.ts';
import { createMetrics } from '../../../pkg/telemetry/metrics.ts';
import { runLive } from './live.ts';
import { ENDPOINTS, NODES, SERVICES, addressOf, clusterIp, nodeOf, serviceOf, sliceOf } from './world.ts';

const USAGE = `Usage: npm run bench:meter [-- --live [--node-flag FLAG ...]]

Caches and ledger in this process, without conntrack. With --live the bundled meter and conntrack on real connections, 200 and 5,000 a
second, in a network namespace of their own: needs root, conntrack, nftables and \`npm run bundle\`.
`;

const CONNECTIONS = 100_000;

const runInProcess = async (): Promise<void> => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heapMb = (): number => {
    collect();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const directory = createDirectory();
  const before = heapMb();
  for (let index = 0; index < NODES; index += 1) directory.setNode(nodeOf(index));
  for (let index = 0; index < SERVICES; index += 1) {
    directory.setService(serviceOf(index));
    directory.setSlice(sliceOf(index));
  }
  const caches = heapMb() - before;

  const ledger = createLedger(
    directory,
    { name: 'n0', isLocal: (address) => address.startsWith('10.0.0.') },
    () => Math.max(50, Math.floor(200_000 / NODES)),
    createJudge(directory, 'n0', () => SETTLED_MS),
  );
  const lineOf = (event: string, index: number, carried: boolean): string => {
    const service = index % SERVICES;
    const port = 1_024 + (index % 60_000);
    const [request, response] = carried ? [' packets=4 bytes=216', ' packets=5 bytes=50268'] : ['', ''];
    const asked = `src=10.0.0.9 dst=${clusterIp(service)} sport=${port} dport=80${request}`;
    return `${event}ipv4     2 tcp      6 119 TIME_WAIT ${asked} src=${addressOf(service, 0)} dst=10.0.0.9 sport=8080 dport=${port}${response} [ASSURED] mark=0 use=1 id=${index}`;
  };
  const flowOf = (line: string): Flow => {
    const flow = parseFlow(line);
    if (flow === undefined) throw new Error(`not a flow: ${line}`);
    return flow;
  };
  ledger.beginList();
  ledger.endList();

  const cpu = process.cpuUsage();
  for (let index = 0; index < CONNECTIONS; index += 1) {
    ledger.event(flowOf(lineOf('    [NEW] ', index, false)));
    if (index % 1_000 === 0) ledger.settle();
    ledger.event(flowOf(lineOf('[DESTROY] ', index, true)));
  }
  const { user, system } = process.cpuUsage(cpu);
  const micros = (user + system) / CONNECTIONS;

  const idle = heapMb();
  for (let index = 0; index < 10_000; index += 1)
    ledger.event(flowOf(lineOf('    [NEW] ', CONNECTIONS + index, false)));
  ledger.settle();
  const flows = heapMb() - idle;

  const metrics = createMetrics({ defaultMetrics: false });
  registerMeterMetrics(metrics, {
    ledger,
    facts: () => undefined,
    countingSeconds: () => 1,
    listAgeSeconds: () => 1,
    overruns: () => 0,
    longLines: () => 0,
    unsupported: () => [],
  });
  const page = await metrics.text();

  console.log(
    [
      `caches at ${SERVICES} Services, ${SERVICES * ENDPOINTS} endpoints, ${NODES} Nodes: ${caches.toFixed(1)} MB`,
      `a connection (begin and end, with its text made here): ${micros.toFixed(1)} us of CPU`,
      `of a core at 200 a second: ${((micros * 200) / 1e4).toFixed(2)} %, at 5,000: ${((micros * 5_000) / 1e4).toFixed(1)} %`,
      `10,000 living flows: ${flows.toFixed(1)} MB`,
      `metrics page: ${(page.length / 1e6).toFixed(2)} MB`,
      `resident at the end: ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`,
    ].join('\n'),
  );
};

const { values } = parseArgs({
  options: {
    live: { type: 'boolean', default: false },
    inside: { type: 'boolean', default: false },
    'node-flag': { type: 'string', multiple: true, default: [] },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) process.stdout.write(USAGE);
else if (values.inside) await runLive(values['node-flag']);
else if (values.live) {
  const own = [
    process.execPath,
    import.meta.filename,
    '--inside',
    ...values['node-flag'].map((flag) => `--node-flag=${flag}`),
  ];
  process.exitCode = spawnSync('unshare', ['--net', '--mount', ...own], { stdio: 'inherit' }).status ?? 1;
} else await runInProcess();

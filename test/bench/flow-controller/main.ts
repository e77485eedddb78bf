// `npm run bench:flow-controller`: memory and CPU of the flow controller on many Services, and what it asks of the API server.
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { CONFIG_API_VERSION } from '../../../pkg/apis/config/load.ts';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../../pkg/apis/config/flow-controller.ts';
import { flowPolicyDefinition } from '../../../hack/lib/crd.ts';
import type { FlowPolicy } from '../../../pkg/apis/flow-policy.ts';
import { FLOW_POLICIES } from '../../../pkg/apis/resources.ts';
import { POD_METRICS } from '../../../pkg/metrics/resource-metrics.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import type { Sandbox } from '../../sandbox/types.ts';
import { writeResults } from '../../support/results.ts';
import { describeEnvironment } from '../environment.ts';
import { type Child, findCores, pinSelf, startChild } from '../processes.ts';
import { type Scale, clusterObjects, loadObjects } from './world.ts';

const USAGE = `usage: npm run bench:flow-controller -- [--services N] [--endpoints N] [--seconds N] [--hostile N] [--cgroup FOLDER] [--command FILE]

  --services   load-aware Services (default 1000)
  --endpoints  endpoints of each (default 20)
  --seconds    how long the steady state is measured (default 120)
  --hostile    Services more, of 300 endpoints each, that are as hard to plan as their owner can make them (default 0)
  --cgroup     folder of a cgroup that the program is put into, for its memory limit
  --command    the program that is measured (default dist/bundle/flow-controller.js, which npm run bundle makes)
`;

const USER = 'flow-controller';
const BUNDLE = resolve(import.meta.dirname, '../../../dist/bundle/flow-controller.js');
/** As metrics-server's. */
const METRICS_INTERVAL_MS = 15_000;
const START_LIMIT_MS = 300_000;
/** What the controller may take: bytes, and cores. */
const LIMITS = { memory: 200 * 1024 * 1024, cores: 0.25 };

/** The API server is in this process, which is busy with the load of twenty thousand Pods now and then. */
const PATIENT = { leaseDurationSeconds: 90, renewDeadlineSeconds: 60, retryPeriodSeconds: 10 };

interface Measured {
  readonly phase: string;
  readonly seconds: number;
  readonly residentMiB: number;
  readonly peakMiB: number;
  readonly cores: number;
  /** The longest that the main thread was kept from its next turn, milliseconds: what health, Lease and others waited for. */
  readonly delayMs: number;
  readonly requests: Readonly<Record<string, number>>;
}

const mebibytes = (bytes: number): number => Math.round(bytes / 1024 / 1024);

const countsOf = (sandbox: Sandbox): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { user, verb, resource } of sandbox.requests) {
    if (user !== USER || verb === 'watch' || resource === 'leases') continue;
    const kind = `${verb} ${resource}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
};

const LAG = /^(?:\w+_)?nodejs_eventloop_lag_max_seconds(?:\{[^}]*\})? (\S+)$/m;

/** The longest that the program's main thread was kept from its next turn since this was asked last, milliseconds. */
const eventLoopDelay = async (metricsUrl: string | undefined): Promise<number> => {
  if (metricsUrl === undefined) return 0;
  const text = await fetch(metricsUrl).then((answer) => answer.text());
  return Math.round(1_000 * Number(LAG.exec(text)?.[1]));
};

/** Measures while `work` runs. */
const measure = async (
  phase: string,
  sandbox: Sandbox,
  child: Child,
  metricsUrl: () => string | undefined,
  work: () => Promise<void>,
): Promise<Measured> => {
  sandbox.clearRequests();
  await eventLoopDelay(metricsUrl());
  const [from, cpu] = [performance.now(), child.cpuSeconds()];
  await work();
  const delayMs = await eventLoopDelay(metricsUrl());
  const seconds = (performance.now() - from) / 1_000;
  const { resident, peak } = child.memory();
  return {
    phase,
    seconds,
    residentMiB: mebibytes(resident),
    peakMiB: mebibytes(peak),
    cores: (child.cpuSeconds() - cpu) / seconds,
    delayMs,
    requests: countsOf(sandbox),
  };
};

/** Every Service's load is known, and its status says so. */
const observed = (sandbox: Sandbox): number =>
  sandbox
    .list<FlowPolicy>(FLOW_POLICIES)
    .filter(({ status }) =>
      status?.conditions?.some(({ type, status: holds }) => type === 'Observed' && holds === 'True'),
    ).length;

const print = ({ phase, seconds, residentMiB, peakMiB, cores, delayMs, requests }: Measured): void => {
  console.log(
    `${phase}: ${seconds.toFixed(0)} s, ${residentMiB} MiB resident (peak ${peakMiB} MiB), ${cores.toFixed(3)} cores, event loop delayed by ${delayMs} ms at most`,
  );
  for (const [kind, count] of Object.entries(requests)) console.log(`  ${count} × ${kind}`);
};

const run = async (
  scale: Scale,
  { seconds, command, cgroup }: { readonly seconds: number; readonly command: string; readonly cgroup: string },
  directory: string,
): Promise<boolean> => {
  if (!existsSync(command)) throw new Error(`${command} is missing; run \`npm run bundle\` first`);
  const describe = describeEnvironment();
  const cores = findCores(availableParallelism());
  if (cores !== undefined) pinSelf(String(cores.load));
  const sandbox = await startSandbox({ endpointSliceController: false, resources: [POD_METRICS] });
  await sandbox.apply(flowPolicyDefinition());
  sandbox.seed(clusterObjects(scale));
  const meter = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      sandbox.seed(loadObjects(scale, Date.now(), Math.random));
      await pause(METRICS_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const stop = new AbortController();
  const metered = meter(stop.signal);
  const [kubeconfig, config] = [join(directory, 'kubeconfig'), join(directory, 'config.json')];
  await writeFile(kubeconfig, sandbox.kubeconfig(USER));
  const fields = { health: { port: 0 }, metrics: { port: 0 }, log: { level: 'warn' }, leaderElection: PATIENT };
  const { kind } = FLOW_CONTROLLER_CONFIGURATION;
  await writeFile(config, JSON.stringify({ apiVersion: CONFIG_API_VERSION, kind, ...fields }));
  const args = [command, '--config', config, '--kubeconfig', kubeconfig];
  const logFile = join(directory, 'log');
  const child = startChild({ command: process.execPath, args, core: cores?.server, logFile });
  if (cgroup !== '') await writeFile(join(cgroup, 'cgroup.procs'), String(child.pid));
  const metricsUrl = (): string | undefined => {
    const port = /metrics on port (\d+)/.exec(readFileSync(logFile, 'utf8'))?.[1];
    return port === undefined ? undefined : `http://127.0.0.1:${port}/metrics`;
  };
  try {
    const all = scale.services + scale.hostile;
    const started = await measure('start', sandbox, child, metricsUrl, async () => {
      const until = performance.now() + START_LIMIT_MS;
      while (observed(sandbox) < all) {
        const failure = child.failure();
        if (failure !== undefined) throw new Error(failure);
        if (performance.now() > until) throw new Error(`${observed(sandbox)} of ${all} Services observed`);
        await pause(500);
      }
    });
    print(started);
    const steady = await measure('steady', sandbox, child, metricsUrl, () => pause(seconds * 1_000));
    print(steady);
    const ok = steady.residentMiB * 1024 * 1024 <= LIMITS.memory && steady.cores <= LIMITS.cores;
    console.log(`${ok ? 'within' : 'NOT within'} ${mebibytes(LIMITS.memory)} MiB and ${LIMITS.cores} cores`);
    const results = { environment: describe(), scale, phases: [started, steady] };
    const file = resolve(import.meta.dirname, '../results/flow-controller.json');
    if (scale.hostile === 0) writeResults(file, results);
    return ok;
  } finally {
    await child.stop();
    stop.abort();
    await metered;
    await sandbox.stop();
  }
};

const { values } = parseArgs({
  options: {
    services: { type: 'string', default: '1000' },
    endpoints: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '120' },
    hostile: { type: 'string', default: '0' },
    cgroup: { type: 'string', default: '' },
    command: { type: 'string', default: BUNDLE },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) console.log(USAGE);
else {
  const directory = await mkdtemp(join(tmpdir(), 'bench-flow-'));
  const scale = {
    services: Number(values.services),
    endpointsPerService: Number(values.endpoints),
    namespaces: 50,
    hostile: Number(values.hostile),
  };
  const { command, cgroup } = values;
  try {
    process.exitCode = (await run(scale, { seconds: Number(values.seconds), command, cgroup }, directory)) ? 0 : 1;
  } finally {
    await rm(directory, { recursive: true });
  }
}

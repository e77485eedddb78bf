// `npm run bench:meter`: the bundled meter with 5,000 Services in its caches on real connections in a network namespace of
// its own, and `conntrack -E | wc -l` on the same connections as the floor.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { run } from '../../e2e/bed/machine.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import type { Sandbox } from '../../sandbox/types.ts';
import { type Child, parseCpuSeconds, startChild } from '../processes.ts';
import { clientAddresses, clusterOf, serverAddress, serviceAddress } from './world.ts';

const BUNDLE = resolve(import.meta.dirname, '../../../dist/bundle/traffic-meter.js');
const LOAD = resolve(import.meta.dirname, 'load.ts');
const METRICS_PORT = 9_200;
const FOLLOW = ['-E', '-e', 'NEW,DESTROY', '-o', 'extended,id', '--buffer-size', String(8 * 1024 * 1024)];
const SECONDS = 15;
const RATES = [200, 5_000];
/** Connections leave the table soon, so that their ends are part of what is measured. */
const TIME_WAIT_SECONDS = 2;

const ruleset = `
add table ip bench
add chain ip bench out { type nat hook output priority -100; }
add rule ip bench out ip daddr ${serviceAddress} tcp dport 80 dnat to ${serverAddress}:8080
`;

const prepare = async (): Promise<void> => {
  await run('ip', ['link', 'set', 'lo', 'up']);
  for (const address of [...clientAddresses, serverAddress])
    await run('ip', ['addr', 'add', `${address}/32`, 'dev', 'lo']);
  await run('ip', ['route', 'add', serviceAddress, 'dev', 'lo']);
  await run('nft', [ruleset]);
  const settings = { nf_conntrack_acct: 1, nf_conntrack_tcp_timeout_time_wait: TIME_WAIT_SECONDS };
  for (const [name, value] of Object.entries(settings)) await run('sysctl', ['-qw', `net.netfilter.${name}=${value}`]);
};

const cpuOf = (pid: number): number => parseCpuSeconds(readFileSync(`/proc/${pid}/stat`, 'utf8'));

/** The process of a command line that follows events; lists come and go. */
const followerOf = (parent: number): number => {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ').map(Number);
  const found = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('\0-E\0'));
  if (found === undefined) throw new Error('no conntrack -E');
  return found;
};

/** Opens connections; resolves with how many a second it managed. */
const load = async (rate: number): Promise<number> => {
  const args = [LOAD, clientAddresses.join(), serviceAddress, serverAddress, String(rate), String(SECONDS)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => void (text += chunk.toString()));
  await once(child, 'exit');
  return Number(text) / SECONDS;
};

/** Percent of a core that processes took while so many connections a second were opened, and until those had ended. */
const measure = async (rate: number, pids: readonly number[]): Promise<{ reached: number; percent: number[] }> => {
  const before = pids.map(cpuOf);
  const reached = await load(rate);
  await pause((TIME_WAIT_SECONDS + 1) * 1_000);
  return { reached, percent: pids.map((pid, index) => ((cpuOf(pid) - (before[index] ?? 0)) / SECONDS) * 100) };
};

const readMetric = async (name: string): Promise<string[]> => {
  const page = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text();
  return page.split('\n').filter((line) => line.startsWith(`topology_traffic_${name}`));
};

const untilReady = async (child: Child): Promise<void> => {
  for (;;) {
    const failure = child.failure();
    if (failure !== undefined) throw new Error(failure);
    const answer = await fetch(`http://127.0.0.1:${METRICS_PORT + 1}/readyz`).catch(() => undefined);
    if (answer?.ok === true) return;
    await pause(200);
  }
};

const megabytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(0);

/** As in a Pod: where the kubelet mounts the token, in a mount namespace of this process. */
const mountAccount = async (sandbox: Sandbox): Promise<Record<string, string>> => {
  await run('mount', ['-t', 'tmpfs', 'account', '/run']);
  const folder = '/run/secrets/kubernetes.io/serviceaccount';
  await mkdir(folder, { recursive: true });
  const token = /token: (\S+)/.exec(sandbox.kubeconfig('traffic-meter'))?.[1] ?? '';
  await writeFile(join(folder, 'token'), token);
  await writeFile(join(folder, 'ca.crt'), sandbox.caBundle);
  const { hostname, port } = new URL(sandbox.server);
  return { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, KUBECONFIG: '' };
};

const withMeter = async (nodeFlags: readonly string[]): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), 'bench-meter-'));
  const sandbox = await startSandbox({ endpointSliceController: false });
  sandbox.seed(clusterOf());
  const env = await mountAccount(sandbox);
  const ports = [`--metrics-port=${METRICS_PORT}`, `--health-port=${METRICS_PORT + 1}`];
  const args = [...nodeFlags, BUNDLE, '--node-name=n0', '--list-interval=60', ...ports];
  const child = startChild({ command: process.execPath, args, env, logFile: join(directory, 'log') });
  try {
    await untilReady(child);
    await pause(3_000);
    console.log(`the meter with its caches: ${megabytes(child.memory().resident)} MiB resident`);
    const follower = followerOf(child.pid);
    for (const rate of RATES) {
      const { reached, percent } = await measure(rate, [child.pid, follower]);
      const [own = 0, conntrack = 0] = percent;
      console.log(
        `${reached.toFixed(0)} connections a second: meter ${own.toFixed(1)} % of a core, its conntrack ${conntrack.toFixed(1)} %; ` +
          `${megabytes(child.memory().resident)} MiB (peak ${megabytes(child.memory().peak)})`,
      );
    }
    const counted = [...(await readMetric('connections_total')), ...(await readMetric('lost_total'))];
    console.log(counted.join('\n'));
  } finally {
    await child.stop();
    await sandbox.stop();
    await rm(directory, { recursive: true });
  }
};

const withFloor = async (): Promise<void> => {
  const count = spawn('wc', ['-l'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const conntrack = spawn('conntrack', FOLLOW, { stdio: ['ignore', 'pipe', 'ignore'] });
  conntrack.stdout.pipe(count.stdin);
  await pause(1_000);
  for (const rate of RATES) {
    const { reached, percent } = await measure(rate, [conntrack.pid ?? 0, count.pid ?? 0]);
    const [one = 0, other = 0] = percent;
    console.log(
      `the floor at ${reached.toFixed(0)}: conntrack ${one.toFixed(1)} % of a core, wc ${other.toFixed(1)} %`,
    );
  }
  conntrack.kill();
  await once(count, 'exit');
};

/** Runs in the namespaces that `unshare --net --mount` made. */
export const runLive = async (nodeFlags: readonly string[]): Promise<void> => {
  if (!existsSync(BUNDLE)) throw new Error(`${BUNDLE} is missing; run \`npm run bundle\` first`);
  await prepare();
  await withMeter(nodeFlags);
  await withFloor();
};

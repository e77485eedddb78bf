// `make demo`: plays the story on a cluster of its own and exits non-zero if any step is not as expected.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import * as actors from './actors.ts';
import { type Child, startCommands } from './cast.ts';
import type { DemoCluster } from './cluster.ts';
import { startSandboxCluster } from './sandbox-cluster.ts';
import * as screen from './screen.ts';
import type { Stage } from './stage.ts';
import { STORY, STORY_TO_KEEP } from './story.ts';
import { pods } from './world.ts';

interface Flags {
  keep?: boolean;
  kubernetes: 'sandbox' | 'real';
  kubernetesVersion?: string;
}

const {
  keep = false,
  kubernetes,
  kubernetesVersion,
} = new Command('demo')
  .description('Plays the main job end to end with the real commands as processes, and checks every step.')
  .addOption(new Option('--kubernetes <which>', 'cluster to play on').choices(['sandbox', 'real']).default('sandbox'))
  .option(
    '--kubernetes-version <version>',
    'version that the sandbox says it is (default v1.30.14); on a real control plane: the version that the commands go by',
  )
  .option('--keep', 'leave everything running at the end, with a kubeconfig to look around with kubectl')
  .addHelpText(
    'after',
    `
Examples:
  make demo
  make demo ARGS='--kubernetes-version v1.34.0'
  make demo ARGS=--keep
  make demo KUBERNETES=real
  make demo KUBERNETES=real ARGS='--kubernetes-version v1.30.14'   # annotation, label and webhook on that control plane`,
  )
  .parse()
  .opts<Flags>();

const startCluster = async (folder: string): Promise<DemoCluster> => {
  if (kubernetes === 'sandbox') return startSandboxCluster(folder, kubernetesVersion ?? 'v1.30.14');
  const { startRealCluster } = await import('./real-cluster.ts');
  return startRealCluster();
};

/** A real control plane lives in a network namespace of its own, and so does everything that talks to it. */
const isolateIfReal = async (): Promise<void> => {
  if (kubernetes !== 'real') return;
  const { isolatedNamespace, runIsolated } = await import('../e2e/bed/state.ts');
  if (isolatedNamespace() !== undefined) return;
  const { missingRequirements } = await import('../e2e/bed/binaries.ts');
  const missing = await missingRequirements();
  if (missing.length > 0) {
    console.error(`No real control plane here; missing: ${missing.join('; ')}`);
    process.exit(1);
  }
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort());
  const [, ...args] = process.argv;
  process.exit(await runIsolated([process.execPath, ...args], { signal: stop.signal }));
};

const steps = keep ? STORY_TO_KEEP : STORY;

const minorOf = (version: string): number => Number(/^v?1\.(\d+)/.exec(version)?.[1]);

const play = async (stage: Stage): Promise<boolean> => {
  for (const [index, { title, run }] of steps.entries()) {
    screen.heading(`${index + 1}. ${title}`);
    const started = performance.now();
    try {
      await run(stage);
      screen.fact(`${((performance.now() - started) / 1000).toFixed(1)} s`);
    } catch (error) {
      screen.bad(error instanceof Error ? error.message : String(error));
      for (const { name, tail, logFile } of stage.children) console.log(`\n--- ${name} (${logFile})\n${tail()}`);
      return false;
    }
  }
  return true;
};

const untilInterrupted = (): Promise<void> =>
  new Promise((done) => {
    process.once('SIGINT', () => done());
    process.once('SIGTERM', () => done());
  });

await isolateIfReal();
const started = performance.now();
const folder = await mkdtemp(join(tmpdir(), 'topology-demo-'));
const cluster = await startCluster(folder);
let children: Child[] = [];
let passed = false;
try {
  const cast = pods(cluster.podAddress);
  await actors.buildWorld(cluster.client, cluster.kubernetesVersion, cast);
  children = await startCommands(cluster, folder, kubernetes === 'real' ? kubernetesVersion : undefined);
  screen.heading(
    `Three zones, a seed that is also the garden runtime, four shoots, an extension; on ${cluster.description}`,
  );
  screen.fact(children.map(({ name }) => name).join(', ') + ' run as processes of their own and talk TLS.');
  screen.fact(
    'HINTS: ready endpoints with a hint. IN ZONE: predicted share of connections that stay in their zone. *: changed.',
  );
  passed = await play({
    cluster,
    minor: minorOf(cluster.kubernetesVersion),
    children,
    pods: cast,
    rows: [],
    original: {},
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  screen.heading(
    passed ? `All ${steps.length} steps as expected, in ${seconds} s.` : 'The demo failed at the step above.',
  );
  if (keep && passed) {
    const path = await cluster.kubeconfig('visitor', ['system:masters']);
    screen.fact(`Everything still runs. Look around: kubectl --kubeconfig ${path} get services,endpointslices -A`);
    screen.fact(`Logs: ${children.map(({ logFile }) => logFile).join(', ')}. End with Ctrl-C.`);
    await untilInterrupted();
  }
} catch (error) {
  screen.bad(error instanceof Error ? error.message : String(error));
} finally {
  await Promise.all(children.map(({ stop }) => stop()));
  await cluster.stop();
  if (passed) await rm(folder, { recursive: true, force: true });
}
process.exitCode = passed ? 0 : 1;

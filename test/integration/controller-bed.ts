// What tests of controllers in this process share: a sandbox, sessions on a clock that tests can push forward, and an end.
import type { ControllerSession } from '../../cmd/shared/session.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { type RecordingLogger, recordingLogger } from '../fixtures/recording-logger.ts';
import { expectAllowed } from '../fixtures/chart-rights.ts';
import { kubeProxy } from '../fixtures/core.ts';
import { type SkippingClock, createSkippingClock } from '../fixtures/skipping-clock.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { MemoryConnection } from '../sandbox/memory.ts';
import type { Sandbox, SandboxOptions, SandboxRequest } from '../sandbox/types.ts';

/** Polls until `check` stops throwing, up to a generous bound; then its last error is the failure. */
export const eventually = async (check: () => unknown, boundMs = 60_000): Promise<void> => {
  const deadline = performance.now() + boundMs;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
};

/** YAML below a configuration's header: alone unless the test says otherwise, on free ports. */
export const withTestDefaults = (yaml: string): string =>
  `${yaml}${yaml.includes('leaderElection') ? '' : '\nleaderElection: {enabled: false}'}
health: {port: 0, bindAddress: 127.0.0.1}
metrics: {port: 0, bindAddress: 127.0.0.1}
`;

/** A controller that serves; stopped at the latest when its bed is closed. */
export interface Serving {
  stop(): Promise<void>;
}

export interface ControllerBed {
  readonly sandbox: Sandbox;
  readonly clock: SkippingClock;
  readonly log: RecordingLogger;
  /** What the command printed. */
  readonly printed: string[];
  /** A client of this sandbox, or of another one; closed with the bed. */
  client(target?: Sandbox): Promise<Client>;
  /** A session of its own, but for its configuration; the first is `test-1`. */
  session(): Promise<Omit<ControllerSession, 'config'>>;
  /** Serves until `stop`; resolves when the caches are filled and nothing is sent any more. */
  start(serve: (signal: AbortSignal) => Promise<void>): Promise<Serving>;
  apply(...objects: KubernetesObject[]): Promise<void>;
  /** The controller's requests that change something, those of resources in `beside` (plural names) left out. */
  writes(beside: readonly string[]): SandboxRequest[];
  /** Waits until nothing is on its way and nothing is about to be. */
  quiet(): Promise<void>;
  /**
   * Moves the clock on, by default by 5 s a step, until `check` stops throwing. The bound counts steps and not time: what a
   * busy machine needs for a step says nothing of what the controller needs.
   */
  until(check: () => unknown, stepMs?: number): Promise<void>;
  close(): Promise<void>;
}

const READS = new Set(['get', 'list', 'watch', 'raw']);
/** What waits no longer than this is about to happen: the clock is pushed forward to it. */
const SOON_MS = 150;
/** Turns of the event loop in which nothing was on its way; between two requests a controller takes one or two. */
const STILL_TURNS = 10;
/** Of `until`. */
const MOST_STEPS = 500;

/** `user`: whom the sandbox takes the controller for. */
export const openControllerBed = async (user: string, options: SandboxOptions = {}): Promise<ControllerBed> => {
  const sandbox = await startSandbox(options);
  // What shows who routes: without it no condition says that hints have effect.
  await sandbox.apply(kubeProxy());
  const folder = temporaryFolder();
  const log = recordingLogger();
  const running = new Set<Serving>();
  const connections = new Map<Client, MemoryConnection>();
  let sessions = 0;
  const fillings = (): number => log.entries.filter(({ message }) => message === 'caches are filled').length;
  const bed: ControllerBed = {
    sandbox,
    clock: createSkippingClock(),
    log,
    printed: [],
    async client(target = sandbox) {
      const kubeconfig = folder.write(`kubeconfig-${connections.size}`, target.kubeconfig(user));
      const transport = target.connect();
      const client = createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: 'test', transport });
      connections.set(client, transport);
      return client;
    },
    async session() {
      sessions += 1;
      const identity = `test-${sessions}`;
      return {
        client: await bed.client(),
        namespace: 'default',
        ownNamespace: 'default',
        identity,
        clock: bed.clock,
        random: () => 0.5,
        logger: log,
        print: (text) => void bed.printed.push(text),
      };
    },
    async start(serve) {
      const stop = new AbortController();
      const before = fillings();
      const served = serve(stop.signal);
      served.catch(() => undefined);
      const handle: Serving = {
        async stop() {
          running.delete(handle);
          stop.abort(new Error('test is over'));
          await served;
        },
      };
      running.add(handle);
      await eventually(() => {
        if (fillings() === before) throw new Error('caches are not filled');
      });
      await bed.quiet();
      return handle;
    },
    async apply(...objects) {
      for (const object of objects) await sandbox.apply(object);
    },
    writes: (beside) =>
      sandbox.requests.filter(
        ({ user: by, verb, resource }) => by === user && !READS.has(verb) && !beside.includes(resource),
      ),
    async quiet() {
      let seen = -1;
      let soon = SOON_MS;
      for (let still = 0; still < STILL_TURNS;) {
        await sandbox.settled();
        await new Promise((resolve) => setImmediate(resolve));
        const answered = sandbox.requests.length !== seen;
        seen = sandbox.requests.length;
        if (answered) soon = SOON_MS;
        const busy =
          answered || [...connections.values()].some(({ pending }) => pending > 0) || bed.clock.untilNext() <= 0;
        still = busy ? 0 : still + 1;
        const due = bed.clock.untilNext();
        if (still === STILL_TURNS && due <= soon) {
          bed.clock.skip(due);
          soon -= due;
          still = 0;
        }
      }
    },
    async until(check, stepMs = 5_000) {
      for (let step = 1; ; step += 1) {
        bed.clock.skip(stepMs);
        await bed.quiet();
        try {
          return void (await check());
        } catch (error) {
          if (step === MOST_STEPS) throw error;
        }
      }
    },
    async close() {
      for (const handle of running) await handle.stop();
      for (const client of connections.keys()) await client.close();
      await sandbox.stop();
      expectAllowed(user, sandbox.requests);
    },
  };
  return bed;
};

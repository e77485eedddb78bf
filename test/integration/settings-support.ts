// SPDX-License-Identifier: Apache-2.0
// Runs the settings reconciler in this process against a sandbox, with a clock that tests can push forward.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '../../cmd/settings-reconciler/serve.ts';
import type { Session } from '../../cmd/settings-reconciler/session.ts';
import { CONFIG_API_VERSION } from '../../pkg/apis/config/config-kind.ts';
import { loadConfiguration } from '../../pkg/apis/config/load.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../pkg/apis/config/settings-reconciler-kind.ts';
import type { Service } from '../../pkg/apis/core.ts';
import type { Etcd } from '../../pkg/apis/gardener.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ETCDS, EVENTS, SERVICES } from '../../pkg/apis/resources.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { systemClock } from '../../pkg/kubernetes/clock.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client, Clock } from '../../pkg/kubernetes/types.ts';
import { recordingLogger } from '../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../fixtures/recording-logger.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox, SandboxOptions, SandboxRequest } from '../sandbox/types.ts';

export const USER = 'settings-reconciler';

export interface SkippingClock extends Clock {
  /** Moves time forward at once; timers that become due fire. */
  skip(ms: number): void;
}

/** Real time plus what tests skipped. */
export const createSkippingClock = (): SkippingClock => {
  let skipped = 0;
  const waiting = new Set<{ dueAt: number; fire(): void; rearm(): void }>();
  const monotonic = (): number => systemClock.monotonic() + skipped;
  return {
    now: () => systemClock.now() + skipped,
    monotonic,
    setTimeout(callback, delayMs) {
      let real = { cancel: (): void => undefined };
      const timer = {
        dueAt: monotonic() + delayMs,
        fire() {
          waiting.delete(timer);
          real.cancel();
          callback();
        },
        rearm() {
          real.cancel();
          real = systemClock.setTimeout(timer.fire, Math.max(0, timer.dueAt - monotonic()));
        },
      };
      waiting.add(timer);
      timer.rearm();
      return {
        cancel() {
          waiting.delete(timer);
          real.cancel();
        },
      };
    },
    skip(ms) {
      skipped += ms;
      for (const timer of waiting) timer.rearm();
    },
  };
};

/** Polls until `check` stops throwing, up to a generous bound; then its last error is the failure. */
export const eventually = async (check: () => unknown, boundMs = 10_000): Promise<void> => {
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

export interface Bed {
  readonly sandbox: Sandbox;
  readonly clock: SkippingClock;
  readonly log: RecordingLogger;
  /** What the command printed. */
  readonly printed: string[];
  /** A session with this configuration (YAML below apiVersion and kind). */
  session(yaml: string, garden?: Sandbox): Promise<Session>;
  /** Serves until `stop`; several may run one after the other. */
  start(yaml: string, garden?: Sandbox): Promise<{ stop(): Promise<void> }>;
  apply(...objects: KubernetesObject[]): Promise<void>;
  service(namespace: string, name: string): Service;
  etcd(namespace: string, name: string): Etcd;
  /** `reason: message` of every Event, oldest first. */
  events(): string[];
  /** The reconciler's requests that change something, Leases left out. */
  writes(): SandboxRequest[];
  /** Waits until the reconciler sent nothing for a while. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

const HEADER = `apiVersion: ${CONFIG_API_VERSION}\nkind: ${SETTINGS_RECONCILER_CONFIGURATION.kind}\n`;
const ALONE = 'leaderElection: {enabled: false}';
const COMMON = `
health: {port: 0, bindAddress: 127.0.0.1}
metrics: {port: 0, bindAddress: 127.0.0.1}
`;

const READS = new Set(['get', 'list', 'watch', 'raw']);

export const openBed = async (options: SandboxOptions = {}): Promise<Bed> => {
  const sandbox = await startSandbox(options);
  const directory = await mkdtemp(join(tmpdir(), 'settings-'));
  const clock = createSkippingClock();
  const log = recordingLogger();
  const printed: string[] = [];
  const running = new Set<{ stop(): Promise<void> }>();
  const clients = new Set<Client>();
  let files = 0;

  const clientOf = async (target: Sandbox): Promise<Client> => {
    files += 1;
    const file = join(directory, `kubeconfig-${files}`);
    await writeFile(file, target.kubeconfig(USER));
    const client = createClient({ config: loadKubeConfig({ kubeconfig: file }), userAgent: 'test' });
    clients.add(client);
    return client;
  };

  const bed: Bed = {
    sandbox,
    clock,
    log,
    printed,
    session: async (yaml, garden) => ({
      config: loadConfiguration(
        SETTINGS_RECONCILER_CONFIGURATION,
        `${HEADER}${yaml.includes('leaderElection') ? yaml : `${yaml}\n${ALONE}`}${COMMON}`,
        'config.yaml',
      ),
      client: await clientOf(sandbox),
      gardenClient: garden === undefined ? undefined : await clientOf(garden),
      namespace: 'default',
      identity: `test-${files}`,
      clock,
      random: Math.random,
      logger: log,
      print: (text) => void printed.push(text),
    }),
    async start(yaml, garden) {
      const session = await bed.session(yaml, garden);
      const stop = new AbortController();
      const served = serve(session, stop.signal);
      served.catch(() => undefined);
      const handle = {
        async stop() {
          running.delete(handle);
          stop.abort(new Error('test is over'));
          await served;
        },
      };
      running.add(handle);
      await eventually(() => {
        if (!log.entries.some(({ message }) => message === 'caches are filled'))
          throw new Error('caches are not filled');
      });
      await bed.quiet();
      return handle;
    },
    async apply(...objects) {
      for (const object of objects) await sandbox.apply(object);
    },
    service(namespace, name) {
      const found = sandbox.get<Service>(SERVICES, { namespace, name });
      if (found === undefined) throw new Error(`no Service ${namespace}/${name}`);
      return found;
    },
    etcd(namespace, name) {
      const found = sandbox.get<Etcd>(ETCDS, { namespace, name });
      if (found === undefined) throw new Error(`no Etcd ${namespace}/${name}`);
      return found;
    },
    events: () =>
      sandbox.list(EVENTS).map((event) => {
        const { reason, message } = event as unknown as { reason: string; message: string };
        return `${reason}: ${message}`;
      }),
    writes: () =>
      sandbox.requests.filter(({ user, verb, resource }) => user === USER && !READS.has(verb) && resource !== 'leases'),
    async quiet() {
      let seen = -1;
      let since = performance.now();
      while (performance.now() - since < 150) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        if (sandbox.requests.length !== seen) since = performance.now();
        seen = sandbox.requests.length;
      }
    },
    async close() {
      for (const handle of running) await handle.stop();
      for (const client of clients) await client.close();
      await sandbox.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
  return bed;
};

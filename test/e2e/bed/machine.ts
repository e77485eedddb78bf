// The machine below a bed: programs, network namespaces, addresses and links, and waiting for what they do.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

export interface WaitOptions {
  /** How long to go on, in seconds. Default 60: about ten times what a busy two-core machine needs. */
  readonly timeoutSeconds?: number;
  /** Pause between two attempts, in milliseconds. Default 50. */
  readonly intervalMs?: number;
  /** Called before each attempt; what it throws ends the wait. Default: nothing. */
  readonly assert?: () => void;
  readonly signal?: AbortSignal;
}

const describeOutcome = (outcome: unknown): string =>
  outcome instanceof Error ? outcome.message : (JSON.stringify(outcome) ?? 'nothing');

/** What `waitFor` accepts: this value, a list of this length, at least this number. */
export const is = (wanted: unknown) => (value: unknown) => value === wanted;
export const ofLength = (wanted: number) => (list: readonly unknown[]) => list.length === wanted;
export const atLeast = (wanted: number) => (value: number) => value >= wanted;

/**
 * Calls `probe` until `accept` is content with what it returns, by default with anything, and returns that. A probe that
 * throws counts as not yet.
 *
 * @throws Error naming `what` and the last thing seen, when the time is over; the signal's reason when it is aborted.
 */
export const waitFor = async <T>(
  what: string,
  probe: () => Promise<T> | T,
  accept: (value: T) => boolean = () => true,
  { timeoutSeconds = 60, intervalMs = 50, assert, signal }: WaitOptions = {},
): Promise<T> => {
  const deadline = performance.now() + timeoutSeconds * 1000;
  for (;;) {
    signal?.throwIfAborted();
    assert?.();
    let outcome: unknown;
    try {
      const value = await probe();
      if (accept(value)) return value;
      outcome = value;
    } catch (error) {
      outcome = error;
    }
    if (performance.now() > deadline)
      throw new Error(`${what}: not after ${timeoutSeconds} s; last seen: ${describeOutcome(outcome)}`);
    await delay(intervalMs, undefined, { signal });
  }
};

/** Work that goes on beside a test. */
export interface Repeated {
  /** Throws why it has ended by itself. */
  assertRunning(): void;
  /** Ends it once the turn that is under way is over; throws what a turn threw, which was the last one then. */
  stop(): Promise<void>;
}

const everything: Repeated[] = [];

/** Ends all that still goes on, in which nothing may have failed. */
export const endRepeated = async (): Promise<void> =>
  void (await Promise.all(everything.splice(0).map((one) => one.stop())));

/** Repeats `turn`, with a pause after each, until it or the bed is stopped. */
export const repeat = (intervalMs: number, turn: (signal: AbortSignal) => unknown): Repeated => {
  const ending = new AbortController();
  const { signal } = ending;
  let failure: unknown;
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      await turn(signal);
      await delay(intervalMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = loop().catch((error: unknown) => void (failure = error));
  const assertRunning = (): void => {
    if (failure !== undefined) throw failure as Error;
  };
  const repeated: Repeated = {
    assertRunning,
    async stop() {
      ending.abort();
      await running;
      assertRunning();
    },
  };
  everything.push(repeated);
  return repeated;
};

const execute = promisify(execFile);

/** A command that ended with an error; the message holds the command line and what it printed. */
class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly stderr: string;

  constructor(command: string, args: readonly string[], stderr: string) {
    super(`${command} ${args.join(' ')} failed: ${stderr.trim()}`);
    this.stderr = stderr;
  }
}

/**
 * Runs a command to its end and returns what it wrote to standard output.
 *
 * @param environment all of it; default: as this process has it.
 *
 * @throws CommandError if it cannot be started or ends with another code than 0.
 */
export const run = async (
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<string> => {
  try {
    const { stdout } = await execute(command, [...args], { maxBuffer: 64 * 1024 * 1024, env: environment });
    return stdout;
  } catch (error) {
    const details = error as Error & { stderr?: string };
    throw new CommandError(command, args, details.stderr || details.message);
  }
};

/** Ranges from which the API server gives out cluster IPs, first the primary family. */
export const serviceRanges = ['198.18.0.0/16', '2001:db8:18::/112'] as const;

/** Ranges of nodes and Pods. All of them share one bridge, so no routes between nodes are needed. */
export const clusterRanges = ['198.19.0.0/16', '2001:db8:19::/64'] as const;

/** First address of the Service range: what the `kubernetes` Service gets, part of the server certificate. */
export const kubernetesServiceAddresses = ['198.18.0.1', '2001:db8:18::1'] as const;

/** An address pair, one per family. */
export interface AddressPair {
  readonly ipv4: string;
  readonly ipv6: string;
}

/** Where the API server listens, reachable from the control plane and from every node. */
export const controlPlaneAddresses: AddressPair = { ipv4: '198.19.255.1', ipv6: '2001:db8:19::ffff:1' };

/** Highest index of a node: the third byte of its IPv4 addresses; 255 is the control plane. */
const maxNodeIndex = 254;

/** Highest index of an address on one node: the last byte. */
const maxHostIndex = 254;

/**
 * The addresses of host `host` (1 is the node itself, Pods follow) on node `node`, both counted from 1.
 *
 * @throws RangeError outside the plan.
 */
export const addressesOf = (node: number, host: number): AddressPair => {
  if (node < 1 || node > maxNodeIndex)
    throw new RangeError(`a bed has room for nodes 1 to ${maxNodeIndex}, not ${node}`);
  if (host < 1 || host > maxHostIndex)
    throw new RangeError(`a node has room for hosts 1 to ${maxHostIndex}, not ${host}`);
  return { ipv4: `198.19.${node}.${host}`, ipv6: `2001:db8:19::${node.toString(16)}:${host.toString(16)}` };
};

/**
 * The words to put before a command so that it runs inside a network namespace. nsenter and not `ip netns exec`, because the latter also gives the
 * command mounts of its own: namespaces that are created from in there would be invisible to everybody else, the clean-up included.
 */
export const enterPrefix = (namespace: string): [string, ...string[]] => [
  'nsenter',
  `--net=/run/netns/${namespace}`,
  '--',
];

/** Runs `ip` inside a namespace. */
const ip = (namespace: string, ...args: string[]): Promise<string> => run('ip', ['-n', namespace, ...args]);

/** Creates a namespace in which nothing but the loopback device exists. */
export const createNamespace = async (namespace: string): Promise<void> => {
  await run('ip', ['netns', 'add', namespace]);
  await ip(namespace, 'link', 'set', 'lo', 'up');
};

const isAbsent = (error: unknown): boolean =>
  error instanceof CommandError && /No such file or directory|Invalid argument/.test(error.stderr);

const processesIn = async (namespace: string): Promise<number[]> => {
  try {
    const output = await run('ip', ['netns', 'pids', namespace]);
    return output.split('\n').filter(Boolean).map(Number);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
};

/** Removes a namespace and kills what runs inside; a namespace that does not exist (any more) is fine. */
export const removeNamespace = async (namespace: string): Promise<void> => {
  for (let attempt = 0; attempt < 100; attempt++) {
    const others = (await processesIn(namespace)).filter((pid) => pid !== process.pid);
    if (others.length === 0) break;
    for (const pid of others) {
      const identity = identify(pid);
      if (identity !== undefined) sendSignal(identity, 'SIGKILL');
    }
    await delay(20);
  }
  try {
    await run('ip', ['netns', 'delete', namespace]);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
};

const bridge = 'bed0';

const prefixLength = (range: string): string => range.slice(range.indexOf('/'));

/** Gives an interface both addresses; usable at once, without duplicate address detection. */
export const addAddresses = async (namespace: string, device: string, addresses: AddressPair): Promise<void> => {
  await ip(namespace, 'addr', 'add', `${addresses.ipv4}${prefixLength(clusterRanges[0])}`, 'dev', device);
  await ip(namespace, 'addr', 'add', `${addresses.ipv6}${prefixLength(clusterRanges[1])}`, 'dev', device, 'nodad');
};

/** Takes both addresses from an interface. */
export const removeAddresses = async (namespace: string, device: string, addresses: AddressPair): Promise<void> => {
  await ip(namespace, 'addr', 'del', `${addresses.ipv4}${prefixLength(clusterRanges[0])}`, 'dev', device);
  await ip(namespace, 'addr', 'del', `${addresses.ipv6}${prefixLength(clusterRanges[1])}`, 'dev', device);
};

/** Creates the bridge that joins all nodes, and gives the control plane its addresses on it. */
export const createBridge = async (controlPlane: string, addresses: AddressPair): Promise<void> => {
  // Left to itself a bridge takes the lowest address of its ports: a node that joins could change it, and the others
  // would go on sending to the old one until their neighbour entry expires, up to 45 seconds later.
  await ip(controlPlane, 'link', 'add', bridge, 'address', '02:00:00:00:00:01', 'type', 'bridge');
  await ip(controlPlane, 'link', 'set', bridge, 'up');
  await addAddresses(controlPlane, bridge, addresses);
};

/** Removes the bridge, for a control-plane namespace that goes on living. */
export const removeBridge = (controlPlane: string): Promise<string> => ip(controlPlane, 'link', 'delete', bridge);

/** The one network device of a node. */
export const nodeDevice = 'eth0';

/**
 * Joins a node's namespace to the bridge. The pair is made inside the two namespaces: made in the root namespace, two beds would collide over the
 * names. Service addresses get a route so that the kernel has a way out for the packet before kube-proxy's rules replace its destination.
 */
export const joinNode = async (
  controlPlane: string,
  node: string,
  index: number,
  addresses: AddressPair,
): Promise<void> => {
  const port = `node${index}`;
  await ip(node, 'link', 'add', nodeDevice, 'type', 'veth', 'peer', 'name', port, 'netns', controlPlane);
  await ip(controlPlane, 'link', 'set', port, 'master', bridge, 'up');
  await ip(node, 'link', 'set', nodeDevice, 'up');
  await addAddresses(node, nodeDevice, addresses);
  for (const range of serviceRanges) await ip(node, 'route', 'add', range, 'dev', nodeDevice);
};

/** A process: `startTicks` is the time of its start in clock ticks since boot (proc(5), stat field 22). */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTicks: string;
}

/**
 * The identity of a running process; undefined when there is none with this pid, or only a zombie.
 * A zombie that has threads left is still running: they hold its sockets.
 */
export const identify = (pid: number): ProcessIdentity | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the command in parentheses and may hold spaces and parentheses itself.
    const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const startTicks = rest[18];
    if (startTicks === undefined) return undefined;
    return state === 'Z' && readdirSync(`/proc/${pid}/task`).length <= 1 ? undefined : { pid, startTicks };
  } catch {
    return undefined;
  }
};

/** Whether exactly this process still runs. */
export const isRunning = (process: ProcessIdentity): boolean =>
  identify(process.pid)?.startTicks === process.startTicks;

/** Sends a signal to exactly this process; returns false when it is gone. */
export const sendSignal = (target: ProcessIdentity, signal: NodeJS.Signals): boolean => {
  if (!isRunning(target)) return false;
  try {
    process.kill(target.pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
};

// Follows whether Services configured for zone-local routing are effective, and reports changes: metric, log line, events per namespace.
import type { EndpointSlice, Service } from '../../apis/core.ts';
import type { Table } from '../../kubernetes/watches.ts';
import type { Result, Uses } from '../../kubernetes/types.ts';
import type { Clients } from '../../diagnosis/models/routes.ts';
import type { EnabledSettings, ObjectDecision } from '../settings/context.ts';
import { assessEffectiveness, followFigures } from './assess.ts';
import type { Effectiveness, KnownFigures, ServiceFigures } from './assess.ts';

interface State {
  readonly result: Effectiveness;
  readonly known: KnownFigures;
  /** Monotonic milliseconds. */
  readonly since: number;
  /** An event reported this time without effect. */
  readonly reported: boolean;
  /** An event reported a fault, and none yet its end. */
  readonly alarmed: boolean;
}

type Item = EnabledSettings['objects'][number];

/** How long a Service may be without effect before an event says so: endpoints come and go. */
const GRACE_MS = 300_000;

/** The Service whose traffic an object is about: an Etcd's is made by etcd-druid. */
export const serviceNameOf = ({ kind, ref }: Pick<ObjectDecision, 'kind' | 'ref'>): string =>
  kind === 'Etcd' ? `${ref.name}-client` : ref.name;

/** Hints come at once, but proxies older than 1.31 want an annotation, which only etcd-druid may write. */
const isPending = ({ kind, want }: Item, service: Service | undefined): boolean =>
  kind === 'Etcd' &&
  service !== undefined &&
  Object.keys(want?.annotations ?? {}).some((key) => !service.metadata?.annotations?.[key]);

const stateOf = ({ result }: Pick<State, 'result'>): string =>
  result.kind === 'effective' ? 'Effective' : result.reason;

/** Normal while Pods start or etcd-druid's owner has not asked it to write: reported in log and metric, not as a warning. */
const QUIET = new Set(['ServiceMissing', 'Pending', 'NoReadyEndpoints']);

const isFault = (result: Effectiveness): boolean => result.kind === 'ineffective' && !QUIET.has(result.reason);

const sameStates = (before: ReadonlyMap<string, State> | undefined, current: ReadonlyMap<string, State>): boolean =>
  before?.size === current.size &&
  [...current].every(([name, state]) => {
    const earlier = before.get(name);
    return earlier !== undefined && stateOf(earlier) === stateOf(state);
  });

/** The key is a namespace, of which every Service is assessed. */
export const createEffectivenessReconciler = (
  options: Uses<'clock' | 'events' | 'logger'> & {
    readonly enabled: Pick<Table<EnabledSettings>, 'get'>;
    service(namespace: string, name: string): Service | undefined;
    slices(namespace: string, service: string): readonly EndpointSlice[];
    /** Ready Nodes by zone and by who routes there. */
    clients(): readonly Clients[];
  },
) => {
  const { clock, events, logger } = options;
  const states = new Map<string, Map<string, State>>();
  const callbacks: ((namespace: string) => void)[] = [];

  const assess = (
    namespace: string,
    item: Item,
    clients: readonly Clients[],
    before: State | undefined,
  ): Pick<State, 'result' | 'known'> => {
    const name = serviceNameOf(item);
    const service = options.service(namespace, name);
    const slices = options.slices(namespace, name);
    const pending = isPending(item, service);
    return {
      result: assessEffectiveness({ name: `${namespace}/${name}`, service, pending, slices, clients }),
      known: followFigures(before?.known, service, slices, clients),
    };
  };

  const next = (name: string, before: State | undefined, found: Pick<State, 'result' | 'known'>): State => {
    if (before !== undefined && stateOf(before) === stateOf(found)) return { ...before, ...found };
    const { result } = found;
    const detail = result.kind === 'effective' ? {} : { detail: result.message };
    // The first look after a start, or after the setting was switched on, reports nothing anew.
    const level = before === undefined ? 'debug' : 'info';
    logger[level]('effectiveness changed', { service: name, state: stateOf(found), ...detail });
    // One fault that turns into another is still the same time without effect, and is still reported once.
    const goesOn = before !== undefined && isFault(before.result) && isFault(result);
    const { since, reported } = goesOn ? before : { since: clock.monotonic(), reported: false };
    return { ...found, since, reported, alarmed: before?.alarmed ?? false };
  };

  /** One event for all that have been without effect for long enough and were not reported yet; returns when to look again. */
  const reportFaults = ({ regarding }: EnabledSettings, current: Map<string, State>): number | undefined => {
    const due: string[] = [];
    let waitMs: number | undefined;
    for (const [name, state] of current) {
      const { result, reported, since } = state;
      if (result.kind === 'effective' || reported || !isFault(result)) continue;
      const remaining = since + GRACE_MS - clock.monotonic();
      if (remaining > 0) waitMs = Math.min(waitMs ?? remaining, remaining);
      else {
        due.push(result.message);
        current.set(name, { ...state, reported: true, alarmed: true });
      }
    }
    const message = due.join('; ');
    if (due.length > 0) events.record({ regarding, type: 'Warning', reason: 'RoutingNotEffective', message });
    return waitMs;
  };

  /** One event for all that were reported to be without effect and are effective again. */
  const reportEnds = (namespace: string, { regarding }: EnabledSettings, current: Map<string, State>): void => {
    const ended: string[] = [];
    for (const [name, state] of current) {
      if (!state.alarmed || state.result.kind !== 'effective') continue;
      ended.push(`${namespace}/${name}`);
      current.set(name, { ...state, alarmed: false });
    }
    const message = `routing by zone is effective again: Service ${ended.join(', ')}`;
    if (ended.length > 0) events.record({ regarding, type: 'Normal', reason: 'RoutingEffective', message });
  };

  return {
    reconcile(namespace: string): Promise<Result> {
      const subject = options.enabled.get(namespace);
      if (subject === undefined) {
        states.delete(namespace);
        return Promise.resolve({ kind: 'done' });
      }
      const before = states.get(namespace);
      const current = new Map<string, State>();
      const clients = options.clients();
      for (const item of subject.objects) {
        const name = serviceNameOf(item);
        const was = before?.get(name);
        current.set(name, next(`${namespace}/${name}`, was, assess(namespace, item, clients, was)));
      }
      states.set(namespace, current);
      if (!sameStates(before, current)) for (const callback of callbacks) callback(namespace);
      reportEnds(namespace, subject, current);
      const afterMs = reportFaults(subject, current);
      return Promise.resolve(afterMs === undefined ? { kind: 'done' } : { kind: 'requeue', afterMs });
    },
    /** Calls back when the state of some Service in a namespace became another. */
    onChange: (callback: (namespace: string) => void): void => void callbacks.push(callback),
    /** Whether a Service has effect; undefined: it is off, or was not looked at yet. */
    effectOf: (namespace: string, service: string): Effectiveness | undefined =>
      states.get(namespace)?.get(service)?.result,
    *services(): Iterable<{ namespace: string; service: string; state: string; figures: ServiceFigures }> {
      for (const [namespace, current] of states)
        for (const [service, state] of current)
          yield { namespace, service, state: stateOf(state), figures: state.known.figures };
    },
  };
};

export type Effects = ReturnType<typeof createEffectivenessReconciler>;

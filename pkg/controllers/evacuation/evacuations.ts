// The ZoneEvacuations of the cluster, how far this process is with each, and what each Service has to do with them.
import type { Service } from '../../apis/core.ts';
import type { StringMap } from '../../apis/meta.ts';
import type { ZoneEvacuation } from '../../apis/zone-evacuation.ts';
import { byAge, concerns, isAccepted, isRunning } from '../../evacuation/active.ts';
import type { Leave } from '../../evacuation/decide.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { Clock } from '../../kubernetes/types.ts';

export interface Evacuations {
  get(name: string): ZoneEvacuation | undefined;
  /** Oldest first. */
  list(): ZoneEvacuation[];
  /** Oldest first. */
  running(): ZoneEvacuation[];
  /** By this process, or by one that led before. */
  isAccepted(one: ZoneEvacuation): boolean;
  /** By this process. */
  isBegun(one: ZoneEvacuation): boolean;
  /** Only admission is waited for. */
  isWaiting(one: ZoneEvacuation): boolean;
  begin(one: ZoneEvacuation): void;
  /** Admission is waited for; since when, monotonic milliseconds. */
  wait(one: ZoneEvacuation): number;
  refuse(one: ZoneEvacuation): void;
  end(one: ZoneEvacuation): void;
}

const uidOf = ({ metadata }: ZoneEvacuation): string => metadata.uid ?? '';

/** @param off - hints are switched off in the whole cluster: nothing runs. */
export const createEvacuations = (
  cache: Pick<Cache<ZoneEvacuation>, 'list' | 'get'>,
  clock: Clock,
  off: () => boolean,
): Evacuations => {
  const begun = new Set<string>();
  /** Since when. */
  const waiting = new Map<string, number>();
  const list = (): ZoneEvacuation[] => cache.list().sort(byAge);
  return {
    get: (name) => cache.get({ name }),
    list,
    running: () => (off() ? [] : list().filter((one) => isRunning(one, clock.now()))),
    isAccepted: (one) => begun.has(uidOf(one)) || isAccepted(one),
    isBegun: (one) => begun.has(uidOf(one)),
    isWaiting: (one) => waiting.has(uidOf(one)),
    begin(one) {
      begun.add(uidOf(one));
      waiting.delete(uidOf(one));
    },
    wait(one) {
      const since = waiting.get(uidOf(one)) ?? clock.monotonic();
      waiting.set(uidOf(one), since);
      return since;
    },
    refuse: (one) => void waiting.delete(uidOf(one)),
    end: (one) => void begun.delete(uidOf(one)),
  };
};

export interface ScopeOptions {
  readonly evacuations: Pick<Evacuations, 'running' | 'isAccepted' | 'isWaiting'>;
  readonly services: Pick<Cache<Service>, 'get'>;
  labelsOf(namespace: string): StringMap | undefined;
  /** Key of the webhook's own Service, whose slices are the first to be written: it has to be reached wherever it runs. */
  readonly own: string;
}

export interface Scope {
  concerns(one: ZoneEvacuation, service: string): boolean;
  /** Of the evacuations that are about a Service, oldest first. */
  leavesOf(service: string): Leave[];
}

/** Services by `namespace/name`. */
export const createScope = ({ evacuations, services, labelsOf, own }: ScopeOptions): Scope => {
  const isAbout = (one: ZoneEvacuation, key: string): boolean => {
    const [namespace = '', name = ''] = key.split('/');
    const labels = services.get({ namespace, name })?.metadata?.labels;
    return concerns(one, { key, labels, namespace: labelsOf(namespace) });
  };
  const isOn = (one: ZoneEvacuation, key: string): boolean =>
    evacuations.isAccepted(one) || (key === own && evacuations.isWaiting(one));
  return {
    concerns: isAbout,
    leavesOf: (key) =>
      evacuations
        .running()
        .filter((one) => isOn(one, key) && isAbout(one, key))
        .map(({ spec: { zone, percent, rounding } }) => ({ zone, percent, rounding })),
  };
};

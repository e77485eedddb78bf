// Whether the Services that an Extension is about are really routed by zone, as one condition for a person. Pure.
import type { Condition } from '../../apis/meta.ts';
import { CONDITION_EFFECTIVE } from '../../apis/names.ts';
import { PROVIDER_CONFIG_FIELD, type RoutingConfigReading } from '../../apis/routing-config.ts';
import { firstFew, timeText } from '../../apis/values.ts';
import type { RoutingDecision } from '../types.ts';
import { describeProblems } from './select.ts';

/** What is seen of one Service of a namespace that the Extension is about. */
export interface SeenService {
  readonly name: string;
  /** The decision for it, or for the Etcd that it is made from. */
  readonly decision: RoutingDecision;
  /** Undefined: on, but not checked yet. */
  readonly effect?: { readonly kind: 'effective' } | Effect | undefined;
}

/** `assumed`: nothing is wrong with it, and nothing shows that it has effect; `evacuated`: an operator sends its clients elsewhere. */
interface Effect {
  readonly kind: 'ineffective' | 'assumed' | 'evacuated';
  /** Stable word, for example `HintsMissing`. */
  readonly reason: string;
  readonly message: string;
}

type Trouble = Omit<Effect, 'kind'>;

export interface SeenNamespace {
  readonly name: string;
  readonly decision: RoutingDecision;
  readonly services: readonly SeenService[];
}

export interface ConditionInput {
  /** `namespace/name` of the Extension. */
  readonly name: string;
  readonly reading: RoutingConfigReading;
  readonly namespaces: readonly SeenNamespace[];
}

/** The condition without its times. */
export type ConditionState = Required<Pick<Condition, 'type' | 'status' | 'reason' | 'message'>>;

/** Of an object that is left out: what has to be fixed; the rest is as it should be. */
const FAULTS = new Set(['ConflictingMode', 'SwitchedOff', 'VersionUnknown', 'ConfigurationInvalid']);
/** Pass by themselves: Pods start, a component is not installed yet, etcd-druid waits for its owner. */
const PASSING = new Set(['NoReadyEndpoints', 'Pending', 'ServiceMissing', 'VersionUnknown']);

const MAX_NAMED = 5;

const state = (status: ConditionState['status'], reason: string, message: string): ConditionState => ({
  type: CONDITION_EFFECTIVE,
  status,
  reason,
  message,
});

/** Services that the configuration names and that no namespace has. */
const missing = ({ reading, namespaces }: ConditionInput): Trouble[] => {
  if (reading.kind !== 'valid') return [];
  const on = namespaces.filter(({ decision }) => decision.kind === 'enabled');
  return reading.config.services.flatMap(({ name, namespace }, index): Trouble[] => {
    if (name === undefined || on.length === 0) return [];
    const places = on.filter((place) => namespace === undefined || place.name === namespace);
    if (places.some(({ services }) => services.some((service) => service.name === name))) return [];
    const where = namespace ?? (on.length === 1 ? (on[0]?.name ?? '') : undefined);
    const subject = where === undefined ? `Service ${name}` : `Service ${where}/${name}`;
    const message = `${PROVIDER_CONFIG_FIELD}.services[${index}]: ${subject} does not exist`;
    return [{ reason: 'ServiceMissing', message }];
  });
};

const troublesOf = ({ services }: SeenNamespace): Trouble[] =>
  services.flatMap((service): Trouble[] => {
    if (service.decision.kind === 'refused') {
      const { reason, message } = service.decision;
      return FAULTS.has(reason) ? [{ reason, message }] : [];
    }
    return service.effect?.kind === 'ineffective' ? [service.effect] : [];
  });

/** The same input gives the same words, so that a condition is written when something changed and at no other time. */
export const decideCondition = (input: ConditionInput): ConditionState => {
  const { name, reading, namespaces } = input;
  if (reading.kind === 'invalid')
    return state('False', 'ConfigurationInvalid', describeProblems(name, reading.problems));
  const refusal = namespaces.map(({ decision }) => decision).find(({ kind }) => kind === 'refused');
  const on = namespaces.filter(({ decision }) => decision.kind === 'enabled');
  if (on.length === 0)
    return refusal?.kind !== 'refused'
      ? state('Unknown', 'NothingToRoute', `Extension ${name}: there is no namespace that it applies to`)
      : state('False', refusal.reason, refusal.message);
  const troubles = [...on.flatMap(troublesOf), ...missing(input)];
  const [worst] = [...troubles.filter(({ reason }) => !PASSING.has(reason)), ...troubles];
  if (worst !== undefined) {
    const messages = [worst, ...troubles.filter((trouble) => trouble !== worst)].map(({ message }) => message);
    return state('False', worst.reason, firstFew(messages, MAX_NAMED, '; '));
  }
  const titleIn = (place: string, own: string): string => (on.length > 1 ? `${place}/${own}` : own);
  const all = on.flatMap((place) => place.services.map((own) => ({ ...own, title: titleIn(place.name, own.name) })));
  const services = all.filter(({ decision }) => decision.kind === 'enabled');
  if (services.length === 0) return state('Unknown', 'NothingToRoute', 'there is no Service to route by zone');
  if (services.some(({ effect }) => effect === undefined))
    return state('Unknown', 'NotAssessed', 'the EndpointSlices have not been checked yet');
  for (const [kind, status] of [
    ['assumed', 'Unknown'],
    ['evacuated', 'True'],
  ] as const) {
    const effect = services.find((service) => service.effect?.kind === kind)?.effect;
    if (effect?.kind === kind) return state(status, effect.reason, effect.message);
  }
  const titles = services.map(({ title }) => title);
  const count = services.length === 1 ? '1 Service is' : `${services.length} Services are`;
  return state('True', 'Effective', `${count} routed by zone: ${firstFew(titles, MAX_NAMED)}`);
};

/** The condition to write: undefined where the one that is there says the same, or more than we know yet. */
export const nextCondition = (
  before: Condition | undefined,
  decided: ConditionState,
  epochMs: number,
): Condition | undefined => {
  // A process that has just started has not looked yet, which is no news.
  if (before !== undefined && decided.reason === 'NotAssessed') return undefined;
  const { status, reason, message } = decided;
  if (before?.status === status && before.reason === reason && before.message === message) return undefined;
  const now = timeText(epochMs);
  const moved = before?.status !== status;
  return { ...decided, lastUpdateTime: now, lastTransitionTime: moved ? now : (before.lastTransitionTime ?? now) };
};

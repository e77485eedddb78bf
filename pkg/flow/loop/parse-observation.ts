// Reads one observation from JSON; what is wrong is said by field.
import { isFields } from '../../apis/values.ts';
import type { Observation, ObservedEndpoint } from './types.ts';

/** `field` is a path such as `endpoints[2].capacity`; empty for the whole line. */
export type ParsedObservation =
  | { readonly kind: 'observation'; readonly observation: Observation }
  | { readonly kind: 'invalid'; readonly field: string; readonly message: string };

/** Seconds, as metrics-server and the kubelet average. */
const DEFAULT_WINDOW = 15;

/** Beyond it nothing is real, and squares and sums of what the loop reckons with would not be finite. */
const MOST = 1e15;
/** A nano core, the smallest capacity that a quantity of Kubernetes can say. */
const LEAST_CAPACITY = 1e-9;

class Invalid extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

const numberIn = (value: unknown, field: string, least: number, what: string): number => {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < least)
    throw new Invalid(field, `expected ${what}`);
  if (Math.abs(value) > MOST) throw new Invalid(field, `expected ${what}, and no more than ${MOST}`);
  return value;
};

const numberOrNull = (value: unknown, field: string, least: number, what: string): number | null =>
  value === null || value === undefined ? null : numberIn(value, field, least, `${what}, or null`);

const textIn = (value: unknown, field: string): string => {
  if (typeof value !== 'string' || value === '') throw new Invalid(field, 'expected a text that is not empty');
  return value;
};

const listIn = (value: unknown, field: string): readonly unknown[] => {
  if (!Array.isArray(value)) throw new Invalid(field, 'expected a list');
  return value;
};

const endpointFrom = (value: unknown, field: string): ObservedEndpoint => {
  if (!isFields(value)) throw new Invalid(field, 'expected an object');
  const { ready, capacity } = value;
  if (typeof ready !== 'boolean') throw new Invalid(`${field}.ready`, 'expected true or false');
  const cores = numberIn(capacity, `${field}.capacity`, 0, 'cores above 0');
  if (cores < LEAST_CAPACITY) throw new Invalid(`${field}.capacity`, 'expected cores above 0, at least a nanocore');
  return {
    name: textIn(value['name'], `${field}.name`),
    zone: textIn(value['zone'], `${field}.zone`),
    ready,
    capacity: cores,
    load: numberOrNull(value['load'], `${field}.load`, 0, 'cores, 0 or more'),
    sampledAt: numberOrNull(value['sampledAt'], `${field}.sampledAt`, -Infinity, 'seconds'),
  };
};

const clientsFrom = (value: unknown): Record<string, number> => {
  if (!isFields(value)) throw new Invalid('clients', 'expected an object of weights by zone');
  return Object.fromEntries(
    Object.entries(value).map(([zone, weight]) => [
      zone,
      numberIn(weight, `clients.${zone}`, 0, 'a weight, 0 or more'),
    ]),
  );
};

const windowFrom = (value: unknown): number => {
  if (value === undefined || value === null) return DEFAULT_WINDOW;
  const seconds = numberIn(value, 'window', 0, 'seconds above 0');
  if (seconds === 0) throw new Invalid('window', 'expected seconds above 0');
  return seconds;
};

const observationFrom = (value: unknown): Observation => {
  if (!isFields(value)) throw new Invalid('', 'expected an object');
  const { time, zones, endpoints, clients, window } = value;
  const read = listIn(endpoints, 'endpoints').map((endpoint, index) => endpointFrom(endpoint, `endpoints[${index}]`));
  const names = new Set<string>();
  for (const [index, { name }] of read.entries()) {
    if (names.has(name)) throw new Invalid(`endpoints[${index}].name`, `${name} is listed twice`);
    names.add(name);
  }
  return {
    time: numberIn(time, 'time', -Infinity, 'seconds'),
    zones: listIn(zones, 'zones').map((zone, index) => textIn(zone, `zones[${index}]`)),
    endpoints: read,
    window: windowFrom(window),
    ...(clients === undefined || clients === null ? {} : { clients: clientsFrom(clients) }),
  };
};

/** Unknown fields are left alone, so that a line may say more than the loop needs. */
export const parseObservation = (text: string): ParsedObservation => {
  try {
    return { kind: 'observation', observation: observationFrom(JSON.parse(text)) };
  } catch (error) {
    if (error instanceof Invalid) return { kind: 'invalid', field: error.field, message: error.message };
    return { kind: 'invalid', field: '', message: `expected JSON: ${(error as Error).message}` };
  }
};

// Reads one observation from JSON; what is wrong is said by field.
import { fieldProblems } from '../../apis/config/load.ts';
import { byKeys, checkOf } from '../../apis/schema.ts';
import { errorText } from '../../apis/values.ts';
import type { Observation } from './types.ts';

/** `field` is a path such as `endpoints[2].capacity`; empty for the whole line. */
export type ParsedObservation =
  | { readonly kind: 'observation'; readonly observation: Observation }
  | { readonly kind: 'invalid'; readonly field: string; readonly message: string };

/** Beyond it nothing is real, and squares and sums of what the loop reckons with would not be finite. */
const MOST = 1e15;
/** A nano core, the smallest capacity that a quantity of Kubernetes can say. */
const LEAST = 1e-9;

const number = (minimum: number, more: object = {}) => ({ type: 'number', minimum, maximum: MOST, ...more });
const numberOrNull = (minimum: number) => number(minimum, { type: ['number', 'null'], default: null });
const name = { type: 'string', minLength: 1 };
const object = (properties: object, required = Object.keys(properties)) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
});

const endpoint = object({
  name,
  zone: name,
  ready: { type: 'boolean' },
  capacity: number(LEAST),
  load: numberOrNull(0),
  sampledAt: numberOrNull(-MOST),
});

const schema = object(
  {
    time: number(-MOST),
    zones: { type: 'array', items: name },
    endpoints: { type: 'array', items: endpoint, ...byKeys('name') },
    // As metrics-server and the kubelet average.
    window: number(LEAST, { default: 15 }),
    clients: { type: 'object', additionalProperties: number(0) },
  },
  ['time', 'zones', 'endpoints', 'window'],
);

// Unknown fields are left out, so that a line may say more than the loop needs.
const validate = checkOf<Observation>(schema, { removeAdditional: true, useDefaults: true, verbose: true });

const invalid = (field: string, message: string): ParsedObservation => ({ kind: 'invalid', field, message });

export const parseObservation = (text: string): ParsedObservation => {
  try {
    const value: unknown = JSON.parse(text, (_key, item: unknown) => item ?? undefined);
    if (validate(value)) return { kind: 'observation', observation: value };
    const [{ field, message } = { field: '', message: 'is no observation.' }] = fieldProblems(validate.errors ?? []);
    return invalid(field, message);
  } catch (error) {
    return invalid('', `expected JSON: ${errorText(error)}`);
  }
};

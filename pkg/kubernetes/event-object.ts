// Builds the core/v1 Event for something that happened to an object.
import type { KubernetesObject } from '../apis/meta.ts';
import type { EventInput } from './types.ts';

/** core/v1 Event, the fields that are written. */
export interface CoreEvent extends KubernetesObject {
  involvedObject: EventInput['regarding'];
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  source: { component: string };
  reportingComponent: string;
  reportingInstance: string;
  firstTimestamp: string;
  lastTimestamp: string;
  count: number;
}

/** How often and when an event happened; milliseconds since the epoch. */
export interface Occurrences {
  count: number;
  firstAt: number;
  lastAt: number;
}

export interface Reporter {
  /** Name of the command. */
  component: string;
  /** This process, for example the Pod's name. */
  instance: string;
}

/** Longest message that the events API accepts, characters. */
const MAX_MESSAGE = 1_024;

/** Longest object name, minus a dot and 16 hexadecimal digits. */
const MAX_NAME = 253 - 17;

/** meta/v1 Time: whole seconds. */
export const eventTime = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');

/** The API refuses an Event outside the namespace of its object; those of cluster-scoped objects live in `default`. */
export const eventNamespace = ({ regarding }: EventInput): string => {
  const { namespace } = regarding;
  return namespace === undefined || namespace === '' ? 'default' : namespace;
};

/** An Event's name: that of its object, made a DNS name where it is none, and a number that makes it unique. */
export const eventName = ({ regarding }: EventInput, unique: bigint): string => {
  const base = regarding.name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/g, '-')
    .replaceAll(/^[.-]+|[.-]+$/g, '');
  return `${(base === '' ? 'event' : base).slice(0, MAX_NAME).replace(/[.-]+$/, '')}.${unique.toString(16).padStart(16, '0')}`;
};

export const buildEvent = (event: EventInput, name: string, times: Occurrences, reporter: Reporter): CoreEvent => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace: eventNamespace(event) },
  involvedObject: event.regarding,
  type: event.type,
  reason: event.reason,
  message: event.message.length > MAX_MESSAGE ? `${event.message.slice(0, MAX_MESSAGE - 1)}…` : event.message,
  source: { component: reporter.component },
  reportingComponent: reporter.component,
  reportingInstance: reporter.instance,
  firstTimestamp: eventTime(times.firstAt),
  lastTimestamp: eventTime(times.lastAt),
  count: times.count,
});

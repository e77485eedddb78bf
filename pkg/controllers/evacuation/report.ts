// Writes the status of a ZoneEvacuation where it says something new, and records an event where it enters another phase.
import { isDeepStrictEqual } from 'node:util';
import { defined, nameOf } from '../../apis/values.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { apiVersionOf, ZONE_EVACUATIONS } from '../../apis/resources.ts';
import type { ZoneEvacuation, ZoneEvacuationCondition, ZoneEvacuationStatus } from '../../apis/zone-evacuation.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import type { Client, EventInput, EventRecorder } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/log.ts';

export interface ReportOptions {
  readonly client: Pick<Client, 'patch'>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly logger: Logger;
}

type Phase = NonNullable<ZoneEvacuationStatus['phase']>;

interface Turn {
  readonly type: EventInput['type'];
  readonly reason: string;
  /** Whose message the event has. */
  readonly condition: ZoneEvacuationCondition['type'];
}

const TURNS: Readonly<Partial<Record<Phase, Turn>>> = {
  Refused: { type: 'Warning', reason: 'EvacuationRefused', condition: 'Accepted' },
  Moving: { type: 'Normal', reason: 'EvacuationStarted', condition: 'Evacuated' },
  Evacuated: { type: 'Normal', reason: 'ZoneEvacuated', condition: 'Evacuated' },
  Returned: { type: 'Normal', reason: 'ZoneReturned', condition: 'Returned' },
};

const announce = (
  one: ZoneEvacuation,
  { phase, conditions = [] }: ZoneEvacuationStatus,
  options: ReportOptions,
): void => {
  const turn = phase === undefined || phase === one.status?.phase ? undefined : TURNS[phase];
  if (turn === undefined) return;
  const { name = '', uid } = one.metadata;
  const message = conditions.find(({ type }) => type === turn.condition)?.message ?? '';
  options.logger.info('phase of the zone evacuation changed', {
    evacuation: name,
    zone: one.spec.zone,
    phase,
    detail: message,
  });
  const { kind } = ZONE_EVACUATIONS;
  const regarding = { apiVersion: apiVersionOf(ZONE_EVACUATIONS), kind, name, ...defined({ uid }) };
  const { type, reason } = turn;
  options.events.record({ regarding, type, reason, message: `zone ${one.spec.zone}: ${message}` });
};

/** @param one - as it was read; nothing is written where its status says the same. */
export const writeStatus = async (
  one: ZoneEvacuation,
  status: ZoneEvacuationStatus,
  options: ReportOptions,
  signal: AbortSignal,
): Promise<void> => {
  if (isDeepStrictEqual(one.status, status)) return;
  // A merge keeps what is not named: fields that are gone are named.
  const gone = Object.keys(one.status ?? {}).filter((key) => !(key in status));
  const patch = { status: { ...Object.fromEntries(gone.map((key) => [key, null])), ...status } };
  const ref = { name: nameOf(one) };
  try {
    const write = { subresource: 'status' as const };
    await options.client.patch<KubernetesObject>(ZONE_EVACUATIONS, ref, 'merge', patch, write, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return;
  }
  announce(one, status, options);
};

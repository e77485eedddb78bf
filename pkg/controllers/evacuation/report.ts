// Writes the status of a ZoneEvacuation where it says something new, and records an event where it enters another phase.
import { isDeepStrictEqual } from 'node:util';
import { nameOf } from '../../apis/values.ts';
import { ZONE_EVACUATIONS, regardingOf } from '../../apis/resources.ts';
import type { ZoneEvacuation, ZoneEvacuationCondition, ZoneEvacuationStatus } from '../../apis/zone-evacuation.ts';
import { ifFound } from '../../kubernetes/errors.ts';
import type { EventInput, Uses } from '../../kubernetes/types.ts';

type Phase = NonNullable<ZoneEvacuationStatus['phase']>;

/** The event of each phase, and the condition whose message it has. */
const EVENTS: Readonly<
  Partial<Record<Phase, Pick<EventInput, 'type' | 'reason'> & { readonly of: ZoneEvacuationCondition['type'] }>>
> = {
  Refused: { type: 'Warning', reason: 'EvacuationRefused', of: 'Accepted' },
  Moving: { type: 'Normal', reason: 'EvacuationStarted', of: 'Evacuated' },
  Evacuated: { type: 'Normal', reason: 'ZoneEvacuated', of: 'Evacuated' },
  Returned: { type: 'Normal', reason: 'ZoneReturned', of: 'Returned' },
};

/** @param one - as it was read; nothing is written where its status says the same. */
export const writeStatus = async (
  one: ZoneEvacuation,
  status: ZoneEvacuationStatus,
  options: Uses<'client' | 'events' | 'logger', 'patch'>,
  signal: AbortSignal,
): Promise<void> => {
  if (isDeepStrictEqual(one.status, status)) return;
  // A merge keeps what is not named: fields that are gone are named.
  const gone = Object.keys(one.status ?? {}).filter((key) => !(key in status));
  const patch = { status: { ...Object.fromEntries(gone.map((key) => [key, null])), ...status } };
  const ref = { name: nameOf(one) };
  const write = options.client.patch(ZONE_EVACUATIONS, ref, 'merge', patch, { subresource: 'status' }, signal);
  if ((await ifFound(write)) === undefined) return;
  const { phase, conditions = [] } = status;
  const event = phase === undefined || phase === one.status?.phase ? undefined : EVENTS[phase];
  if (event === undefined) return;
  const { zone } = one.spec;
  const detail = conditions.find(({ type }) => type === event.of)?.message ?? '';
  options.logger.info('phase of the zone evacuation changed', { evacuation: ref.name, zone, phase, detail });
  const regarding = regardingOf(ZONE_EVACUATIONS, one);
  const { type, reason } = event;
  options.events.record({ regarding, type, reason, message: `zone ${zone}: ${detail}` });
};

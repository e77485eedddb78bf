// ZoneEvacuations reduced to which zone is left until when, and why.
import { expiryOf } from '../../evacuation/active.ts';
import type { Fields } from '../../apis/fields.ts';
import type { EvacuationSummary } from '../snapshot.ts';
import { fieldsAt, objectAt, textAt, wholeAt } from './fields.ts';
import { metadataOf } from './metadata.ts';

const countsOf = (services: Fields): string =>
  ['moved', 'pending', 'left'].map((name) => `${wholeAt(services, name) ?? 0} ${name}`).join(', ');

/** Undefined where it was deleted and is on its way out. */
export const evacuationOf = (object: Fields): EvacuationSummary | undefined => {
  const { name } = metadataOf(object, false);
  const spec = fieldsAt(object, 'spec');
  const { creationTimestamp = '', deletionTimestamp } =
    objectAt(object, 'metadata', (inner) => ({
      creationTimestamp: textAt(inner, 'creationTimestamp'),
      deletionTimestamp: textAt(inner, 'deletionTimestamp'),
    })) ?? {};
  if (deletionTimestamp !== undefined) return undefined;
  const until = expiryOf({ metadata: { creationTimestamp }, spec: { duration: textAt(spec, 'duration') ?? '' } });
  const status = fieldsAt(object, 'status');
  return {
    name,
    zone: textAt(spec, 'zone') ?? '',
    until,
    reason: textAt(spec, 'reason') ?? '',
    phase: textAt(status, 'phase') ?? '',
    services: objectAt(status, 'services', countsOf) ?? '',
  };
};

// What a Service wants of the flow controller, and why it cannot have it yet.
import type { Service } from '../../apis/core.ts';
import { refOf } from '../../apis/object.ts';
import { conflictingMode, effectiveStrategy } from '../../routing/index.ts';
import { isPlannedStrategy } from '../../routing/strategy.ts';
import type { PlannedStrategy } from '../../routing/strategy.ts';
import type { FlowSlice } from './slice.ts';

export type Ask =
  /** Nothing, or hints that admission alone gives. */
  | { readonly kind: 'none' }
  | {
      readonly kind: 'planned';
      readonly strategy: PlannedStrategy;
      /** Those that hints may be written to. */
      readonly writable: readonly FlowSlice[];
    }
  | {
      readonly kind: 'refused';
      readonly strategy: PlannedStrategy;
      readonly reason: 'ConflictingMode' | 'NotMirrored' | 'WaitingForSlices';
      readonly message: string;
    };

export interface AskInput {
  readonly service: Service;
  readonly slices: readonly FlowSlice[];
  /** Slices without the label count as well: nothing will be written. */
  readonly observeOnly: boolean;
}

/**
 * Only slices that carry the strategy label are planned: admission would not keep the hints of others. The EndpointSlice
 * controller copies the label from the Service within a second; for a Service without selector no controller does.
 */
export const askOf = ({ service, slices, observeOnly }: AskInput): Ask => {
  const strategy = effectiveStrategy(service);
  if (!isPlannedStrategy(strategy)) return { kind: 'none' };
  const { namespace, name } = refOf(service);
  const conflict = conflictingMode(service);
  if (conflict !== undefined) {
    const message = `Service ${namespace}/${name} asks for ${strategy}, but ${conflict.field} is ${JSON.stringify(conflict.value)}: remove one of the two`;
    return { kind: 'refused', strategy, reason: 'ConflictingMode', message };
  }
  const carrying = observeOnly ? slices : slices.filter((slice) => slice.strategy === strategy);
  const bare = slices.filter((slice) => !carrying.includes(slice) && slice.endpoints.length > 0);
  const mirrored = service.spec?.selector !== undefined;
  // One endpoint without hint, and proxies use none: a part of the slices would be as good as nothing.
  if (carrying.length > 0 && (mirrored || bare.length === 0)) return { kind: 'planned', strategy, writable: carrying };
  if (slices.length > 0 && !mirrored) {
    const message = `the EndpointSlices of Service ${namespace}/${name}, which has no selector, do not carry its strategy label: their owner has to set it on them, or on the Endpoints`;
    return { kind: 'refused', strategy, reason: 'NotMirrored', message };
  }
  const message = `no EndpointSlice of Service ${namespace}/${name} carries its strategy label yet`;
  return { kind: 'refused', strategy, reason: 'WaitingForSlices', message };
};

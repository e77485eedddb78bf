// What the sandbox's EndpointSlice controller does about hints: the model of pkg/upstream on the sandbox's shapes.
import { controllerEvent, hintByDistribution, stripHints as stripModel, wishOf } from '../../pkg/upstream/index.ts';
import type { ControllerEvent, HintMode as ModelMode } from '../../pkg/upstream/index.ts';
import { allocate, autoHints, throughModel, type ZoneRatios } from './slice-auto.ts';
import type { StoredObject } from './object.ts';
import { endpointsOf, type SlicePlan } from './slice-plan.ts';

/** What decides the hints of a Service. */
export type HintMode = Exclude<ModelMode, 'proportional'> | 'auto';

export type HintEvent = Omit<ControllerEvent, 'reason'> & { readonly reason: string };

export interface HintResult {
  readonly plan: SlicePlan;
  readonly events: readonly HintEvent[];
  /** The Auto heuristic hinted the slices. */
  readonly hinted: boolean;
}

/** The rule by annotations, field and version. */
export const hintModeOf = (service: StoredObject, minor: number): HintMode => {
  const { mode } = wishOf(service, { major: 1, minor });
  return mode === 'proportional' ? 'auto' : mode;
};

export const stripHints = (plan: SlicePlan): SlicePlan => throughModel(plan, stripModel);

/** Completes a plan with hints. `family` is named in events as the original does; `wasHinted`: Auto hinted it before. */
export const applyHints = (
  mode: HintMode,
  plan: SlicePlan,
  options: { ratios: ZoneRatios | undefined; family: string; minor: number; wasHinted: boolean },
): HintResult => {
  const { ratios, family, minor, wasHinted } = options;
  if (mode !== 'auto') {
    const events = wasHinted ? [controllerEvent({ reason: 'AnnotationRemoved' }, family)] : [];
    const changed =
      mode === 'none'
        ? stripHints(plan)
        : throughModel(plan, (model) => hintByDistribution(model, mode, { major: 1, minor }));
    return { plan: changed, events, hinted: false };
  }
  const all = [...plan.create, ...plan.update, ...plan.unchanged].flatMap((slice) => endpointsOf(slice));
  const ready = all.filter(({ conditions }) => conditions?.ready === true).length;
  const allocation = allocate(ratios, ready);
  const result = allocation.kind === 'allocated' ? autoHints(plan, allocation.zones) : allocation;
  if (result.kind === 'hinted') {
    const events = wasHinted ? [] : [controllerEvent({ reason: 'ProportionalHints' }, family)];
    return { plan: result.plan, hinted: true, events };
  }
  const message = `${result.message}, addressType: ${family}`;
  return {
    plan: stripHints(plan),
    events: [{ type: 'Warning', reason: 'TopologyAwareHintsDisabled', message }],
    hinted: false,
  };
};

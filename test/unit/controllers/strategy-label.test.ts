// Three write the strategy label of a Service: admission, settings-reconciler and flow-controller. They come to an end, and agree.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Service } from '../../../pkg/apis/core.ts';
import type { JsonPatchOperation } from '../../../pkg/apis/admission.ts';
import {
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_STRATEGY,
  STRATEGIES,
  type Strategy,
  isPlannedStrategy,
} from '../../../pkg/apis/names.ts';
import { labelPlan } from '../../../pkg/controllers/flow/write.ts';
import { planService } from '../../../pkg/controllers/settings/decide/objects.ts';
import { observeLabel, planRelease } from '../../../pkg/routing/strategy.ts';
import type { SettingsPlan } from '../../../pkg/routing/index.ts';
import { SETTINGS_KINDS, createRoutingSettingsHandler } from '../../../pkg/webhook/routing-settings.ts';
import { service } from '../../fixtures/core.ts';
import { applyJsonPatch } from '../../sandbox/patch-json.ts';
import { mergePatch } from '../routing/support.ts';
import { ENABLED, context } from './settings/support.ts';
import { upTo } from '../../support/depth.ts';

const RECONCILER = 'system:serviceaccount:garden:settings-reconciler';

interface Situation {
  /** What the author's annotation asks for. */
  readonly asks: Strategy | undefined;
  /** What a RoutingConfig asks for in its place. */
  readonly configured: Strategy | undefined;
  readonly minor: number;
  readonly mixedKubelets: boolean;
  readonly observe: boolean;
  /** Whether the settings-reconciler has the setting on, off, or is not there at all. */
  readonly reconciler: 'on' | 'off' | 'absent';
  readonly webhook: boolean;
}

/** Stores a write as the API server would, with admission in its path. */
const admit = (old: Service | undefined, next: Service, userName: string, { webhook }: Situation): Service => {
  if (!webhook) return next;
  const decision = createRoutingSettingsHandler({ settingsReconcilerUser: RECONCILER })({
    uid: '1',
    kind: SETTINGS_KINDS[0]!,
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    userInfo: { username: userName },
    object: next,
    ...(old === undefined ? {} : { oldObject: old }),
  });
  return decision.kind === 'patch' ? applyJsonPatch(next, JSON.parse(decision.patch) as JsonPatchOperation[]) : next;
};

const write = (stored: Service, plan: SettingsPlan, userName: string, situation: Situation): Service =>
  plan.kind === 'unchanged' ? stored : admit(stored, mergePatch(stored, plan.patch), userName, situation);

const writers: Readonly<Record<string, (stored: Service, situation: Situation) => Service>> = {
  'flow-controller': (stored, situation) =>
    write(stored, labelPlan(stored, situation.observe), 'flow-controller', situation),
  'settings-reconciler': (stored, situation) => {
    const { reconciler, minor, mixedKubelets, configured } = situation;
    if (reconciler === 'absent') return stored;
    const version = { major: 1, minor };
    const plan =
      reconciler === 'off'
        ? planRelease(stored)
        : planService(stored, ENABLED, context({ version, mixedKubelets }), configured).plan;
    return write(stored, plan, RECONCILER, situation);
  },
};

/** More than any order needs; who fights goes on for ever. */
const ROUNDS = 6;

/** Lets the writers act in turns, the given one first, until none has anything to write. */
const settle = (stored: Service, situation: Situation, first: string): Service => {
  const order = Object.keys(writers).sort((one) => (one === first ? -1 : 1));
  let now = stored;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = now;
    for (const name of order) now = writers[name]?.(now, situation) ?? now;
    if (now === before) return now;
  }
  throw new Error(`still writing after ${ROUNDS} rounds: ${JSON.stringify(now.metadata)}`);
};

const authored = ({ asks }: Situation): Service =>
  service({ metadata: { annotations: asks === undefined ? {} : { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/${asks}` } } });

const strategy = fc.option(fc.constantFrom(...STRATEGIES), { nil: undefined });
const situations: fc.Arbitrary<Situation> = fc.record({
  asks: strategy,
  configured: strategy,
  minor: fc.integer({ min: 26, max: 36 }),
  mixedKubelets: fc.boolean(),
  observe: fc.boolean(),
  reconciler: fc.constantFrom('on', 'off', 'absent'),
  webhook: fc.boolean(),
});
const firstWriter = fc.constantFrom(...Object.keys(writers));

/** The strategy that counts in a situation. */
const countingIn = ({ asks, configured, reconciler }: Situation): Strategy | undefined =>
  asks ?? (reconciler === 'on' ? configured : undefined);

/** Whether another writer than the flow-controller sets the label of a planned strategy. */
const isSetByOthers = ({ asks, webhook, reconciler }: Situation): boolean =>
  reconciler === 'on' || (webhook && asks !== undefined);

describe('the writers of the strategy label', () => {
  it('come to an end in any order, and the label says what is asked for, or that it is only observed', () => {
    fc.assert(
      fc.property(situations, firstWriter, (situation, first) => {
        const created = admit(undefined, authored(situation), 'author', situation);
        const label = settle(created, situation, first).metadata?.labels?.[LABEL_STRATEGY];
        const counting = countingIn(situation);
        if (!isPlannedStrategy(counting)) expect(label).to.be.oneOf([undefined, counting]);
        else if (!situation.observe) expect(label).to.equal(counting);
        else expect(label).to.equal(isSetByOthers(situation) ? observeLabel(counting) : undefined);
      }),
      { numRuns: upTo(2_000) },
    );
  });
});

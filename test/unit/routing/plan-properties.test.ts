// What holds for every plan, whatever object it meets: fixpoint, exact reverting, no other writer's values touched.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { STRATEGIES } from '../../../pkg/apis/names.ts';
import { SLOTS, parseApplied, settingsOf, valueOf } from '../../../pkg/routing/slots.ts';
import { planSettings, routingSettings, strategySettings } from '../../../pkg/routing/plan.ts';
import type { RoutingSettings, ServiceLike } from '../../../pkg/routing/types.ts';
import {
  APPLIED,
  CONSIDER,
  HINTS,
  MODE,
  STRATEGY,
  allMinors,
  arbitrarySettings,
  deepFreeze,
  mergePatch,
  modeValues,
  serviceFrom,
  storableOn,
  withoutEmpty,
} from './support.ts';
import { upTo } from '../../support/depth.ts';

type Managed = ServiceLike;

interface Request {
  minor: number;
  strategy: (typeof STRATEGIES)[number] | undefined;
  mixedKubelets: boolean;
  off: boolean;
}

const requests = fc.record<Request>({
  minor: fc.constantFrom(...allMinors),
  strategy: fc.option(fc.constantFrom(...STRATEGIES), { nil: undefined }),
  mixedKubelets: fc.boolean(),
  off: fc.boolean(),
});

const wantOf = ({ minor, strategy, off }: Request): RoutingSettings | undefined => {
  if (off) return undefined;
  const version = { major: 1, minor };
  return strategy === undefined ? routingSettings(version) : strategySettings(version, strategy);
};

const planFor = (object: Managed, request: Request): ReturnType<typeof planSettings> =>
  planSettings({ object: deepFreeze(object), want: wantOf(request), mixedKubelets: request.mixedKubelets });

const apply = (object: Managed, request: Request): Managed => {
  const plan = planFor(object, request);
  return plan.kind === 'patch' ? mergePatch(object, plan.patch) : object;
};

const revertService = (object: Managed): Managed =>
  apply(object, { minor: 34, strategy: undefined, mixedKubelets: false, off: true });

const objectOf = (settings: Parameters<typeof serviceFrom>[0]): Managed => serviceFrom(settings);

/** Any record that an earlier version of the plan, or a hand, may have left. */
const arbitraryApplied = fc
  .record(
    {
      labels: fc.dictionary(fc.constantFrom(CONSIDER, STRATEGY), fc.constantFrom('true', 'same-zone')),
      annotations: fc.dictionary(fc.constantFrom(HINTS, MODE), fc.constantFrom(...modeValues)),
      removedAnnotations: fc.dictionary(fc.constantFrom(HINTS, MODE), fc.constantFrom('auto', 'Auto')),
      trafficDistribution: fc.constantFrom('PreferClose', 'PreferSameZone'),
    },
    { requiredKeys: [] },
  )
  .map((record) => JSON.stringify(record));
const appliedTexts = fc.option(fc.oneof(arbitraryApplied, fc.constantFrom('', '{', '[]')), { nil: undefined });

const withApplied = (object: Managed, text: string | undefined): Managed =>
  text === undefined ? object : mergePatch(object, { metadata: { annotations: { [APPLIED]: text } } });

const slotValues = (object: Managed): (string | undefined)[] => SLOTS.map((slot) => valueOf(settingsOf(object), slot));

const recordOf = (object: Managed): ReturnType<typeof parseApplied> =>
  parseApplied(object.metadata?.annotations?.[APPLIED]);

describe('every plan', () => {
  it('is a fixpoint: planned again, nothing is left to do, and the same is reported', () => {
    fc.assert(
      fc.property(arbitrarySettings, appliedTexts, requests, (settings, text, request) => {
        const before = withApplied(objectOf(settings), text);
        const after = apply(before, request);
        const again = planFor(after, request);
        expect(again.kind).to.equal('unchanged');
      }),
      { numRuns: upTo(1000) },
    );
  });

  it('is the same for the same object', () => {
    fc.assert(
      fc.property(arbitrarySettings, appliedTexts, requests, (settings, text, request) => {
        const object = withApplied(objectOf(settings), text);
        expect(planFor(structuredClone(object), request)).to.deep.equal(planFor(object, request));
      }),
    );
  });

  it('touches nothing but routing settings and its own annotation', () => {
    const strip = (object: Managed): unknown => {
      const gone = { [CONSIDER]: null, [STRATEGY]: null };
      const goneToo = { [HINTS]: null, [MODE]: null };
      const patch = {
        metadata: { labels: gone, annotations: { ...goneToo, [APPLIED]: null } },
        spec: { trafficDistribution: null },
      };
      return withoutEmpty(mergePatch(object, patch));
    };
    fc.assert(
      fc.property(arbitrarySettings, appliedTexts, requests, (settings, text, request) => {
        const before = withApplied(objectOf(settings), text);
        expect(strip(apply(before, request))).to.deep.equal(strip(before));
      }),
    );
  });

  it('is minimal: each change changes its field, and the patch holds nothing else', () => {
    const leaves = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? Object.values(value).reduce((sum, child) => sum + leaves(child), 0)
        : 1;
    fc.assert(
      fc.property(arbitrarySettings, appliedTexts, requests, (settings, text, request) => {
        const plan = planFor(withApplied(objectOf(settings), text), request);
        if (plan.kind === 'unchanged') return;
        expect(plan.changes.length).to.equal(leaves(plan.patch)).and.be.above(0);
        for (const { field, before, after } of plan.changes) expect(after, field).to.not.equal(before);
      }),
    );
  });

  it("never changes or removes a user's own domain-prefixed topology-mode", () => {
    fc.assert(
      fc.property(
        arbitrarySettings,
        fc.constantFrom('example.com/heuristic', 'topology.extensions.gardener.cloud/proportional'),
        fc.array(requests, { minLength: 1, maxLength: 4 }),
        (settings, mode, steps) => {
          let object = objectOf({ ...settings, annotations: { ...settings.annotations, [MODE]: mode } });
          for (const request of steps) object = apply(object, request);
          expect(settingsOf(object).annotations?.[MODE]).to.equal(mode);
        },
      ),
    );
  });

  it('never lets the two topology annotations differ where the API server would reject that', () => {
    fc.assert(
      fc.property(
        arbitrarySettings.filter((settings) => storableOn(27, settings)),
        fc.array(
          requests.filter(({ minor }) => minor >= 27),
          { minLength: 1, maxLength: 4 },
        ),
        (settings, steps) => {
          let object = objectOf(settings);
          for (const request of steps) {
            object = apply(object, request);
            const { [HINTS]: hints, [MODE]: mode } = settingsOf(object).annotations ?? {};
            expect(hints === undefined || mode === undefined || hints === mode, JSON.stringify(object)).to.equal(true);
          }
        },
      ),
    );
  });
});

describe('the applied annotation', () => {
  it('never claims a value that was there before', () => {
    fc.assert(
      fc.property(arbitrarySettings, requests, (settings, request) => {
        const before = objectOf(settings);
        const after = apply(before, request);
        const { record, malformed } = recordOf(after);
        expect(malformed).to.equal(false);
        for (const slot of SLOTS) {
          const claim = valueOf(record, slot);
          if (claim === undefined) continue;
          expect(valueOf(settingsOf(after), slot), 'a claim is on the object').to.equal(claim);
          expect(valueOf(settingsOf(before), slot), 'and was not before').to.not.equal(claim);
        }
      }),
    );
  });
});

describe('reverting', () => {
  it('restores the object exactly, after any sequence of versions, strategies and old kubelets', () => {
    fc.assert(
      fc.property(
        arbitrarySettings.filter((settings) => storableOn(27, settings)),
        fc.array(requests, { minLength: 1, maxLength: 5 }),
        (settings, steps) => {
          const original = objectOf(settings);
          let object = original;
          for (const request of steps) object = apply(object, request);
          expect(withoutEmpty(revertService(object))).to.deep.equal(withoutEmpty(original));
        },
      ),
      { numRuns: upTo(1000) },
    );
  });

  it('removes only what applied records with the recorded value still there', () => {
    fc.assert(
      fc.property(arbitrarySettings, arbitraryApplied, (settings, text) => {
        const before = withApplied(objectOf(settings), text);
        const after = revertService(before);
        const { record } = parseApplied(text);
        const now = slotValues(after);
        slotValues(before).forEach((value, index) => {
          const slot = SLOTS[index]!;
          if (value !== undefined && value !== valueOf(record, slot)) expect(now[index]).to.equal(value);
        });
        expect(after.metadata?.annotations).to.not.have.property(APPLIED);
      }),
    );
  });

  it('comes to the same after drift: what the owner overwrote and was repaired is removed later', () => {
    fc.assert(
      fc.property(requests, fc.constantFrom('PreferSameNode', 'Odd'), (request, drift) => {
        const on = { ...request, off: false };
        const bare = objectOf({ labels: {}, annotations: {}, trafficDistribution: undefined });
        const applied = apply(bare, on);
        const ours = settingsOf(applied).trafficDistribution;
        fc.pre(ours !== undefined && ours !== drift);
        const overwritten = mergePatch(applied, { spec: { trafficDistribution: drift } });
        const repaired = apply(overwritten, on);
        expect(settingsOf(repaired).trafficDistribution).to.equal(ours);
        expect(withoutEmpty(revertService(repaired))).to.deep.equal(withoutEmpty(bare));
      }),
    );
  });

  it('leaves the name that an owner writes for the same routing: it is neither repaired, nor foreign, nor removed later', () => {
    const names = ['PreferClose', 'PreferSameZone'] as const;
    fc.assert(
      fc.property(requests, fc.constantFrom(...names), (request, written) => {
        const on = { ...request, strategy: undefined, off: false };
        const applied = apply(objectOf({ labels: {}, annotations: {}, trafficDistribution: undefined }), on);
        fc.pre(names.some((name) => name !== written && name === settingsOf(applied).trafficDistribution));
        const rewritten = mergePatch(applied, { spec: { trafficDistribution: written } });
        const plan = planFor(rewritten, on);
        expect(plan.foreign).to.deep.equal([]);
        const after = plan.kind === 'patch' ? mergePatch(rewritten, plan.patch) : rewritten;
        expect(settingsOf(after).trafficDistribution).to.equal(written);
        const off = planFor(after, { ...on, off: true });
        expect(off.foreign, 'no warning about a value that the owner left').to.deep.equal([]);
        expect(settingsOf(revertService(after)).trafficDistribution).to.equal(written);
      }),
    );
  });
});

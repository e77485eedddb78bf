// SPDX-License-Identifier: Apache-2.0
// What holds for every plan, whatever object it meets: fixpoint, exact taking back, nobody else's values touched.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { STRATEGIES } from '../../../pkg/apis/names.ts';
import { parseApplied } from '../../../pkg/routing/applied.ts';
import { routingSettings, strategySettings } from '../../../pkg/routing/mechanism.ts';
import { planSettings } from '../../../pkg/routing/plan.ts';
import { SLOTS, settingsOf, valueOf } from '../../../pkg/routing/slots.ts';
import type { EtcdLike, RoutingSettings, ServiceLike, SettingsTarget } from '../../../pkg/routing/types.ts';
import {
  APPLIED,
  CONSIDER,
  HINTS,
  MODE,
  STRATEGY,
  allMinors,
  arbitrarySettings,
  deepFreeze,
  etcdFrom,
  mergePatch,
  modeValues,
  serviceFrom,
  storableOn,
  withoutEmpty,
} from './support.ts';
import { upTo } from '../../support/depth.ts';

type Managed = ServiceLike & EtcdLike;

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
const targets = fc.constantFrom<SettingsTarget>('Service', 'Etcd');

const wantOf = ({ minor, strategy, off }: Request): RoutingSettings | undefined => {
  if (off) return undefined;
  const version = { major: 1, minor };
  return strategy === undefined ? routingSettings(version) : strategySettings(version, strategy);
};

const planFor = (target: SettingsTarget, object: Managed, request: Request): ReturnType<typeof planSettings> =>
  planSettings({ target, object: deepFreeze(object), want: wantOf(request), mixedKubelets: request.mixedKubelets });

const apply = (target: SettingsTarget, object: Managed, request: Request): Managed => {
  const plan = planFor(target, object, request);
  return plan.kind === 'patch' ? mergePatch(object, plan.patch) : object;
};

const takeBack = (target: SettingsTarget, object: Managed): Managed =>
  apply(target, object, { minor: 34, strategy: undefined, mixedKubelets: false, off: true });

const objectOf = (target: SettingsTarget, settings: Parameters<typeof serviceFrom>[0]): Managed =>
  target === 'Etcd' ? etcdFrom(settings) : serviceFrom(settings);

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

const slotValues = (target: SettingsTarget, object: Managed): (string | undefined)[] =>
  SLOTS.map((slot) => valueOf(settingsOf(target, object), slot));

const recordOf = (object: Managed): ReturnType<typeof parseApplied> =>
  parseApplied(object.metadata?.annotations?.[APPLIED]);

describe('every plan', () => {
  it('is a fixpoint: planned again, nothing is left to do, and the same is reported', () => {
    fc.assert(
      fc.property(targets, arbitrarySettings, appliedTexts, requests, (target, settings, text, request) => {
        const before = withApplied(objectOf(target, settings), text);
        const after = apply(target, before, request);
        const again = planFor(target, after, request);
        expect(again.kind).to.equal('unchanged');
      }),
      { numRuns: upTo(1000) },
    );
  });

  it('is the same for the same object', () => {
    fc.assert(
      fc.property(targets, arbitrarySettings, appliedTexts, requests, (target, settings, text, request) => {
        const object = withApplied(objectOf(target, settings), text);
        expect(planFor(target, structuredClone(object), request)).to.deep.equal(planFor(target, object, request));
      }),
    );
  });

  it('touches nothing but routing settings and its own annotation', () => {
    const strip = (target: SettingsTarget, object: Managed): unknown => {
      const gone = { [CONSIDER]: null, [STRATEGY]: null };
      const goneToo = { [HINTS]: null, [MODE]: null };
      const block = { labels: gone, annotations: goneToo, trafficDistribution: null };
      const patch =
        target === 'Etcd'
          ? { metadata: { annotations: { [APPLIED]: null } }, spec: { etcd: { clientService: block } } }
          : {
              metadata: { labels: gone, annotations: { ...goneToo, [APPLIED]: null } },
              spec: { trafficDistribution: null },
            };
      return withoutEmpty(mergePatch(object, patch));
    };
    fc.assert(
      fc.property(targets, arbitrarySettings, appliedTexts, requests, (target, settings, text, request) => {
        const before = withApplied(objectOf(target, settings), text);
        expect(strip(target, apply(target, before, request))).to.deep.equal(strip(target, before));
      }),
    );
  });

  it('is minimal: each change changes its field, and the patch holds nothing else', () => {
    const leaves = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? Object.values(value).reduce((sum, child) => sum + leaves(child), 0)
        : 1;
    fc.assert(
      fc.property(targets, arbitrarySettings, appliedTexts, requests, (target, settings, text, request) => {
        const plan = planFor(target, withApplied(objectOf(target, settings), text), request);
        if (plan.kind === 'unchanged') return;
        expect(plan.changes.length).to.equal(leaves(plan.patch)).and.be.above(0);
        for (const { field, before, after } of plan.changes) expect(after, field).to.not.equal(before);
      }),
    );
  });

  it("never changes or removes a user's own domain-prefixed topology-mode", () => {
    fc.assert(
      fc.property(
        targets,
        arbitrarySettings,
        fc.constantFrom('example.com/heuristic', 'topology.extensions.gardener.cloud/proportional'),
        fc.array(requests, { minLength: 1, maxLength: 4 }),
        (target, settings, mode, steps) => {
          let object = objectOf(target, { ...settings, annotations: { ...settings.annotations, [MODE]: mode } });
          for (const request of steps) object = apply(target, object, request);
          expect(settingsOf(target, object).annotations?.[MODE]).to.equal(mode);
        },
      ),
    );
  });

  it('never lets the two topology annotations differ where the API server would reject that', () => {
    fc.assert(
      fc.property(
        targets,
        arbitrarySettings.filter((settings) => storableOn(27, settings)),
        fc.array(
          requests.filter(({ minor }) => minor >= 27),
          { minLength: 1, maxLength: 4 },
        ),
        (target, settings, steps) => {
          let object = objectOf(target, settings);
          for (const request of steps) {
            object = apply(target, object, request);
            const { [HINTS]: hints, [MODE]: mode } = settingsOf(target, object).annotations ?? {};
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
      fc.property(targets, arbitrarySettings, requests, (target, settings, request) => {
        const before = objectOf(target, settings);
        const after = apply(target, before, request);
        const { record, malformed } = recordOf(after);
        expect(malformed).to.equal(false);
        for (const slot of SLOTS) {
          const claim = valueOf(record, slot);
          if (claim === undefined) continue;
          expect(valueOf(settingsOf(target, after), slot), 'a claim is on the object').to.equal(claim);
          expect(valueOf(settingsOf(target, before), slot), 'and was not before').to.not.equal(claim);
        }
      }),
    );
  });
});

describe('taking back', () => {
  it('restores the object exactly, after any sequence of versions, strategies and old kubelets', () => {
    fc.assert(
      fc.property(
        targets,
        arbitrarySettings.filter((settings) => storableOn(27, settings)),
        fc.array(requests, { minLength: 1, maxLength: 5 }),
        (target, settings, steps) => {
          const original = objectOf(target, settings);
          let object = original;
          for (const request of steps) object = apply(target, object, request);
          expect(withoutEmpty(takeBack(target, object))).to.deep.equal(withoutEmpty(original));
        },
      ),
      { numRuns: upTo(1000) },
    );
  });

  it('removes only what applied records with the recorded value still there', () => {
    fc.assert(
      fc.property(targets, arbitrarySettings, arbitraryApplied, (target, settings, text) => {
        const before = withApplied(objectOf(target, settings), text);
        const after = takeBack(target, before);
        const { record } = parseApplied(text);
        const now = slotValues(target, after);
        slotValues(target, before).forEach((value, index) => {
          const slot = SLOTS[index]!;
          if (value !== undefined && value !== valueOf(record, slot)) expect(now[index]).to.equal(value);
        });
        expect(after.metadata?.annotations).to.not.have.property(APPLIED);
      }),
    );
  });

  it('comes to the same after drift: what the owner wrote over ours and we repaired is ours to remove', () => {
    fc.assert(
      fc.property(
        targets,
        requests,
        fc.constantFrom('PreferClose', 'PreferSameNode', 'Odd'),
        (target, request, drift) => {
          const on = { ...request, off: false };
          const bare = objectOf(target, { labels: {}, annotations: {}, trafficDistribution: undefined });
          const applied = apply(target, bare, on);
          const ours = settingsOf(target, applied).trafficDistribution;
          fc.pre(ours !== undefined && ours !== drift);
          const overwritten = mergePatch(
            applied,
            target === 'Etcd'
              ? { spec: { etcd: { clientService: { trafficDistribution: drift } } } }
              : { spec: { trafficDistribution: drift } },
          );
          const repaired = apply(target, overwritten, on);
          expect(settingsOf(target, repaired).trafficDistribution).to.equal(ours);
          expect(withoutEmpty(takeBack(target, repaired))).to.deep.equal(withoutEmpty(bare));
        },
      ),
    );
  });
});

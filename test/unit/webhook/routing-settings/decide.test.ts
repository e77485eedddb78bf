import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_MANAGED,
  LABEL_STRATEGY,
} from '../../../../pkg/apis/names.ts';
import { UNTOUCHED_SERVICES } from '../../../../pkg/routing/keep.ts';
import type { AdmissionRequest, JsonPatchOperation } from '../../../../pkg/apis/admission.ts';
import { SETTINGS_KINDS, createRoutingSettingsHandler } from '../../../../pkg/webhook/routing-settings.ts';
import { applyJsonPatch } from '../../../sandbox/patch-json.ts';

const RECONCILER = 'system:serviceaccount:garden:settings-reconciler';
const OWNER = 'system:serviceaccount:garden:gardenlet';
type Strings = Record<string, string>;
interface Shape {
  name?: string;
  labels?: Strings;
  annotations?: Strings;
  trafficDistribution?: string;
  applied?: object | string;
  spec?: Record<string, unknown>;
}

const annotationsOf = ({ annotations = {}, applied }: Shape): Strings => {
  if (applied === undefined) return annotations;
  return { ...annotations, [ANNOTATION_APPLIED]: typeof applied === 'string' ? applied : JSON.stringify(applied) };
};

const serviceOf = (shape: Shape): Record<string, unknown> => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: shape.name ?? 'gardener-apiserver', labels: shape.labels ?? {}, annotations: annotationsOf(shape) },
  spec: {
    clusterIP: '10.0.0.1',
    ...shape.spec,
    ...(shape.trafficDistribution === undefined ? {} : { trafficDistribution: shape.trafficDistribution }),
  },
});

const decide = createRoutingSettingsHandler({ settingsReconcilerUser: RECONCILER });

const inputOf = (object: unknown, oldObject?: unknown, username = OWNER): AdmissionRequest => ({
  uid: '1',
  kind: SETTINGS_KINDS[0]!,
  operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
  userInfo: { username },
  object,
  ...(oldObject === undefined ? {} : { oldObject }),
});

const after = (input: AdmissionRequest): unknown => {
  const decision = decide(input);
  expect(decision.kind, JSON.stringify(decision)).to.be.oneOf(['patch', 'unchanged']);
  const operations = decision.kind === 'patch' ? (JSON.parse(decision.patch) as JsonPatchOperation[]) : [];
  return applyJsonPatch(input.object, operations);
};

const distribution = { trafficDistribution: 'PreferSameZone' };
const auto = { [ANNOTATION_TOPOLOGY_MODE]: 'auto' };
const consider = { [LABEL_CONSIDER]: 'true' };

describe('the handler of routing settings', () => {
  const kept = { ...distribution, applied: distribution };

  describe('puts back what the owner dropped from a Service', () => {
    const applied = { labels: consider, annotations: auto };
    const cases: readonly (readonly [name: string, old: Shape, next: Shape, want: Shape])[] = [
      ['the field', kept, { applied: distribution }, kept],
      ['the field that the owner changed', kept, { trafficDistribution: 'PreferClose', applied: distribution }, kept],
      ['annotation and label', { ...applied, applied }, { applied }, { ...applied, applied }],
      ['everything with applied itself', kept, {}, kept],
      ['applied alone', kept, distribution, kept],
      [
        'beside what the owner sets',
        kept,
        { labels: { app: 'x' }, applied: distribution },
        { labels: { app: 'x' }, ...kept },
      ],
    ];
    for (const [name, old, next, want] of cases)
      it(name, () => expect(after(inputOf(serviceOf(next), serviceOf(old)))).to.deep.equal(serviceOf(want)));
  });

  describe('leaves a Service alone', () => {
    const next = { applied: distribution };
    const dropped = { old: kept, next };
    const autoKept = { annotations: auto, applied: { annotations: auto } };
    const noSetting = { applied: { labels: { app: 'x' } } };
    const replacing = (annotations: Strings) => ({
      old: autoKept,
      next: { annotations, applied: { annotations: auto } },
    });
    const cases: { name: string; old?: Shape; next: Shape; user?: string }[] = [
      { name: 'on CREATE', next },
      { name: 'when the reconciler itself writes', ...dropped, user: RECONCILER },
      {
        name: 'when that of another installation does',
        ...dropped,
        user: 'system:serviceaccount:x:settings-reconciler',
      },
      { name: 'with managed: false', old: kept, next: { ...next, labels: { [LABEL_MANAGED]: 'false' } } },
      { name: 'where applied is gone on both sides', old: distribution, next: {} },
      { name: 'where the old object did not hold the value', old: next, next },
      { name: 'where the old object held another value', old: { trafficDistribution: 'PreferClose', ...next }, next },
      { name: 'where nothing was dropped', old: kept, next: kept },
      { name: 'with a malformed applied', old: { ...distribution, applied: '{' }, next: { applied: '{' } },
      { name: 'where applied names what is no setting', old: { labels: { app: 'x' }, ...noSetting }, next: noSetting },
      { name: 'where the owner names a heuristic', ...replacing({ [ANNOTATION_TOPOLOGY_MODE]: 'example.com/mine' }) },
      {
        name: 'where the other annotation would clash',
        ...replacing({ [ANNOTATION_TOPOLOGY_AWARE_HINTS]: 'disabled' }),
      },
      ...UNTOUCHED_SERVICES.map((name) => ({
        name: `called ${name}`,
        old: { ...kept, name },
        next: { ...next, name },
      })),
    ];
    for (const { name, old, next: written, user } of cases) {
      it(name, () => {
        const input = inputOf(serviceOf(written), old === undefined ? undefined : serviceOf(old), user);
        expect(decide(input)).to.deep.equal({ kind: 'unchanged' });
      });
    }
  });

  describe('lets the strategy label follow the annotation', () => {
    const asking = (value: string): Shape => ({ annotations: { [ANNOTATION_TOPOLOGY_MODE]: value } });
    const asks = asking('topology.extensions.gardener.cloud/same-zone');
    const label = { [LABEL_STRATEGY]: 'same-zone' };
    const applied = { labels: label };
    const set = { ...asks, labels: label, applied };
    const authored = { ...asks, labels: { [LABEL_STRATEGY]: 'same-node' } };
    const unmanaged = { ...asks, labels: { [LABEL_MANAGED]: 'false' } };
    const [unknown, others] = [asking('topology.extensions.gardener.cloud/x'), asking('example.com/same-zone')];
    const cases: { name: string; old?: Shape; next: Shape; want: Shape }[] = [
      { name: 'sets it on CREATE', next: asks, want: set },
      { name: 'sets it on UPDATE', old: {}, next: asks, want: set },
      { name: 'sets it again when the owner drops it', old: set, next: { ...asks, applied }, want: set },
      { name: 'takes it back with the annotation', old: set, next: { labels: label, applied }, want: {} },
      { name: "leaves the author's own label", next: authored, want: authored },
      { name: 'ignores a strategy that is none', next: unknown, want: unknown },
      { name: 'ignores another domain', next: others, want: others },
      { name: 'not with managed: false', next: unmanaged, want: unmanaged },
    ];
    for (const { name, old, next, want } of cases) {
      it(name, () => {
        const input = inputOf(serviceOf(next), old === undefined ? undefined : serviceOf(old));
        expect(after(input)).to.deep.equal(serviceOf(want));
      });
    }
  });

  describe('hostile objects are named and not served', () => {
    const cases: readonly (readonly [name: string, object: unknown, message: RegExp])[] = [
      ['no object', undefined, /^object is not/],
      ['metadata a list', { metadata: [] }, /^metadata is not/],
      ['a label that is a number', { metadata: { labels: { a: 1 } } }, /^metadata\.labels/],
      ['annotations a string', { metadata: { annotations: 'x' } }, /^metadata\.annotations/],
      ['trafficDistribution a list', { spec: { trafficDistribution: [] } }, /^spec\.trafficDistribution/],
      ['spec a string', { spec: 'x' }, /^spec is not/],
    ];
    for (const [name, object, message] of cases) {
      it(name, () => {
        const decision = decide(inputOf(object));
        expect(decision.kind === 'unserved' && decision.message).to.match(message);
      });
    }

    it('a hostile old object holds nothing', () => {
      for (const old of [null, [], 'x', { metadata: 5 }])
        expect(decide(inputOf(serviceOf({ applied: distribution }), old)).kind).to.equal('unchanged');
    });
  });

  const setting = fc.record(
    {
      labels: fc.constantFrom<Strings>({}, consider),
      annotations: fc.constantFrom<Strings>({}, auto, { [ANNOTATION_TOPOLOGY_AWARE_HINTS]: 'auto' }),
      trafficDistribution: fc.constantFrom('PreferClose', 'PreferSameZone'),
    },
    { requiredKeys: [] },
  );
  const shape = fc
    .tuple(setting, fc.option(setting, { nil: undefined }))
    .map(([own, applied]) => serviceOf({ ...own, ...(applied === undefined ? {} : { applied }) }));

  it('is done after one turn, and sets nothing that was not stored, whatever the objects', () => {
    fc.assert(
      fc.property(shape, shape, (object, oldObject) => {
        const result = after(inputOf(object, oldObject)) as Record<string, unknown>;
        expect(decide(inputOf(result, oldObject))).to.deep.equal({ kind: 'unchanged' });
        const fieldOf = (one: Record<string, unknown>) =>
          (one['spec'] as { trafficDistribution?: string }).trafficDistribution;
        expect(fieldOf(result)).to.be.oneOf([fieldOf(object), fieldOf(oldObject)]);
      }),
    );
  });
});

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
    const dropped = { old: kept, next: { applied: distribution } };
    const cases: { name: string; old?: Shape; next: Shape; user?: string }[] = [
      { name: 'on CREATE', next: dropped.next },
      { name: 'when the reconciler itself writes', ...dropped, user: RECONCILER },
      {
        name: "when another installation's reconciler writes",
        ...dropped,
        user: 'system:serviceaccount:x:settings-reconciler',
      },
      { name: 'with managed: false', ...dropped, next: { ...dropped.next, labels: { [LABEL_MANAGED]: 'false' } } },
      { name: 'where applied is gone on both sides', old: distribution, next: {} },
      {
        name: 'where the old object did not hold the value',
        old: { applied: distribution },
        next: { applied: distribution },
      },
      {
        name: 'where the old object held another value',
        old: { trafficDistribution: 'PreferClose', applied: distribution },
        next: { applied: distribution },
      },
      { name: 'where nothing was dropped', old: dropped.old, next: dropped.old },
      { name: 'with a malformed applied', old: { ...distribution, applied: '{' }, next: { applied: '{' } },
      {
        name: 'where applied names what is no setting',
        old: { labels: { app: 'x' }, applied: { labels: { app: 'x' } } },
        next: { applied: { labels: { app: 'x' } } },
      },
      {
        name: 'where the owner names a custom heuristic',
        old: { annotations: auto, applied: { annotations: auto } },
        next: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'example.com/mine' }, applied: { annotations: auto } },
      },
      {
        name: 'where the other topology annotation would clash',
        old: { annotations: auto, applied: { annotations: auto } },
        next: { annotations: { [ANNOTATION_TOPOLOGY_AWARE_HINTS]: 'disabled' }, applied: { annotations: auto } },
      },
      ...UNTOUCHED_SERVICES.map((name) => ({
        name: `called ${name}`,
        old: { ...dropped.old, name },
        next: { ...dropped.next, name },
      })),
    ];
    for (const { name, old, next, user } of cases) {
      it(name, () => {
        const input = inputOf(serviceOf(next), old === undefined ? undefined : serviceOf(old), user);
        expect(decide(input)).to.deep.equal({ kind: 'unchanged' });
      });
    }
  });

  describe('lets the strategy label follow the annotation', () => {
    const mode = { [ANNOTATION_TOPOLOGY_MODE]: 'topology.extensions.gardener.cloud/same-zone' };
    const label = { [LABEL_STRATEGY]: 'same-zone' };
    const cases: { name: string; old?: Shape; next: Shape; want: Shape }[] = [
      {
        name: 'sets it on CREATE',
        next: { annotations: mode },
        want: { annotations: mode, labels: label, applied: { labels: label } },
      },
      {
        name: 'sets it on UPDATE',
        old: {},
        next: { annotations: mode },
        want: { annotations: mode, labels: label, applied: { labels: label } },
      },
      {
        name: 'sets it again when the owner drops it',
        old: { annotations: mode, labels: label, applied: { labels: label } },
        next: { annotations: mode, applied: { labels: label } },
        want: { annotations: mode, labels: label, applied: { labels: label } },
      },
      {
        name: 'takes it back with the annotation',
        old: { annotations: mode, labels: label, applied: { labels: label } },
        next: { labels: label, applied: { labels: label } },
        want: {},
      },
      {
        name: "leaves the author's own label",
        next: { annotations: mode, labels: { [LABEL_STRATEGY]: 'same-node' } },
        want: { annotations: mode, labels: { [LABEL_STRATEGY]: 'same-node' } },
      },
      {
        name: 'ignores a strategy that nobody knows',
        next: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'topology.extensions.gardener.cloud/x' } },
        want: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'topology.extensions.gardener.cloud/x' } },
      },
      {
        name: 'ignores another domain',
        next: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'example.com/same-zone' } },
        want: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'example.com/same-zone' } },
      },
      {
        name: 'not with managed: false',
        next: { annotations: mode, labels: { [LABEL_MANAGED]: 'false' } },
        want: { annotations: mode, labels: { [LABEL_MANAGED]: 'false' } },
      },
    ];
    for (const { name, old, next, want } of cases) {
      it(name, () => {
        const input = inputOf(serviceOf(next), old === undefined ? undefined : serviceOf(old));
        expect(after(input)).to.deep.equal(serviceOf(want));
      });
    }
  });

  describe('hostile objects are named and not served', () => {
    const cases: { name: string; object: unknown; message: RegExp }[] = [
      { name: 'no object', object: undefined, message: /^object is not/ },
      { name: 'metadata a list', object: { metadata: [] }, message: /^metadata is not/ },
      {
        name: 'a label that is a number',

        object: { metadata: { labels: { a: 1 } } },
        message: /^metadata\.labels/,
      },
      {
        name: 'annotations a string',

        object: { metadata: { annotations: 'x' } },
        message: /^metadata\.annotations/,
      },
      {
        name: 'trafficDistribution a list',

        object: { spec: { trafficDistribution: [] } },
        message: /^spec\.trafficDistribution/,
      },
      { name: 'spec a string', object: { spec: 'x' }, message: /^spec is not/ },
    ];
    for (const { name, object, message } of cases) {
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

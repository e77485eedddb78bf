// Writes of the client Service as etcd-druid makes them (internal/component/clientservice, v0.25.0 and v0.36.2), with admission in their path.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import fc from 'fast-check';
import type { JsonPatchOperation } from '../../../../pkg/apis/admission.ts';
import type { Service } from '../../../../pkg/apis/core.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_CONSIDER,
  LABEL_MANAGED,
  LABEL_MANAGED_BY,
} from '../../../../pkg/apis/names.ts';
import { applyMergePatch } from '../../../../pkg/apis/values.ts';
import { createEtcdClientsHandler, jsonPatchOf } from '../../../../pkg/webhook/routing-settings.ts';
import { service } from '../../../fixtures/core.ts';
import { applyJsonPatch } from '../../../sandbox/patch-json.ts';

interface ClientService {
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly trafficDistribution?: string;
}

const NAME = 'etcd-main-client';
const own = { [LABEL_MANAGED_BY]: 'etcd-druid', 'app.kubernetes.io/part-of': 'etcd-main' };

/** What druid assigns: all labels, all annotations, and from 0.36 on the field. */
const druidWrites = (
  stored: Service | undefined,
  of: ClientService = {},
  version: '0.25' | '0.36' = '0.36',
  name = NAME,
): Service => {
  const { trafficDistribution: before, ...spec } = stored?.spec ?? service().spec ?? {};
  const field = version === '0.36' ? of.trafficDistribution : before;
  return {
    ...(stored ?? service()),
    metadata: {
      name,
      namespace: 'shoot--foo--bar',
      labels: { ...own, ...of.labels },
      annotations: { ...of.annotations },
    },
    spec: { ...spec, ...(field === undefined ? {} : { trafficDistribution: field }) },
  };
};

const admit = (written: Service, stored: Service | undefined, enabled: boolean, minor = 36): Service => {
  const decision = createEtcdClientsHandler(
    { version: () => ({ major: 1, minor }) },
    enabled,
  )({
    uid: '1',
    kind: { group: '', version: 'v1', kind: 'Service' },
    operation: stored === undefined ? 'CREATE' : 'UPDATE',
    userInfo: { username: 'system:serviceaccount:garden:etcd-druid' },
    object: written,
    ...(stored === undefined ? {} : { oldObject: stored }),
  });
  if (decision.kind !== 'patch') return written;
  return applyJsonPatch(written, JSON.parse(decision.patch) as JsonPatchOperation[]);
};

const settingsOf = ({ metadata, spec }: Service): ClientService & { applied: unknown } => {
  const { [ANNOTATION_APPLIED]: applied, ...annotations } = metadata?.annotations ?? {};
  const { [LABEL_MANAGED_BY]: _by, 'app.kubernetes.io/part-of': _part, ...labels } = metadata?.labels ?? {};
  const field = spec?.trafficDistribution === undefined ? {} : { trafficDistribution: spec.trafficDistribution };
  return { labels, annotations, ...field, applied: applied === undefined ? undefined : JSON.parse(applied) };
};

describe("admission of etcd-druid's writes of a client Service", () => {
  const close = { trafficDistribution: 'PreferClose' };
  const mode = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/same-zone` };
  const sets: { minor: number; is: ClientService }[] = [
    { minor: 36, is: { labels: {}, annotations: {}, ...close } },
    { minor: 34, is: { labels: {}, annotations: {}, ...close } },
    { minor: 33, is: { labels: {}, annotations: mode, ...close } },
    { minor: 31, is: { labels: { [LABEL_CONSIDER]: 'true' }, annotations: mode, ...close } },
    { minor: 30, is: { labels: { [LABEL_CONSIDER]: 'true' }, annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'auto' } } },
  ];
  for (const { minor, is } of sets) {
    it(`sets what 1.${minor} needs, on creation too, and records it`, () => {
      for (const stored of [undefined, druidWrites(undefined)]) {
        const { applied, ...settings } = settingsOf(admit(druidWrites(stored), stored, true, minor));
        expect(settings).to.deep.equal(is);
        const { labels, annotations, ...field } = is;
        const maps = Object.entries({ labels, annotations }).filter(([, map]) => Object.keys(map ?? {}).length > 0);
        expect(applied).to.deep.equal({ ...Object.fromEntries(maps), ...field });
      }
    });
  }

  for (const druid of ['0.25', '0.36'] as const) {
    it(`stays as it is through druid ${druid}'s next writes, and is gone with the first one after switching off`, () => {
      const first = admit(druidWrites(undefined, {}, druid), undefined, true);
      const second = admit(druidWrites(first, {}, druid), first, true);
      expect(settingsOf(second)).to.deep.equal(settingsOf(first));
      const off = admit(druidWrites(second, {}, druid), second, false);
      expect(settingsOf(off)).to.deep.equal({ labels: {}, annotations: {}, applied: undefined });
    });
  }

  it("cannot distinguish the owner's value from an equal one set here: it goes once, and stays with the owner's next write", () => {
    const stored = admit(druidWrites(undefined, close), druidWrites(undefined), true);
    const before = admit(druidWrites(stored), stored, true);
    const off = admit(druidWrites(before, close), before, false);
    expect(off.spec?.trafficDistribution).to.equal(undefined);
    expect(admit(druidWrites(off, close), off, false).spec?.trafficDistribution).to.equal('PreferClose');
  });

  const leaves: { name: string; written: Service }[] = [
    { name: 'another Service of druid', written: druidWrites(undefined, {}, '0.36', 'etcd-main-peer') },
    { name: 'the same name by somebody else', written: service({ metadata: { name: NAME } }) },
    { name: 'what is excluded', written: druidWrites(undefined, { labels: { [LABEL_MANAGED]: 'false' } }) },
  ];
  for (const { name, written } of leaves)
    it(`leaves ${name} alone`, () => expect(admit(written, undefined, true)).to.equal(written));

  it('concludes nothing from a record that is not in its one form', () => {
    const stored = druidWrites(undefined, {}, '0.25');
    const forged = {
      ...stored,
      metadata: { ...stored.metadata, annotations: { [ANNOTATION_APPLIED]: '{"labels":7}' } },
    };
    const kept = { ...stored, spec: { ...stored.spec, ...close } };
    expect(admit(druidWrites(kept, {}, '0.25'), forged, false).spec?.trafficDistribution).to.equal('PreferClose');
  });
});

const key = fc.constantFrom('a', 'b', 'a/b', 'm~n', '~1', '');
const leaf = fc.oneof(fc.constantFrom('x', 'y', 1, true), fc.array(fc.constantFrom(1, 2), { maxLength: 2 }));

const { tree } = fc.letrec<{ tree: Record<string, unknown> }>((tie) => ({
  tree: fc.dictionary(key, fc.oneof({ depthSize: 'small' }, leaf, tie('tree')), { maxKeys: 3 }),
}));

const { patch } = fc.letrec<{ patch: Record<string, unknown> }>((tie) => ({
  patch: fc.dictionary(key, fc.oneof({ depthSize: 'small' }, leaf, fc.constant(null), tie('patch')), { maxKeys: 3 }),
}));

describe('merge patches', () => {
  it('follow RFC 7386', () => {
    const target = { a: 'b', c: { d: 'e', f: 'g' }, keep: [1] };
    expect(applyMergePatch(target, { a: 'z', c: { f: null }, n: { x: null, y: 1 } })).to.deep.equal({
      a: 'z',
      c: { d: 'e' },
      keep: [1],
      n: { y: 1 },
    });
  });

  it('become a JSON Patch that applies and does the same, leaving empty parents out', () => {
    const pruned = (value: unknown): unknown =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(
            Object.entries(value)
              .map(([name, one]) => [name, pruned(one)] as const)
              .filter(([, one]) => JSON.stringify(one) !== '{}'),
          )
        : value;
    fc.assert(
      fc.property(tree, patch, (target, merge) => {
        const patched = applyJsonPatch(target, jsonPatchOf(target, merge));
        expect(pruned(patched)).to.deep.equal(pruned(applyMergePatch(target, merge)));
      }),
    );
  });
});

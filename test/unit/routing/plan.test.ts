// SPDX-License-Identifier: Apache-2.0
// Plans for single objects: what is set, what stays, what is reverted, and who is said to own it.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { StringMap } from '../../../pkg/apis/meta.ts';
import { routingSettings, strategySettings } from '../../../pkg/routing/mechanism.ts';
import { planSettings } from '../../../pkg/routing/plan.ts';
import type { ForeignValue, RoutingSettings, ServiceLike, SettingsPlan } from '../../../pkg/routing/types.ts';
import { APPLIED, CONSIDER, HINTS, KEEP, MODE, STRATEGY, deepFreeze } from './support.ts';

const SAME_ZONE = 'topology.extensions.gardener.cloud/same-zone';

interface Shape {
  labels?: StringMap;
  annotations?: StringMap;
  field?: string;
  /** Becomes the `applied` annotation. */
  applied?: object;
}

const build = ({ labels, annotations, field, applied }: Shape): ServiceLike =>
  deepFreeze({
    metadata: {
      name: 'server',
      namespace: 'default',
      labels: { app: 'server', ...labels },
      annotations: {
        [KEEP]: '[]',
        ...annotations,
        ...(applied === undefined ? {} : { [APPLIED]: JSON.stringify(applied) }),
      },
    },
    spec: field === undefined ? {} : { trafficDistribution: field },
  });

const on = (minor: number): RoutingSettings => routingSettings({ major: 1, minor });
const plan = (shape: Shape, want: RoutingSettings | undefined, mixedKubelets = false): SettingsPlan =>
  planSettings({ object: build(shape), want, mixedKubelets });

/** The patch with `applied` parsed, so that a table can show it as an object. */
const patchOf = (result: SettingsPlan): unknown => {
  if (result.kind !== 'patch') return undefined;
  const patch = structuredClone(result.patch) as { metadata?: { annotations?: Record<string, unknown> } };
  const annotations = patch.metadata?.annotations;
  const text = annotations?.[APPLIED];
  if (annotations !== undefined && typeof text === 'string') annotations[APPLIED] = JSON.parse(text);
  return patch;
};

interface Case {
  name: string;
  object: Shape;
  want: RoutingSettings | undefined;
  mixedKubelets?: boolean;
  /** undefined: no patch. */
  patch: object | undefined;
  foreign?: ForeignValue[];
}

const check = (cases: readonly Case[]): void => {
  for (const { name, object, want, mixedKubelets = false, patch, foreign = [] } of cases) {
    it(name, () => {
      const result = plan(object, want, mixedKubelets);
      expect(patchOf(result), 'patch').to.deep.equal(patch);
      expect(result.foreign, 'foreign').to.deep.equal(foreign);
    });
  }
};

describe('planSettings on: a bare Service', () => {
  check([
    {
      name: '1.26: annotation and label',
      object: {},
      want: on(26),
      patch: {
        metadata: {
          labels: { [CONSIDER]: 'true' },
          annotations: {
            [HINTS]: 'auto',
            [APPLIED]: { labels: { [CONSIDER]: 'true' }, annotations: { [HINTS]: 'auto' } },
          },
        },
      },
    },
    {
      name: '1.31: field and label',
      object: {},
      want: on(31),
      patch: {
        metadata: {
          labels: { [CONSIDER]: 'true' },
          annotations: { [APPLIED]: { labels: { [CONSIDER]: 'true' }, trafficDistribution: 'PreferClose' } },
        },
        spec: { trafficDistribution: 'PreferClose' },
      },
    },
    {
      name: '1.34: the field alone',
      object: {},
      want: on(34),
      patch: {
        metadata: { annotations: { [APPLIED]: { trafficDistribution: 'PreferSameZone' } } },
        spec: { trafficDistribution: 'PreferSameZone' },
      },
    },
    {
      name: 'while a kubelet is 1.30 or older: the domain-prefixed annotation beside the field',
      object: {},
      want: on(34),
      mixedKubelets: true,
      patch: {
        metadata: {
          annotations: {
            [MODE]: SAME_ZONE,
            [APPLIED]: { annotations: { [MODE]: SAME_ZONE }, trafficDistribution: 'PreferSameZone' },
          },
        },
        spec: { trafficDistribution: 'PreferSameZone' },
      },
    },
    {
      name: 'a strategy: its label',
      object: {},
      want: strategySettings({ major: 1, minor: 34 }, 'load-aware'),
      patch: {
        metadata: {
          labels: { [STRATEGY]: 'load-aware' },
          annotations: { [APPLIED]: { labels: { [STRATEGY]: 'load-aware' } } },
        },
      },
    },
  ]);
});

describe('planSettings on: what is there already', () => {
  check([
    {
      name: "Gardener's own equal value: nothing to do",
      object: { field: 'PreferSameZone' },
      want: on(34),
      patch: undefined,
    },
    {
      name: 'our own equal value: nothing to do',
      object: { field: 'PreferSameZone', applied: { trafficDistribution: 'PreferSameZone' } },
      want: on(34),
      patch: undefined,
    },
    {
      name: "Gardener's documented form up to 1.30: nothing to do",
      object: { labels: { [CONSIDER]: 'true' }, annotations: { [MODE]: 'auto' } },
      want: on(30),
      patch: undefined,
    },
    {
      name: 'the other spelling of auto is as good',
      object: { labels: { [CONSIDER]: 'true' }, annotations: { [MODE]: 'Auto' } },
      want: on(30),
      patch: undefined,
    },
    {
      name: 'half of it: only the rest is set and claimed',
      object: { field: 'PreferClose' },
      want: on(31),
      patch: {
        metadata: {
          labels: { [CONSIDER]: 'true' },
          annotations: { [APPLIED]: { labels: { [CONSIDER]: 'true' } } },
        },
      },
    },
    {
      name: 'another order of keys in applied is no reason to write',
      object: {
        field: 'PreferClose',
        labels: { [CONSIDER]: 'true' },
        applied: { trafficDistribution: 'PreferClose', labels: { [CONSIDER]: 'true' }, annotations: {} },
      },
      want: on(31),
      patch: undefined,
    },
    {
      name: 'the owner has since set what is wanted: the claim is dropped',
      object: { field: 'PreferSameZone', applied: { trafficDistribution: 'PreferClose' } },
      want: on(34),
      patch: { metadata: { annotations: { [APPLIED]: null } } },
    },
  ]);
});

describe('planSettings on: resets', () => {
  for (const value of ['auto', 'Auto']) {
    check([
      {
        name: `${value} annotations, which would beat the field, are removed and remembered`,
        object: { annotations: { [HINTS]: value, [MODE]: value } },
        want: on(34),
        patch: {
          metadata: {
            annotations: {
              [HINTS]: null,
              [MODE]: null,
              [APPLIED]: {
                trafficDistribution: 'PreferSameZone',
                removedAnnotations: { [HINTS]: value, [MODE]: value },
              },
            },
          },
          spec: { trafficDistribution: 'PreferSameZone' },
        },
      },
      {
        name: `${value} gives way to the domain-prefixed mode`,
        object: { annotations: { [MODE]: value }, field: 'PreferSameZone' },
        want: on(34),
        mixedKubelets: true,
        patch: {
          metadata: {
            annotations: {
              [MODE]: SAME_ZONE,
              [APPLIED]: { annotations: { [MODE]: SAME_ZONE }, removedAnnotations: { [MODE]: value } },
            },
          },
        },
      },
    ]);
  }

  check([
    {
      name: 'upgrade 1.26 to 1.27: our deprecated annotation goes in the same patch',
      object: {
        labels: { [CONSIDER]: 'true' },
        annotations: { [HINTS]: 'auto' },
        applied: { labels: { [CONSIDER]: 'true' }, annotations: { [HINTS]: 'auto' } },
      },
      want: on(27),
      patch: {
        metadata: {
          annotations: {
            [HINTS]: null,
            [MODE]: 'auto',
            [APPLIED]: { labels: { [CONSIDER]: 'true' }, annotations: { [MODE]: 'auto' } },
          },
        },
      },
    },
    {
      name: 'upgrade 1.31 to 1.32: our label goes',
      object: {
        labels: { [CONSIDER]: 'true' },
        field: 'PreferClose',
        applied: { labels: { [CONSIDER]: 'true' }, trafficDistribution: 'PreferClose' },
      },
      want: on(32),
      patch: {
        metadata: {
          labels: { [CONSIDER]: null },
          annotations: { [APPLIED]: { trafficDistribution: 'PreferClose' } },
        },
      },
    },
    {
      name: 'upgrade 1.33 to 1.34: our field follows',
      object: { field: 'PreferClose', applied: { trafficDistribution: 'PreferClose' } },
      want: on(34),
      patch: {
        metadata: { annotations: { [APPLIED]: { trafficDistribution: 'PreferSameZone' } } },
        spec: { trafficDistribution: 'PreferSameZone' },
      },
    },
    {
      name: 'downgrade 1.31 to 1.30: our field goes',
      object: {
        labels: { [CONSIDER]: 'true' },
        field: 'PreferClose',
        applied: { labels: { [CONSIDER]: 'true' }, trafficDistribution: 'PreferClose' },
      },
      want: on(30),
      patch: {
        metadata: {
          annotations: {
            [MODE]: 'auto',
            [APPLIED]: { labels: { [CONSIDER]: 'true' }, annotations: { [MODE]: 'auto' } },
          },
        },
        spec: { trafficDistribution: null },
      },
    },
    {
      name: 'the last old kubelet is gone: the annotation goes, the field stays',
      object: {
        annotations: { [MODE]: SAME_ZONE },
        field: 'PreferSameZone',
        applied: { annotations: { [MODE]: SAME_ZONE }, trafficDistribution: 'PreferSameZone' },
      },
      want: on(34),
      patch: {
        metadata: { annotations: { [MODE]: null, [APPLIED]: { trafficDistribution: 'PreferSameZone' } } },
      },
    },
    {
      name: 'the label another writer set is not reset on 1.32, where it does no harm',
      object: { labels: { [CONSIDER]: 'true' }, field: 'PreferClose' },
      want: on(32),
      patch: undefined,
    },
  ]);
});

describe('planSettings on: drift', () => {
  check([
    {
      name: 'the owner removed the field: set again',
      object: { applied: { trafficDistribution: 'PreferSameZone' } },
      want: on(34),
      patch: { spec: { trafficDistribution: 'PreferSameZone' } },
    },
    {
      name: 'the owner wrote another value over ours: set again',
      object: { field: 'PreferSameNode', applied: { trafficDistribution: 'PreferSameZone' } },
      want: on(34),
      patch: { spec: { trafficDistribution: 'PreferSameZone' } },
    },
    {
      name: 'the owner wrote the older name of ours: left, and no longer ours',
      object: { field: 'PreferClose', applied: { trafficDistribution: 'PreferSameZone' } },
      want: on(34),
      patch: { metadata: { annotations: { [APPLIED]: null } } },
    },
    {
      name: 'our own older name, after an upgrade: the newer one',
      object: { field: 'PreferClose', applied: { trafficDistribution: 'PreferClose' } },
      want: on(34),
      patch: {
        metadata: { annotations: { [APPLIED]: { trafficDistribution: 'PreferSameZone' } } },
        spec: { trafficDistribution: 'PreferSameZone' },
      },
    },
    {
      name: 'the owner replaced everything, applied included: set anew',
      object: {},
      want: on(34),
      patch: {
        metadata: { annotations: { [APPLIED]: { trafficDistribution: 'PreferSameZone' } } },
        spec: { trafficDistribution: 'PreferSameZone' },
      },
    },
    {
      name: 'a user named a heuristic over our annotation: theirs stays, the claim goes',
      object: {
        labels: { [CONSIDER]: 'true' },
        annotations: { [MODE]: 'example.com/mine' },
        applied: { labels: { [CONSIDER]: 'true' }, annotations: { [MODE]: 'auto' } },
      },
      want: on(30),
      patch: { metadata: { annotations: { [APPLIED]: { labels: { [CONSIDER]: 'true' } } } } },
      foreign: [{ field: `metadata.annotations[${MODE}]`, value: 'example.com/mine' }],
    },
  ]);
});

describe('planSettings on: values of others stay and are reported', () => {
  const claim = { labels: { [CONSIDER]: 'true' } };
  check([
    {
      name: "a user's own trafficDistribution",
      object: { field: 'PreferSameNode' },
      want: on(34),
      patch: undefined,
      foreign: [{ field: 'spec.trafficDistribution', value: 'PreferSameNode' }],
    },
    {
      name: "a user's own trafficDistribution beside a strategy that has no field",
      object: { field: 'PreferClose', labels: { [STRATEGY]: 'proportional' } },
      want: strategySettings({ major: 1, minor: 34 }, 'proportional'),
      patch: undefined,
      foreign: [{ field: 'spec.trafficDistribution', value: 'PreferClose' }],
    },
    {
      name: "a user's domain-prefixed mode where ours would be auto",
      object: { annotations: { [MODE]: 'topology.extensions.gardener.cloud/proportional' } },
      want: on(30),
      patch: { metadata: { labels: { [CONSIDER]: 'true' }, annotations: { [APPLIED]: claim } } },
      foreign: [{ field: `metadata.annotations[${MODE}]`, value: 'topology.extensions.gardener.cloud/proportional' }],
    },
    {
      name: "a user's domain-prefixed mode where nothing of ours goes there",
      object: { annotations: { [MODE]: 'example.com/x' }, field: 'PreferSameZone' },
      want: on(34),
      patch: undefined,
    },
    {
      name: "a user's opt-out in the annotation",
      object: { annotations: { [MODE]: 'Disabled' } },
      want: on(30),
      patch: { metadata: { labels: { [CONSIDER]: 'true' }, annotations: { [APPLIED]: claim } } },
      foreign: [{ field: `metadata.annotations[${MODE}]`, value: 'Disabled' }],
    },
    {
      name: "a user's opt-out in the label",
      object: { labels: { [CONSIDER]: 'false' }, field: 'PreferClose' },
      want: on(31),
      patch: undefined,
      foreign: [{ field: `metadata.labels[${CONSIDER}]`, value: 'false' }],
    },
    {
      name: 'the deprecated annotation with another value: both together would be rejected, so ours gives way',
      object: { annotations: { [HINTS]: 'Disabled' } },
      want: on(30),
      patch: { metadata: { labels: { [CONSIDER]: 'true' }, annotations: { [APPLIED]: claim } } },
      foreign: [{ field: `metadata.annotations[${HINTS}]`, value: 'Disabled' }],
    },
    {
      name: 'the deprecated annotation with another value, where nothing of ours goes beside it',
      object: { annotations: { [HINTS]: 'Disabled' }, field: 'PreferSameZone' },
      want: on(34),
      patch: undefined,
    },
  ]);
});

describe('planSettings off', () => {
  const everything = {
    labels: { [CONSIDER]: 'true' },
    annotations: { [MODE]: 'auto' },
    trafficDistribution: 'PreferClose',
  };
  check([
    { name: 'nothing of ours: nothing to do', object: {}, want: undefined, patch: undefined },
    {
      name: 'reverts everything that applied records',
      object: {
        labels: { [CONSIDER]: 'true' },
        annotations: { [MODE]: 'auto' },
        field: 'PreferClose',
        applied: everything,
      },
      want: undefined,
      patch: {
        metadata: { labels: { [CONSIDER]: null }, annotations: { [MODE]: null, [APPLIED]: null } },
        spec: { trafficDistribution: null },
      },
    },
    {
      name: 'leaves values that their owner changed since, without a warning',
      object: {
        labels: { [CONSIDER]: 'false' },
        annotations: { [MODE]: 'Disabled' },
        field: 'PreferSameNode',
        applied: everything,
      },
      want: undefined,
      patch: { metadata: { annotations: { [APPLIED]: null } } },
    },
    {
      name: "leaves Gardener's own settings, without a warning",
      object: { labels: { [CONSIDER]: 'true' }, annotations: { [MODE]: 'auto' }, field: 'PreferSameZone' },
      want: undefined,
      patch: undefined,
    },
    {
      name: 'puts back the auto annotations that had to give way',
      object: {
        field: 'PreferSameZone',
        applied: { trafficDistribution: 'PreferSameZone', removedAnnotations: { [MODE]: 'Auto' } },
      },
      want: undefined,
      patch: {
        metadata: { annotations: { [MODE]: 'Auto', [APPLIED]: null } },
        spec: { trafficDistribution: null },
      },
    },
    {
      name: 'puts nothing back over what somebody set since',
      object: { annotations: { [MODE]: 'example.com/x' }, applied: { removedAnnotations: { [MODE]: 'Auto' } } },
      want: undefined,
      patch: { metadata: { annotations: { [APPLIED]: null } } },
    },
    {
      name: 'puts no deprecated annotation back beside a mode that differs: the API server would reject it',
      object: { annotations: { [MODE]: 'example.com/x' }, applied: { removedAnnotations: { [HINTS]: 'auto' } } },
      want: undefined,
      patch: { metadata: { annotations: { [APPLIED]: null } } },
    },
    {
      name: 'puts no mode back beside a deprecated annotation that differs',
      object: { annotations: { [HINTS]: 'Disabled' }, applied: { removedAnnotations: { [MODE]: 'auto' } } },
      want: undefined,
      patch: { metadata: { annotations: { [APPLIED]: null } } },
    },
    {
      name: 'old kubelets do not matter any more',
      object: {},
      want: undefined,
      mixedKubelets: true,
      patch: undefined,
    },
  ]);
});

describe('planSettings: malformed applied annotation', () => {
  const reported = { field: `metadata.annotations[${APPLIED}]`, value: '{"labels":7}' };
  const object = deepFreeze({
    metadata: { annotations: { [APPLIED]: '{"labels":7}' } },
    spec: { trafficDistribution: 'PreferClose' },
  });

  it('claims nothing when reverting: the value stays without a warning, the annotation goes', () => {
    const result = planSettings({ object, want: undefined });
    expect(patchOf(result)).to.deep.equal({ metadata: { annotations: { [APPLIED]: null } } });
    expect(result.foreign).to.deep.equal([reported]);
  });

  it('is overwritten when something is set', () => {
    const result = planSettings({ object, want: on(31) });
    expect(patchOf(result)).to.deep.equal({
      metadata: { labels: { [CONSIDER]: 'true' }, annotations: { [APPLIED]: { labels: { [CONSIDER]: 'true' } } } },
    });
    expect(result.foreign).to.deep.equal([reported]);
  });
});

describe('planSettings: the report', () => {
  it('lists the changes one a field, before and after', () => {
    const result = plan({ annotations: { [MODE]: 'auto' } }, on(34));
    if (result.kind !== 'patch') throw new Error(`expected a patch, got ${result.kind}`);
    expect(result.changes).to.deep.equal([
      { field: `metadata.annotations[${MODE}]`, before: 'auto', after: undefined },
      { field: 'spec.trafficDistribution', before: undefined, after: 'PreferSameZone' },
      {
        field: `metadata.annotations[${APPLIED}]`,
        before: undefined,
        after: `{"trafficDistribution":"PreferSameZone","removedAnnotations":{"${MODE}":"auto"}}`,
      },
    ]);
  });

  it('refuses settings that it could not revert', () => {
    expect(() => plan({}, { labels: { app: 'x' }, annotations: {} })).to.throw(RangeError, '"app"');
  });
});

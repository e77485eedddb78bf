// Objects and the table runner for the tests of plans.
import { expect } from 'chai';
import { it } from 'mocha';
import type { StringMap } from '../../../pkg/apis/meta.ts';
import { planSettings, routingSettings } from '../../../pkg/routing/plan.ts';
import type { ForeignValue, RoutingSettings, ServiceLike, SettingsPlan } from '../../../pkg/routing/types.ts';
import { APPLIED, KEEP, deepFreeze } from './support.ts';

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

export const on = (minor: number): RoutingSettings => routingSettings({ major: 1, minor });

export const plan = (shape: Shape, want: RoutingSettings | undefined, mixedKubelets = false): SettingsPlan =>
  planSettings({ object: build(shape), want, mixedKubelets });

/** The patch with `applied` parsed, so that a table can show it as an object. */
export const patchOf = (result: SettingsPlan): unknown => {
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

export const check = (cases: readonly Case[]): void => {
  for (const { name, object, want, mixedKubelets = false, patch, foreign = [] } of cases) {
    it(name, () => {
      const result = plan(object, want, mixedKubelets);
      expect(patchOf(result), 'patch').to.deep.equal(patch);
      expect(result.foreign, 'foreign').to.deep.equal(foreign);
    });
  }
};

// Taking back what the flow controller wrote while others write: conflicts are read again, what is gone is not counted.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { KubernetesObject, ObjectRef } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_APPLIED, ANNOTATION_PLAN, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import { cleanUpPlans } from '../../../../pkg/controllers/flow/cleanup.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { service, slice } from '../../../fixtures/core.ts';
import { apiError } from '../../../fixtures/memory-client.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

const LABELS = { [LABEL_STRATEGY]: 'load-aware' };
const { signal } = new AbortController();

describe('cleanUp of the flow controller', () => {
  let objects: Record<string, KubernetesObject[]>;
  let failures: Record<string, Error[]>;
  let calls: string[];

  beforeEach(() => {
    calls = [];
    failures = {};
    const applied = { [ANNOTATION_APPLIED]: JSON.stringify({ labels: LABELS }) };
    objects = {
      services: [
        service({ metadata: { name: 'ours', labels: LABELS, annotations: applied } }),
        service({ metadata: { name: 'theirs', labels: LABELS } }),
      ],
      endpointslices: [
        slice({ metadata: { name: 'planned', annotations: { [ANNOTATION_PLAN]: 'spread' } } }),
        slice({ metadata: { name: 'unplanned' } }),
      ],
      flowpolicies: [],
    };
  });

  const client = {
    async *pages({ plural }: Resource) {
      await Promise.resolve();
      yield { items: objects[plural] ?? [] };
    },
    patch({ plural }: Resource, { name }: ObjectRef) {
      calls.push(`patch ${plural}/${name}`);
      const failure = failures[plural]?.shift();
      return failure === undefined ? Promise.resolve({}) : Promise.reject(failure);
    },
    get({ plural }: Resource, { name }: ObjectRef) {
      calls.push(`get ${plural}/${name}`);
      return Promise.resolve(objects[plural]?.find(({ metadata }) => metadata?.name === name));
    },
  };
  const run = (serves: (namespace: string) => boolean = () => true) =>
    cleanUpPlans({ client: client as unknown as Client, logger: recordingLogger(), serves }, signal);

  it('leaves namespaces alone that another controller serves', async () => {
    const elsewhere = { namespace: 'elsewhere' };
    for (const list of Object.values(objects)) {
      list.push(...list.map((one) => ({ ...one, metadata: { ...one.metadata, ...elsewhere } })));
    }
    expect(await run((namespace) => namespace !== 'elsewhere')).to.deep.equal({ services: 1, slices: 1, policies: 0 });
    expect(await run()).to.deep.equal({ services: 2, slices: 2, policies: 0 });
  });

  it('reverts its label and its hints, and leaves what others wrote', async () => {
    expect(await run()).to.deep.equal({ services: 1, slices: 1, policies: 0 });
    expect(calls).to.deep.equal(['patch services/ours', 'patch endpointslices/planned']);
  });

  for (const [plural, name] of [
    ['services', 'ours'],
    ['endpointslices', 'planned'],
  ] as const) {
    it(`reads ${plural} again after a conflict`, async () => {
      failures = { [plural]: [apiError(409)] };
      expect(await run()).to.include({ services: 1, slices: 1 });
      expect(calls.filter((call) => call.includes(plural))).to.deep.equal([
        `patch ${plural}/${name}`,
        `get ${plural}/${name}`,
        `patch ${plural}/${name}`,
      ]);
    });
  }
});

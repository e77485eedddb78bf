import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { KubernetesObject, ObjectRef } from '../../../../pkg/apis/meta.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { apiError } from '../../../fixtures/memory-client.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOUCHED,
  LABEL_MANAGED_BY,
  LABEL_ROUTING,
  MANAGED_BY_DRUID,
} from '../../../../pkg/apis/names.ts';
import type { Namespace } from '../../../../pkg/apis/core.ts';
import { type CleanupOptions, cleanUpSettings } from '../../../../pkg/controllers/settings/cleanup.ts';
import { endpoint, service, slice } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import { namespace } from '../../../fixtures/gardener.ts';

describe('cleanUp', () => {
  const applied = { [ANNOTATION_APPLIED]: '{"trafficDistribution":"PreferSameZone"}' };
  const { signal } = new AbortController();
  let objects: Record<string, KubernetesObject[]>;
  let patches: { of: string; patch: Record<string, unknown> }[];
  let failures: Error[];
  let gets: number;
  beforeEach(() => {
    patches = [];
    failures = [];
    gets = 0;
    objects = {
      services: [
        service({
          metadata: { name: 'ours', annotations: applied, resourceVersion: '7' },
          spec: { trafficDistribution: 'PreferSameZone' },
        }),
        service({ metadata: { name: 'theirs' }, spec: { trafficDistribution: 'PreferSameZone' } }),
      ],
      namespaces: [namespace(), namespace({ metadata: { name: 'labelled', labels: { [LABEL_ROUTING]: 'true' } } })],
      endpointslices: [
        slice({ metadata: { name: 'touched', annotations: { [ANNOTATION_TOUCHED]: '2026-01-01T00:00:00.000Z' } } }),
        slice({ metadata: { name: 'untouched' } }),
      ],
    };
  });
  const client = {
    async *pages({ plural }: Resource) {
      yield { metadata: {}, items: await Promise.resolve(objects[plural] ?? []) };
    },
    get({ plural }: Resource, { name }: ObjectRef) {
      gets += 1;
      return Promise.resolve(objects[plural]!.find(({ metadata }) => metadata?.name === name));
    },
    patch({ plural }: Resource, { name }: ObjectRef, _type: string, patch: Record<string, unknown>) {
      const failure = failures.shift();
      if (failure !== undefined) return Promise.reject(failure);
      patches.push({ of: `${plural}/${name}`, patch });
      return Promise.resolve({ metadata: { name } });
    },
  };
  const run = (more: Pick<CleanupOptions, 'leaves'> = {}) =>
    cleanUpSettings(
      { client: client as unknown as Client, clock: createFakeClock(), logger: recordingLogger(), ...more },
      signal,
    );

  it('reads the object again after a conflict', async () => {
    failures = [apiError(409)];
    expect((await run()).services).to.equal(1);
    expect(gets).to.equal(1);
  });

  it('leaves what is in the namespaces of another installation, and says which', async () => {
    const home = objects['services']?.[0]?.metadata?.namespace ?? expect.fail('no namespace');
    objects['namespaces']!.push(namespace({ metadata: { name: home } }));
    const leaves = ({ metadata }: Namespace): boolean => metadata?.name === home || metadata?.name === 'unmarked';
    const report = await run({ leaves });
    expect(report).to.deep.include({ services: 0, namespaces: 1, left: [home] });
    expect(patches.map(({ of }) => of).filter((of) => of.startsWith('services/'))).to.deep.equal([]);
    const labelled = await run({ leaves: ({ metadata }) => metadata?.name === 'labelled' });
    expect(labelled).to.deep.include({ services: 1, namespaces: 0, left: ['labelled'] });
  });

  it('leaves what etcd-druid makes to its next write, says so, and removes hints that nothing asks for', async () => {
    const druid = { [LABEL_MANAGED_BY]: MANAGED_BY_DRUID };
    const of = { namespace: 'shoot--foo--bar', labels: druid };
    objects['services'] = [
      service({ metadata: { ...of, name: 'etcd-main-client', annotations: applied } }),
      service({ metadata: { ...of, name: 'etcd-events-client' } }),
    ];
    const hints = { forZones: [{ name: 'a' }] };
    objects['endpointslices'] = [
      slice({
        metadata: { name: 'events', namespace: of.namespace, resourceVersion: '3' },
        service: 'etcd-events-client',
        endpoints: [endpoint({ hints })],
      }),
    ];
    expect(await run()).to.deep.include({ services: 0, leftToDruid: ['shoot--foo--bar/etcd-main-client'] });
    expect(patches.filter(({ of: path }) => path.startsWith('services'))).to.deep.equal([]);
    expect(patches.find(({ of: path }) => path === 'endpointslices/events')?.patch).to.deep.equal([
      { op: 'replace', path: '/metadata/resourceVersion', value: '3' },
      { op: 'remove', path: '/endpoints/0/hints' },
    ]);
  });
});

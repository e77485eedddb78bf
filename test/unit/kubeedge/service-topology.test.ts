// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Service } from '../../../pkg/apis/core.ts';
import type { StringMap } from '../../../pkg/apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_GROUP_SERVICE,
  ANNOTATION_SERVICE_TOPOLOGY,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_MANAGED,
  LABEL_STRATEGY,
} from '../../../pkg/apis/names.ts';
import { planServiceTopology } from '../../../pkg/kubeedge/service-topology.ts';
import type { ServiceTopologyInput } from '../../../pkg/kubeedge/service-topology.ts';
import { requestedStrategy } from '../../../pkg/routing/index.ts';
import { service } from '../../fixtures/core.ts';

const WISH = { [ANNOTATION_SERVICE_TOPOLOGY]: 'range-nodegroup' };
const LABEL = { [LABEL_STRATEGY]: 'same-zone' };
const LOAD_AWARE = `${GROUP}/load-aware`;

const web = (labels: StringMap, annotations: StringMap, spec = {}): Service =>
  service({ metadata: { name: 'web', namespace: 'shop', labels, annotations }, spec });
const plan = (subject: Service, options: Partial<ServiceTopologyInput> = {}) =>
  planServiceTopology({ service: subject, topologyEnabled: true, edgeMesh: false, ...options });

type Maps = { labels: Record<string, string | null>; annotations: Record<string, string | null> };

/** The Service after the patch. */
const patched = (subject: Service, options: Partial<ServiceTopologyInput> = {}): Service => {
  const { labels = {}, annotations = {} } = ((plan(subject, options).patch ?? {})['metadata'] ?? {}) as Partial<Maps>;
  const merge = (old: StringMap = {}, next: Record<string, string | null>): StringMap =>
    Object.fromEntries(
      Object.entries({ ...old, ...next }).filter((entry): entry is [string, string] => entry[1] !== null),
    );
  const { metadata } = subject;
  return {
    ...subject,
    metadata: {
      ...metadata,
      labels: merge(metadata?.labels, labels),
      annotations: merge(metadata?.annotations, annotations),
    },
  };
};
const labelled = patched(web({}, WISH));
const mark = labelled.metadata?.annotations?.[ANNOTATION_GROUP_SERVICE] ?? '';

describe('a Service that KubeEdge should keep in its NodeGroup', () => {
  it('gets the strategy same-zone, and says what hints do not promise', () => {
    const { status, patch } = plan(web({}, WISH));
    expect(status).to.have.property('reason', 'NodeGroupPreferred');
    expect(status?.message).to.contain('a group without one, and Nodes without a zone, use all endpoints');
    expect(patch).to.deep.equal({
      metadata: {
        labels: LABEL,
        annotations: { [ANNOTATION_GROUP_SERVICE]: JSON.stringify({ strategy: 'same-zone', ...status }) },
      },
    });
    expect(requestedStrategy(labelled)).to.equal('same-zone');
    expect(plan(labelled)).to.deep.equal({ status, patch: undefined });
  });

  it('says so where EdgeMesh is, and again where it is gone', () => {
    const meshed = patched(labelled, { edgeMesh: true });
    expect(plan(labelled, { edgeMesh: true }).status).to.have.property('reason', 'EdgeMeshIgnoresHints');
    expect(plan(labelled, { edgeMesh: true }).status?.message).to.match(/never hints.*any group/);
    expect(meshed.metadata?.labels).to.deep.equal(LABEL);
    expect(plan(meshed, { edgeMesh: true }).patch).to.equal(undefined);
    expect(patched(meshed)).to.deep.equal(labelled);
  });

  it('gets the label again where it was lost', () => {
    expect(patched(web({}, labelled.metadata?.annotations ?? {}))).to.deep.equal(labelled);
  });

  for (const { name, labels = {}, annotations = {}, spec = {}, enabled = true, reason } of [
    { name: 'no group has topology', enabled: false, reason: 'NoTopologyEnabled' },
    { name: 'it is headless', spec: { clusterIP: 'None' }, reason: 'NotProxied' },
    { name: 'it is another name for something outside', spec: { type: 'ExternalName' }, reason: 'NotProxied' },
    { name: 'it is excluded', labels: { [LABEL_MANAGED]: 'false' }, reason: 'Excluded' },
    { name: 'its author labelled it', labels: { [LABEL_STRATEGY]: 'load-aware' }, reason: 'OwnStrategy' },
    { name: 'its author labelled it the same', labels: LABEL, reason: 'OwnStrategy' },
    {
      name: 'its author named a strategy',
      annotations: { [ANNOTATION_TOPOLOGY_MODE]: LOAD_AWARE },
      reason: 'OwnStrategy',
    },
    {
      name: 'its author named a strategy, whose label stands already',
      labels: { [LABEL_STRATEGY]: 'load-aware' },
      annotations: {
        [ANNOTATION_TOPOLOGY_MODE]: LOAD_AWARE,
        [ANNOTATION_APPLIED]: JSON.stringify({ labels: { [LABEL_STRATEGY]: 'load-aware' } }),
      },
      reason: 'OwnStrategy',
    },
    {
      name: 'the control plane should write hints',
      annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' },
      reason: 'ConflictingMode',
    },
  ] as {
    name: string;
    labels?: StringMap;
    annotations?: StringMap;
    spec?: object;
    enabled?: boolean;
    reason: string;
  }[]) {
    it(`gets nothing where ${name}: ${reason}`, () => {
      const { status, patch } = plan(web(labels, { ...WISH, ...annotations }, spec), { topologyEnabled: enabled });
      expect(status).to.have.property('reason', reason);
      expect(patch).to.equal(undefined);
    });

    // A label of the same value is ours while our annotation is there.
    if (labels[LABEL_STRATEGY] === 'same-zone') continue;
    it(`gives back what it had where ${name} since`, () => {
      const before = web({ ...LABEL, ...labels }, { ...WISH, ...annotations, [ANNOTATION_GROUP_SERVICE]: mark }, spec);
      const { metadata } = patched(before, { topologyEnabled: enabled });
      expect(metadata?.annotations).not.to.have.property(ANNOTATION_GROUP_SERVICE);
      expect(metadata?.labels).to.deep.equal(labels);
    });
  }
});

describe('a Service that KubeEdge should not keep in its NodeGroup', () => {
  for (const { name, annotations } of [
    { name: 'no annotation', annotations: {} },
    { name: 'another value', annotations: { [ANNOTATION_SERVICE_TOPOLOGY]: 'range-node' } },
  ] as { name: string; annotations: StringMap }[]) {
    it(`is left alone: ${name}`, () => {
      expect(plan(web({}, annotations))).to.deep.equal({ status: undefined, patch: undefined });
      expect(plan(web(LABEL, annotations))).to.deep.equal({ status: undefined, patch: undefined });
    });

    it(`loses our label: ${name}`, () => {
      const { metadata } = patched(web({ ...LABEL, app: 'web' }, { ...annotations, [ANNOTATION_GROUP_SERVICE]: mark }));
      expect(metadata?.labels).to.deep.equal({ app: 'web' });
      expect(metadata?.annotations).to.deep.equal(annotations);
    });
  }

  it('keeps a label that its author changed since', () => {
    const changed = web({ [LABEL_STRATEGY]: 'same-node' }, { [ANNOTATION_GROUP_SERVICE]: mark });
    expect(patched(changed).metadata).to.deep.include({ labels: { [LABEL_STRATEGY]: 'same-node' }, annotations: {} });
  });

  for (const text of ['no JSON', 'null', '{"strategy":"load-aware"}', '[]'])
    it(`keeps the label beside an annotation that says nothing: ${text}`, () => {
      const { metadata } = patched(web(LABEL, { [ANNOTATION_GROUP_SERVICE]: text }));
      expect(metadata).to.deep.include({ labels: LABEL, annotations: {} });
    });
});

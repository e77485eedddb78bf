// Which namespaces are Gardener's, and what they say about zones.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Namespace } from '../../../pkg/apis/core.ts';
import { type NamespaceClass, classifyNamespace } from '../../../pkg/gardener/types.ts';
import { namespace } from '../../fixtures/gardener.ts';

const zones = ['eu-1a', 'eu-1b', 'eu-1c'];
const ZONES = 'high-availability-config.resources.gardener.cloud/zones';

describe('classifyNamespace', () => {
  const cases: { name: string; namespace: Namespace; expected: NamespaceClass }[] = [
    {
      name: 'a zone-HA shoot',
      namespace: namespace(),
      expected: { kind: 'shoot', zones, failureToleranceType: 'zone' },
    },
    {
      name: 'a shoot without high availability: empty is not absent',
      namespace: namespace({ failureTolerance: '', metadata: { annotations: { [ZONES]: 'eu-1a' } } }),
      expected: { kind: 'shoot', zones: ['eu-1a'], failureToleranceType: '' },
    },
    {
      name: 'an old shoot with several zones and no tolerance: nothing is inferred from the count',
      namespace: namespace({ failureTolerance: 'node' }),
      expected: { kind: 'shoot', zones, failureToleranceType: 'node' },
    },
    {
      name: 'a shoot by its label alone, whatever its name',
      namespace: { metadata: { name: 'shoot-old-name', labels: { 'gardener.cloud/role': 'shoot' } } },
      expected: { kind: 'shoot', zones: [], failureToleranceType: undefined },
    },
    {
      name: 'kube-system of a self-hosted shoot',
      namespace: namespace({ metadata: { name: 'kube-system' } }),
      expected: { kind: 'selfHosted' },
    },
    { name: 'the garden', namespace: namespace({ role: 'garden' }), expected: { kind: 'garden', zones } },
    { name: 'an extension', namespace: namespace({ role: 'extension' }), expected: { kind: 'extension', zones } },
    {
      name: 'spaces and empty parts in the list of zones',
      namespace: namespace({ role: 'garden', metadata: { annotations: { [ZONES]: ' a, ,b,' } } }),
      expected: { kind: 'garden', zones: ['a', 'b'] },
    },
    {
      name: 'a name like a shoot’s without the label',
      namespace: { metadata: { name: 'shoot--foo--bar' } },
      expected: { kind: 'other' },
    },
    {
      name: 'istio',
      namespace: { metadata: { name: 'istio-ingress', labels: { 'gardener.cloud/role': 'istio-ingress' } } },
      expected: { kind: 'other' },
    },
    { name: 'no metadata', namespace: {}, expected: { kind: 'other' } },
  ];
  for (const { name, namespace: object, expected } of cases) {
    it(name, () => expect(classifyNamespace(object)).to.deep.equal(expected));
  }
});

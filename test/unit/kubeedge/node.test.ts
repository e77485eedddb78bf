import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_GROUP_ZONE, LABEL_BELONGING_TO, LABEL_ZONE } from '../../../pkg/apis/names.ts';
import { managersOf, projectGroupNode, zoneLabelOf } from '../../../pkg/kubeedge/decide.ts';
import { node } from '../../fixtures/core.ts';

const owns = (manager: string, ...labels: string[]): object => ({
  manager,
  operation: 'Update',
  fieldsV1: { 'f:metadata': { 'f:labels': Object.fromEntries(labels.map((label) => [`f:${label}`, {}])) } },
});

describe('who wrote a label of a Node', () => {
  it('is every manager that owns the field, in their order', () => {
    const fields = [owns('kubelet', 'a'), owns('one', LABEL_ZONE), owns('two', 'b', LABEL_ZONE)];
    expect(managersOf(fields, LABEL_ZONE)).to.deep.equal(['one', 'two']);
  });

  for (const { name, fields } of [
    { name: 'no managed fields', fields: undefined },
    { name: 'an entry that owns no labels', fields: [{ manager: 'x', fieldsV1: { 'f:metadata': {} } }] },
    { name: 'an entry without fields', fields: [{ manager: 'x' }, null, 'text', { fieldsV1: null }] },
    { name: 'an entry without a name', fields: [{ ...owns('x', LABEL_ZONE), manager: undefined }] },
    { name: 'an entry that owns other labels', fields: [owns('x', LABEL_BELONGING_TO)] },
  ])
    it(`has no manager: ${name}`, () => expect(managersOf(fields, LABEL_ZONE)).to.deep.equal([]));
});

describe('the projection of a Node', () => {
  it('keeps identity, all labels, our record and the writers of two labels', () => {
    const full = node({
      zone: 'eu-1a',
      metadata: {
        name: 'n1',
        uid: 'u',
        resourceVersion: '7',
        labels: { site: 'north' },
        annotations: { [ANNOTATION_GROUP_ZONE]: '{"zone":"g"}', other: 'x' },
        managedFields: [owns('cloud', LABEL_ZONE), owns('edge', LABEL_BELONGING_TO)],
      },
    });
    expect(projectGroupNode(full)).to.deep.equal({
      metadata: {
        name: 'n1',
        uid: 'u',
        resourceVersion: '7',
        labels: { site: 'north', [LABEL_ZONE]: 'eu-1a' },
        annotations: { [ANNOTATION_GROUP_ZONE]: '{"zone":"g"}' },
      },
      zoneManagers: ['cloud'],
      memberManagers: ['edge'],
    });
  });

  it('takes a Node that says nothing', () => {
    expect(projectGroupNode({})).to.deep.equal({
      metadata: { labels: {}, annotations: {} },
      zoneManagers: [],
      memberManagers: [],
    });
  });

  it('takes an empty zone for none', () => {
    expect(zoneLabelOf(node({ zone: 'eu-1a' }))).to.equal('eu-1a');
    expect(zoneLabelOf(node({ zone: '', metadata: { labels: { [LABEL_ZONE]: '' } } }))).to.equal(undefined);
    expect(zoneLabelOf({})).to.equal(undefined);
  });
});

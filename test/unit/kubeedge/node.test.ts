import { expect } from 'chai';
import { describe, it } from 'mocha';
import fc from 'fast-check';
import { ANNOTATION_GROUP_ZONE, LABEL_BELONGING_TO, LABEL_ZONE } from '../../../pkg/apis/names.ts';
import {
  type ZoneRecord,
  formatRecord,
  isMember,
  managersOf,
  mayTakeOver,
  parseRecord,
  projectGroupNode,
  zoneLabelOf,
} from '../../../pkg/kubeedge/decide.ts';
import { node } from '../../fixtures/core.ts';
import type { NodeGroup } from '../../../pkg/apis/core.ts';
import { isLabelValue } from '../../../pkg/apis/values.ts';
import { nodeGroup } from '../../fixtures/kubeedge.ts';

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
    { name: 'an entry without fields', fields: [{ manager: 'x' }] },
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

const edge = node({ zone: '', metadata: { name: 'n1', labels: { site: 'north', arch: 'arm64' } } });

describe('membership of a NodeGroup', () => {
  const cases: (readonly [name: string, group: NodeGroup, member: boolean])[] = [
    ['by name', nodeGroup('g', { nodes: ['n0', 'n1'] }), true],
    ['not by another name', nodeGroup('g', { nodes: ['n10'] }), false],
    ['by one label', nodeGroup('g', { matchLabels: { site: 'north' } }), true],
    ['by all labels', nodeGroup('g', { matchLabels: { site: 'north', arch: 'arm64' } }), true],
    ['not by some', nodeGroup('g', { matchLabels: { site: 'north', arch: 'x' } }), false],
    ['not by a label of another value', nodeGroup('g', { matchLabels: { site: 'south' } }), false],
    ['not by what every object has', nodeGroup('g', { matchLabels: { toString: 'x' } }), false],
    ['by name, whatever the labels', nodeGroup('g', { nodes: ['n1'], matchLabels: { a: 'b' } }), true],
    ['nobody where nothing is said', nodeGroup('g'), false],
    ['nobody by no labels', nodeGroup('g', { matchLabels: {} }), false],
    ['nobody where both are null', nodeGroup('g', { nodes: null, matchLabels: null }), false],
    ['nobody without a spec', { metadata: { name: 'g' } }, false],
  ];
  for (const [name, group, member] of cases) it(name, () => expect(isMember(edge, group)).to.equal(member));
});

describe('what a NodeGroup says about zones', () => {
  it('may take over only where it says "true"', () => {
    const annotation = 'topology.extensions.gardener.cloud/takeover';
    expect(mayTakeOver(nodeGroup('g', { takeover: true }))).to.equal(true);
    expect(mayTakeOver(nodeGroup('g'))).to.equal(false);
    expect(mayTakeOver(nodeGroup('g', { annotations: { [annotation]: 'false' } }))).to.equal(false);
    expect(mayTakeOver({ metadata: { name: 'g' } })).to.equal(false);
  });

  for (const { name, value, valid } of [
    { name: 'a short name', value: 'north', valid: true },
    { name: 'dots and dashes', value: 'site-1.north', valid: true },
    { name: '63 characters', value: 'x'.repeat(63), valid: true },
    { name: '64 characters', value: 'x'.repeat(64), valid: false },
    { name: 'one character', value: 'x', valid: true },
    { name: 'nothing', value: '', valid: false },
    { name: 'a dash at the end', value: 'north-', valid: false },
  ])
    it(`${valid ? 'can' : 'cannot'} be a zone: ${name}`, () => expect(isLabelValue(value)).to.equal(valid));
});

describe('the record of a zone', () => {
  const zone = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
  const records: fc.Arbitrary<ZoneRecord> = fc
    .record({ zone, previous: fc.option(zone, { nil: undefined }), losses: fc.nat(5), lostAt: fc.nat(2 ** 31) })
    .map(({ previous, losses, lostAt, ...rest }) => ({
      ...rest,
      losses,
      ...(previous === undefined ? {} : { previous }),
      ...(losses === 0 ? {} : { lostAt }),
    }));

  it('is read as it was written', () => {
    fc.assert(
      fc.property(records, (record) => {
        expect(parseRecord(formatRecord(record))).to.deep.equal(record);
      }),
    );
  });

  for (const { name, text } of [
    { name: 'no annotation', text: undefined },
    { name: 'no JSON', text: 'north' },
    { name: 'null', text: 'null' },
    { name: 'a list', text: '[]' },
    { name: 'no zone', text: '{"previous":"eu-1a"}' },
    { name: 'a zone that is no text', text: '{"zone":7}' },
    { name: 'a zone that no label can hold', text: '{"zone":"a b"}' },
  ])
    it(`claims nothing: ${name}`, () => expect(parseRecord(text)).to.equal(undefined));

  it('forgets what cannot be, and keeps the rest', () => {
    expect(parseRecord('{"zone":"north","previous":"a b","losses":-1}')).to.deep.equal({ zone: 'north', losses: 0 });
    expect(parseRecord('{"zone":"north","losses":"many","lostAt":"now"}')).to.deep.equal({ zone: 'north', losses: 0 });
  });
});

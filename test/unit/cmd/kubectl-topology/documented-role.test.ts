// The documented role allows what the commands read from a cluster, and nothing that none of them reads.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import { SOURCES } from '../../../../cmd/kubectl-topology/input/resources.ts';
import { LEASES, NAMESPACES } from '../../../../pkg/apis/resources.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const page = readFileSync(join(resolve(import.meta.dirname, '../../../..'), 'docs/usage/status.md'), 'utf8');
const [, text = ''] = /<!-- role -->\n\n```yaml\n([\s\S]+?)```/.exec(page) ?? [];
const { rules } = parse(text) as { readonly rules: readonly Rule[] };
const read = [...Object.values(SOURCES).flat(), { resource: NAMESPACES }, { resource: LEASES }].map(
  ({ resource }) => resource,
);

describe('the role of docs/usage/status.md', () => {
  for (const { group, plural } of new Map(read.map((each) => [`${each.group}/${each.plural}`, each])).values()) {
    it(`allows to list ${plural} of ${group === '' ? 'the core' : group}`, () => {
      const allowing = rules.filter(
        ({ apiGroups, resources }) => apiGroups.includes(group) && resources.includes(plural),
      );
      expect(allowing.flatMap(({ verbs }) => verbs)).to.include('list');
    });
  }

  it('names no group and no resource that is not read', () => {
    const [groups, plurals] = [new Set(read.map(({ group }) => group)), new Set(read.map(({ plural }) => plural))];
    expect(rules.flatMap(({ apiGroups }) => apiGroups).filter((group) => !groups.has(group))).to.deep.equal([]);
    expect(rules.flatMap(({ resources }) => resources).filter((plural) => !plurals.has(plural))).to.deep.equal([]);
  });

  it('writes nothing but the dry run of slices', () => {
    const writing = rules.filter(({ verbs }) => verbs.some((verb) => verb !== 'list'));
    expect(writing.map(({ resources, verbs }) => [resources, verbs])).to.deep.equal([
      [['endpointslices'], ['list', 'create']],
    ]);
  });
});

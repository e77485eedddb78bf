// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { parseAllDocuments } from 'yaml';
import { admissionPolicies } from '../../../hack/generate/policies.ts';
import { LABEL_CONSIDER, LABEL_STRATEGY, STRATEGIES } from '../../../pkg/apis/names.ts';
import { HINT_STRATEGIES } from '../../../pkg/hints/index.ts';
import { isNodeName, isZoneName } from '../../../pkg/hints/names.ts';
import { asksFor, NODE_NAME_PATTERN, ZONE_NAME_PATTERN } from '../../../pkg/hints/policy/cel.ts';
import { buildAdmissionPolicies, buildCarrierObject } from '../../../pkg/hints/policy/index.ts';
import type { AdmissionPoliciesOptions, MutatingAdmissionPolicy } from '../../../pkg/hints/policy/index.ts';
import { strategyOf } from '../../../pkg/hints/table.ts';
import type { HintStrategy } from '../../../pkg/hints/types.ts';
import { hintsEntries } from '../../../pkg/webhook/endpoint-slice-hints/add.ts';

const options: AdmissionPoliciesOptions = {
  name: 'ours',
  excludedNamespaces: ['default', 'kube-system', 'routing'],
  flowControllerUsers: ['one', 'two'],
  plannerAlive: true,
  settingsReconcilerUser: 'settings-reconciler',
  keepSettings: false,
};
const { policies, bindings } = buildAdmissionPolicies(options);

const policyOf = (name: string): MutatingAdmissionPolicy =>
  policies.find(({ metadata }) => metadata.name === `ours.${name}`)!;
const expressionsOf = ({ spec }: MutatingAdmissionPolicy): string[] => [
  ...spec.matchConditions.map(({ expression }) => expression),
  ...(spec.variables ?? []).map(({ expression }) => expression),
  ...spec.mutations.map(({ jsonPatch }) => jsonPatch.expression),
];

const entries = hintsEntries({
  name: 'hints',
  version: { major: 1, minor: 36 },
  address: { kind: 'url', url: 'https://localhost' },
  excludedNamespaces: options.excludedNamespaces,
  timeoutSeconds: 5,
  settingsReconcilerUser: options.settingsReconcilerUser,
  strategyAnnotation: false,
  keepSettings: false,
  carrier: 'webhook',
});

/** The few words of CEL in which a condition on labels is written are JavaScript's own, but for absent values and `in`. */
const holds = (expression: string, labels: Record<string, string>): boolean => {
  const known = expression.replaceAll(/object\.metadata\.\?labels\[\?("[^"]+")\]\.orValue\(""\)/g, 'label($1)');
  const script = known.replaceAll(/(label\("[^"]+"\)) in (\[[^\]]*\])/g, '$2.includes($1)');
  return runInNewContext(script, { label: (key: string) => labels[key] ?? '' }) as boolean;
};

describe('hints as admission policies', () => {
  describe('one policy and one binding for each row of the table', () => {
    it('in the order of the table', () => {
      const names = [...HINT_STRATEGIES.map(({ name }) => `ours.${name}`), 'ours.etcd-clients'];
      expect(policies.map(({ metadata }) => metadata.name)).to.deep.equal(names);
      expect(bindings.map(({ metadata }) => metadata.name)).to.deep.equal(names);
      expect(bindings.map(({ spec }) => spec.policyName)).to.deep.equal(names);
    });

    it('for a row that is new', () => {
      const row: HintStrategy = {
        ...HINT_STRATEGIES[0]!,
        nodes: 'own',
        labels: [{ key: LABEL_STRATEGY, value: 'mine' }],
      };
      const [policy, ...others] = buildAdmissionPolicies({ ...options, strategies: [row] }).policies;
      expect(others).to.deep.equal([]);
      expect(policy?.spec.matchConstraints.objectSelector).to.deep.equal({ matchLabels: { [LABEL_STRATEGY]: 'mine' } });
      expect(policy?.spec.mutations[0]?.jsonPatch.expression).to.contain('forNodes');
    });
  });

  for (const policy of policies) {
    describe(policy.metadata.name, () => {
      const { spec } = policy;

      it('asks for the requests and namespaces that the webhook asks for', () => {
        const chosen = policy.metadata.name === 'ours.etcd-clients';
        const own = entries.filter(({ name }) => name.startsWith('etcd-clients.') === chosen);
        expect(own).not.to.deep.equal([]);
        for (const { rules, namespaceSelector } of own) {
          expect(spec.matchConstraints.resourceRules).to.deep.equal(rules);
          expect(spec.matchConstraints.namespaceSelector).to.deep.equal(namespaceSelector);
        }
      });

      it('never stands in the way of a write', () => {
        expect(spec.failurePolicy).to.equal('Ignore');
        expect(spec.reinvocationPolicy).to.equal('Never');
        expect(spec.mutations.map(({ patchType }) => patchType)).to.deep.equal(['JSONPatch']);
        for (const expression of expressionsOf(policy)) expect(expression).to.not.match(/op: "(?!add|remove)/);
      });

      it('is complete text: brackets close, nothing is undefined', () => {
        for (const expression of expressionsOf(policy)) {
          const code = expression.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
          const open: string[] = [];
          const pairs: Record<string, string> = { ')': '(', ']': '[', '}': '{' };
          for (const character of code) {
            if ('([{'.includes(character)) open.push(character);
            if (character in pairs) expect(open.pop(), expression).to.equal(pairs[character]);
          }
          expect(open, expression).to.deep.equal([]);
          expect(expression).to.not.match(/undefined|\[object|NaN/);
        }
      });
    });
  }

  describe('what is planned', () => {
    for (const { name, planned } of HINT_STRATEGIES) {
      const { spec } = policyOf(name);

      if (planned) {
        it(`${name} knows who plans and whether the planner lives`, () => {
          const condition = spec.matchConditions.find((one) => one.name === 'not-the-planner');
          expect(condition?.expression).to.equal('!(request.userInfo.username in ["one", "two"])');
          expect(spec.variables?.map((variable) => variable.name)).to.deep.equal([
            'unplanned',
            'stored',
            ...(name === 'load-aware' ? ['nodes'] : []),
          ]);
          expect(spec.variables?.[0]?.expression).to.match(/^!true \|\| /);
        });
        it(`${name} is another policy when the planner dies`, () => {
          const dead = buildAdmissionPolicies({ ...options, plannerAlive: false }).policies;
          const found = dead.find(({ metadata }) => metadata.name === `ours.${name}`);
          expect(found?.spec.variables?.[0]?.expression).to.match(/^!false \|\| /);
        });
      } else {
        it(`${name} does not ask, and is the same without a planner`, () => {
          expect(spec).to.not.have.property('variables');
          const dead = buildAdmissionPolicies({ ...options, plannerAlive: false }).policies;
          expect(dead.find(({ metadata }) => metadata.name === `ours.${name}`)?.spec).to.deep.equal(spec);
        });
      }
    }
    it('has room for no user at all', () => {
      const [, , nobody] = buildAdmissionPolicies({ ...options, flowControllerUsers: [] }).policies;
      expect(JSON.stringify(nobody)).to.contain('in [])');
    });
    it('needs no parameters: the API server never releases those it saw first', () => {
      expect(JSON.stringify([policies, bindings])).to.not.match(/param(Kind|Ref|s\b)/);
    });
  });

  it('the object that says who carries says just that', () => {
    const { metadata, data } = buildCarrierObject('routing', 'policy');
    expect(metadata).to.include({ namespace: 'routing', name: 'admission-carrier' });
    expect(data).to.deep.equal({ carrier: 'policy' });
  });

  describe('the condition on labels', () => {
    const values = fc.constantFrom(...STRATEGIES, 'true', 'false', '', 'Same-Zone', 'fastest');
    const labels = fc.dictionary(fc.constantFrom(LABEL_STRATEGY, LABEL_CONSIDER, 'app'), values, { maxKeys: 3 });
    for (const strategy of HINT_STRATEGIES) {
      it(`${strategy.name}: holds exactly where the table says so`, () => {
        fc.assert(
          fc.property(labels, (some) => {
            expect(holds(asksFor('object', strategy), some)).to.equal(strategyOf(some) === strategy);
          }),
        );
      });
    }
    it('reads the object that it is given', () => {
      const [strategy] = HINT_STRATEGIES;
      const forOld = asksFor('oldObject', strategy!);
      expect(forOld).to.equal(asksFor('object', strategy!).replaceAll('object.', 'oldObject.'));
    });
  });

  describe('the syntax of names', () => {
    const characters = fc.constantFrom('a', 'Z', '0', '-', '_', '.', ' ', 'ä', ',', '\n');
    const text = fc.oneof(
      fc.array(characters, { maxLength: 6 }).map((all) => all.join('')),
      fc.integer({ min: 60, max: 66 }).map((length) => 'z'.repeat(length)),
      fc
        .array(fc.constantFrom('a', 'n-1', 'x'.repeat(63), 'y'.repeat(70)), { maxLength: 5 })
        .map((all) => all.join('.')),
    );
    it('zones as the webhook knows them', () => {
      const pattern = new RegExp(ZONE_NAME_PATTERN, 'u');
      fc.assert(
        fc.property(text, (name) => {
          expect(pattern.test(name), name).to.equal(isZoneName(name));
        }),
      );
    });
    it('nodes as the webhook knows them', () => {
      const pattern = new RegExp(NODE_NAME_PATTERN, 'u');
      fc.assert(
        fc.property(text, (name) => {
          expect(pattern.test(name) && name.length <= 253, name).to.equal(isNodeName(name));
        }),
      );
    });
  });

  describe('the manifests of the example', () => {
    const manifests = readFileSync(new URL('../../../example/policies/hints.yaml', import.meta.url), 'utf8');
    it('are as generated', async () => {
      const note = '# Written by `make generate`; do not edit.';
      expect(manifests).to.equal(`${note}\n\n${(await admissionPolicies.render()).trim()}\n`);
    });
    it('hold each object once', () => {
      const kinds = parseAllDocuments(manifests).map((document) => (document.toJS() as { kind: string }).kind);
      const of = (kind: string): string[] => [...HINT_STRATEGIES.map(() => kind), kind];
      expect(kinds).to.deep.equal([...of('MutatingAdmissionPolicy'), ...of('MutatingAdmissionPolicyBinding')]);
    });
  });
});

// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { parseAllDocuments } from 'yaml';
import { hintPolicies } from '../../../hack/generate/policies.ts';
import { LABEL_CONSIDER, LABEL_STRATEGY, STRATEGIES } from '../../../pkg/apis/names.ts';
import { HINT_STRATEGIES } from '../../../pkg/hints/index.ts';
import { isNodeName, isZoneName } from '../../../pkg/hints/names.ts';
import { asksFor, NODE_NAME_PATTERN, ZONE_NAME_PATTERN } from '../../../pkg/hints/policy/cel.ts';
import { buildHintPolicies, buildPolicyParameters } from '../../../pkg/hints/policy/index.ts';
import type { HintPoliciesOptions } from '../../../pkg/hints/policy/index.ts';
import type { MutatingAdmissionPolicy } from '../../../pkg/hints/policy/types.ts';
import { strategyOf } from '../../../pkg/hints/table.ts';
import type { HintStrategy } from '../../../pkg/hints/types.ts';
import { hintsEntries } from '../../../pkg/webhook/endpoint-slice-hints/add.ts';

const options: HintPoliciesOptions = {
  excludedNamespaces: ['default', 'kube-system', 'routing'],
  parameters: { namespace: 'routing', name: 'hints' },
  flowControllerUsers: ['one', 'two'],
  plannerAlive: true,
};
const { policies, bindings, parameters } = buildHintPolicies(options);

const policyOf = (name: string): MutatingAdmissionPolicy =>
  policies.find(({ metadata }) => metadata.name.startsWith(name))!;
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
  settingsReconcilerUser: 'settings-reconciler',
  strategyAnnotation: false,
  keepSettings: false,
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
      const names = HINT_STRATEGIES.map(
        ({ name }) => `${name}.endpoint-slice-hints.topology.extensions.gardener.cloud`,
      );
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
      const [policy, ...others] = buildHintPolicies({ ...options, strategies: [row] }).policies;
      expect(others).to.deep.equal([]);
      expect(policy?.spec.matchConstraints.objectSelector).to.deep.equal({ matchLabels: { [LABEL_STRATEGY]: 'mine' } });
      expect(policy?.spec.mutations[0]?.jsonPatch.expression).to.contain('forNodes');
    });
  });

  for (const policy of policies) {
    describe(policy.metadata.name, () => {
      const { spec } = policy;

      it('asks for the requests and namespaces that the webhook asks for', () => {
        for (const { rules, namespaceSelector } of entries) {
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
      const { spec } = policyOf(`${name}.`);
      const binding = bindings.find((one) => one.spec.policyName.startsWith(`${name}.`))!.spec;

      if (planned) {
        it(`${name} reads the parameter object, and without it does nothing rather than to refuse`, () => {
          expect(spec.paramKind).to.deep.equal({ apiVersion: 'v1', kind: 'ConfigMap' });
          expect(binding.paramRef).to.deep.equal({ ...options.parameters, parameterNotFoundAction: 'Allow' });
          expect(spec.matchConditions.map((condition) => condition.name)).to.include('not-the-planner');
          expect(spec.variables?.map((variable) => variable.name)).to.deep.equal(['unplanned', 'stored']);
        });
      } else {
        it(`${name} needs no parameters`, () => {
          expect(spec).to.not.have.any.keys('paramKind', 'variables');
          expect(binding).to.not.have.property('paramRef');
          expect(expressionsOf(policyOf(`${name}.`)).join('\n')).to.not.contain('params');
        });
      }
    }
  });

  describe('the parameter object', () => {
    it('says who plans and whether it lives, in strings', () => {
      expect(parameters.metadata).to.include({ namespace: 'routing', name: 'hints' });
      expect(parameters.data).to.deep.equal({ plannerAlive: 'true', flowControllerUsers: 'one\ntwo' });
    });
    it('is what is written anew when the planner dies', () => {
      const dead = buildPolicyParameters({ ...options, plannerAlive: false });
      expect(dead).to.deep.equal({ ...parameters, data: { ...parameters.data, plannerAlive: 'false' } });
    });
    it('has room for no user at all', () => {
      expect(buildPolicyParameters({ ...options, flowControllerUsers: [] }).data.flowControllerUsers).to.equal('');
    });
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
      expect(manifests).to.equal(`${note}\n\n${(await hintPolicies.render()).trim()}\n`);
    });
    it('hold each object once', () => {
      const kinds = parseAllDocuments(manifests).map((document) => (document.toJS() as { kind: string }).kind);
      const of = (kind: string): string[] => HINT_STRATEGIES.map(() => kind);
      expect(kinds).to.deep.equal([
        'ConfigMap',
        ...of('MutatingAdmissionPolicy'),
        ...of('MutatingAdmissionPolicyBinding'),
      ]);
    });
  });
});

// What chart and example spell again of the code: resources, names and keys that roles and guards let the components use. A name that is
// missing here would be Forbidden in a cluster, where no quick test looks.
import { globSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import * as names from '../../../pkg/apis/names.ts';
import * as resources from '../../../pkg/apis/resources.ts';
import { SLOTS } from '../../../pkg/routing/slots.ts';
import { secretNames } from '../../../pkg/webhook/certificates/secrets.ts';
import { CHART, readTemplate, rulesOf, templates } from '../../fixtures/chart-rights.ts';
import { root } from '../../support/docs/markdown.ts';

const example = readTemplate('example/plain/topology-aware-routing.yaml');
const rules = templates.flatMap(({ file, text }) => rulesOf(text).map((rule) => ({ file, ...rule })));

describe('the rights that the chart gives', () => {
  /** Read by kubectl topology alone, with the rights of who calls it, or only to say that a kind is not served. */
  const OF_PEOPLE = new Set([
    'customresourcedefinitions.apiextensions.k8s.io',
    'seeds.core.gardener.cloud',
    'shoots.core.gardener.cloud',
  ]);
  const known = Object.values(resources).flatMap((each) =>
    typeof each === 'object' ? [`${each.plural}.${each.group}`] : [],
  );
  const given = new Set(rules.flatMap(({ resources: each }) => each.map((one) => one.replace(/\/[a-z]+\./, '.'))));

  it('cover each resource of pkg/apis/resources.ts', () => {
    const without = known.filter((name) => !given.has(name) && !OF_PEOPLE.has(name));
    expect(
      without,
      `add rules for these to ${CHART}/*/rbac.yaml, or name them in OF_PEOPLE of this test`,
    ).to.deep.equal([]);
  });

  it('name in resourceNames only what the code is called or asks for', () => {
    const ours = [
      ...Object.values(names.COMMANDS),
      ...Object.values(secretNames(names.COMMANDS.endpointSliceWebhook)),
      `${names.COMMANDS.settingsReconciler}-leader-election`,
      names.HEARTBEAT_LEASE,
      names.METER_READER,
      names.SWITCH_NAMESPACE,
    ];
    const others = ['cilium-config', 'default'];
    const stray = rules.flatMap(({ file, only }) =>
      only
        .filter((name) => !name.includes('{{') && ![...ours, ...others].includes(name))
        .map((name) => `${file}: ${name}`),
    );
    expect(
      stray,
      'names that no table of the code has: spell them as pkg/apis/names.ts does, or add them to this test',
    ).to.deep.equal([]);
    const spelt = new Set(rules.flatMap(({ only }) => only));
    const missing = ours.filter(
      (name) => !spelt.has(name) && !templates.some(({ text }) => text.includes(`-}}${name}`)),
    );
    expect(
      missing.filter((name) => name !== names.COMMANDS.settingsReconciler),
      `names to which no role of ${CHART} gives a right`,
    ).to.deep.equal([]);
  });

  it('are those of example/plain', () => {
    const textOf = ({ resources: each, verbs }: Pick<(typeof rules)[number], 'resources' | 'verbs'>): string =>
      `${each.join()} ${verbs.join()}`;
    const inChart = new Set(rules.map(textOf));
    const stale = rulesOf(example)
      .map(textOf)
      .filter((rule) => !inChart.has(rule) && !rule.includes('coordination.k8s.io'));
    expect(
      stale,
      'example/plain/topology-aware-routing.yaml has rights that the chart does not give: render it anew as test/e2e/suites/example.test.ts says',
    ).to.deep.equal([]);
  });
});

describe('keys of this project in chart and examples', () => {
  it('guards let the components write the labels and annotations of routing, and no others', () => {
    const helpers = templates.find(({ file }) => file.endsWith('_guards.tpl'))?.text ?? '';
    for (const [define, section] of [
      ['settingLabels', 'labels'],
      ['settingAnnotations', 'annotations'],
    ] as const) {
      const list = new RegExp(`define "tar.guard.${define}" -}}\\n(.*)\\n`).exec(helpers)?.[1] ?? '[]';
      const keys = SLOTS.flatMap((slot) => (slot.section === section ? [slot.key] : []));
      expect(
        JSON.parse(list),
        `tar.guard.${define} in ${CHART}/_guards.tpl against SLOTS of pkg/routing/slots.ts`,
      ).to.have.members(keys);
    }
  });

  it('are names of pkg/apis/names.ts', () => {
    const values = names.STRATEGIES.map((strategy) => `${names.GROUP}/${strategy}`);
    const ours = new Set<unknown>([...Object.values(names), ...values]);
    const files = [
      ...globSync('example/**/*.yaml', { cwd: root }).map((file) => ({ file, text: readTemplate(file) })),
      ...templates,
    ];
    const stray = files.flatMap(({ file, text }) =>
      [...text.matchAll(/(?<![\w.-])topology\.extensions\.gardener\.cloud\/(?!v\d)[a-z-]+/g)]
        .map(([key]) => key)
        .filter((key) => !ours.has(key))
        .map((key) => `${file}: ${key}`),
    );
    expect([...new Set(stray)], 'keys that pkg/apis/names.ts does not have').to.deep.equal([]);
  });
});

// The generated parts of the chart: the table of values in its README, and its MutatingWebhookConfiguration.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Pair, type YAMLMap, isCollection, isMap, isScalar, parseDocument, stringify } from 'yaml';
import type { MutatingWebhookConfiguration } from '../../pkg/apis/admission.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { excludedNamespacesOf } from '../../pkg/hints/readiness.ts';
import { buildRegistration } from '../../pkg/webhook/register.ts';
import type { Generator } from './types.ts';

const CHART = 'charts/gardener-extension-topology-aware-routing';
const chart = resolve(import.meta.dirname, '../..', CHART);

/** A node of values.schema.json, as far as the table shows it. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly definitions?: Readonly<Record<string, Schema>>;
}

const code = (text: string): string => `\`${text}\``;

const typeOf = ({ type, enum: values, minimum, maximum }: Schema): string => {
  if (values !== undefined) return values.map((value) => code(JSON.stringify(value))).join(', ');
  const name = typeof type === 'string' ? type : (type ?? []).join(' or ');
  return minimum === undefined || maximum === undefined ? name : `${name} ${minimum}–${maximum}`;
};

/** The comment above a key; the parser hands that of a map's first key to the map. */
const commentOf = (map: YAMLMap, { key }: Pair, index: number): string => {
  const own = isScalar(key) ? key.commentBefore : undefined;
  return ((index === 0 ? map.commentBefore : undefined) ?? own ?? '').replaceAll(/\s+/g, ' ').trim();
};

/**
 * One row a value, in the order of values.yaml: key, accepted values, default, comment.
 * @throws Error that names a value without a schema or without a comment.
 */
export const valueRows = (values: string, schema: string): string[][] => {
  const root = JSON.parse(schema) as Schema;
  const resolved = (node: Schema | undefined): Schema | undefined =>
    node?.$ref === undefined ? node : root.definitions?.[node.$ref.replace('#/definitions/', '')];
  const walk = (map: YAMLMap, parent: Schema, prefix: string): string[][] =>
    map.items.flatMap((pair, index) => {
      const key = String(pair.key);
      const path = `${prefix}${key}`;
      const given = parent.properties?.[key];
      const own = resolved(given);
      if (own === undefined) throw new Error(`${CHART}/values.schema.json: ${path} has no entry`);
      const { value } = pair;
      // What has a definition of its own is one value, whatever it holds.
      const nested = given?.$ref === undefined && own.properties !== undefined;
      if (isMap(value) && value.items.length > 0 && nested) return walk(value, own, `${path}.`);
      const comment = commentOf(map, pair, index);
      if (comment === '') throw new Error(`${CHART}/values.yaml: ${path} has no comment`);
      const initial: unknown = isCollection(value) || isScalar(value) ? value.toJSON() : null;
      return [[code(path), typeOf(own), code(JSON.stringify(initial)), comment]];
    });
  const { contents } = parseDocument(values);
  if (!isMap(contents)) throw new Error(`${CHART}/values.yaml: is not a mapping`);
  return walk(contents, root, '');
};

const read = (file: string): string => readFileSync(resolve(chart, file), 'utf8');

export const chartValues: Generator = {
  path: `${CHART}/README.md`,
  section: 'values',
  render: () => {
    const rows = valueRows(read('values.yaml'), read('values.schema.json'));
    const lines = rows.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`);
    return ['| value | accepts | default | what it does |', '|---|---|---|---|', ...lines].join('\n');
  },
};

/** Stand-ins that no real value holds; each is replaced by the template's expression for it. */
const NAME = 'placeholder-name';
const NAMESPACE = 'placeholder-namespace';
const CA_BUNDLE = 'placeholder-ca-bundle';
const ROUTING_LABEL = 'placeholder-routing-label';
const TIMEOUT = 987_654_321;

const EXPRESSIONS: readonly (readonly [string, string])[] = [
  [`name: ${NAME}`, 'name: {{ include "tar.globalName" . }}'],
  [`namespace: ${NAMESPACE}`, 'namespace: {{ .Release.Namespace | quote }}'],
  [`:${NAMESPACE}:`, ':{{ .Release.Namespace }}:'],
  [`caBundle: ${Buffer.from(CA_BUNDLE, 'utf8').toString('base64')}`, 'caBundle: {{ $webhook.caBundle | quote }}'],
  [`: ${ROUTING_LABEL}`, ': {{ include "tar.routingLabel" . | quote }}'],
  ['failurePolicy: Fail', 'failurePolicy: {{ $webhook.failurePolicy }}'],
  [`timeoutSeconds: ${TIMEOUT}`, 'timeoutSeconds: {{ $webhook.timeoutSeconds }}'],
];

/** What the webhook would register on that minor version. */
const registrationFor = (minor: number): MutatingWebhookConfiguration =>
  buildRegistration({
    name: NAME,
    version: { major: 1, minor },
    address: { kind: 'service', namespace: NAMESPACE, name: COMMANDS.endpointSliceWebhook, port: 443 },
    caBundle: CA_BUNDLE,
    excludedNamespaces: [NAMESPACE],
    failurePolicy: 'Fail',
    timeoutSeconds: TIMEOUT,
    settingsReconcilerUser: `system:serviceaccount:${NAMESPACE}:${COMMANDS.settingsReconciler}`,
    strategyAnnotation: true,
    keepSettings: true,
    routingLabel: ROUTING_LABEL,
  });

/** The registration as a template: YAML with the expressions of the chart in place of the stand-ins. */
const templateFor = (minor: number): string => {
  // Helm reads YAML 1.1, which takes more words for booleans.
  const plain = stringify(registrationFor(minor), { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false });
  const list = new RegExp(String.raw`values:\n\s+- ${NAMESPACE}\n`, 'g');
  const text = EXPRESSIONS.reduce(
    (done, [stand, expression]) => done.replaceAll(stand, expression),
    plain.replaceAll(list, 'values: {{ toJson $excluded }}\n'),
  );
  const left = /placeholder[\w-]*|987654321/.exec(text)?.[0];
  if (left !== undefined) throw new Error(`the chart's registration has no expression for ${left}`);
  return text.trimEnd();
};

/** The namespaces that the code guards of itself, as arguments of a template function. */
const guarded = excludedNamespacesOf('', { included: [], excluded: [] })
  .filter((name) => name !== '')
  .map((name) => JSON.stringify(name))
  .join(' ');

// Marks of sections are HTML comments; here they stand inside comments of the template.
export const chartRegistration: Generator = {
  path: `${CHART}/templates/endpointslice-webhook/mutatingwebhookconfiguration.yaml`,
  section: 'registration',
  render: () =>
    [
      '*/}}',
      '{{- $webhook := .Values.endpointsliceWebhook }}',
      '{{- if and (include "tar.hasWebhook" .) (eq $webhook.registration "chart") }}',
      '{{- $excluded := list }}',
      `{{- range concat (list .Release.Namespace ${guarded}) $webhook.excludedNamespaces | uniq | sortAlpha }}`,
      '{{- if not (has . $webhook.includedNamespaces) }}{{ $excluded = append $excluded . }}{{ end }}',
      '{{- end }}',
      '{{- if semverCompare ">= 1.28-0" .Capabilities.KubeVersion.Version }}',
      templateFor(28),
      '{{- else }}',
      templateFor(27),
      '{{- end }}',
      '{{- end }}',
      '{{- /*',
    ].join('\n'),
};

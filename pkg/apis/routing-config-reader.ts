// RoutingConfig in the providerConfig of an Extension: its schema, and a reader that says field by field what is wrong with one.
import * as Type from '@sinclair/typebox';
import { fieldProblems } from './config/load.ts';
import { namespaceName } from './config/schema.ts';
import { GROUP, STRATEGIES } from './names.ts';
import { PROVIDER_CONFIG_FIELD } from './routing-config.ts';
import type { RoutingConfigProblem, RoutingConfigReading, ServiceSelection } from './routing-config.ts';
import { orElse } from './values.ts';
import { CLOSED, checkOf, labelSelector, object, oneOf, rule, rules } from './schema.ts';

const SOME_LABEL = rule<NonNullable<ServiceSelection['selector']>>(
  'size(self.matchLabels) + size(self.matchExpressions) > 0',
  'would select every Service; name at least one label',
  ({ matchLabels = {}, matchExpressions = [] }) => Object.keys(matchLabels).length + matchExpressions.length > 0,
);

const ONE_OF_BOTH = rule<ServiceSelection>(
  'has(self.name) != has(self.selector)',
  'needs either name or selector, one of them',
  ({ name, selector }) => (name === undefined) !== (selector === undefined),
);

const selection = {
  name: Type.Optional(namespaceName('Name of one Service.')),
  selector: Type.Optional(labelSelector('Services with these labels; must not be empty.', CLOSED, rules(SOME_LABEL))),
  namespace: Type.Optional(
    namespaceName('Classes `seed` and `garden` only: Services of this namespace; default: of all managed ones.'),
  ),
};

const list = <P extends Type.TProperties>(properties: P, description: string) =>
  Type.Array(object(properties, rules(ONE_OF_BOTH)), { maxItems: 100, default: [], description });

export const ROUTING_CONFIG_SCHEMA = object({
  apiVersion: Type.Literal(`${GROUP}/v1alpha1`, { description: `\`${GROUP}/v1alpha1\`.` }),
  kind: Type.Literal('RoutingConfig', { description: '`RoutingConfig`.' }),
  services: list(
    {
      ...selection,
      strategy: Type.Optional(
        oneOf(STRATEGIES, {
          description:
            'Default: `same-zone`, by what the Kubernetes version offers. The setting of a Service itself takes precedence.',
        }),
      ),
    },
    "Services to route by zone besides Gardener's and those labelled `managed`; the first matching entry counts.",
  ),
  exclude: list(selection, "Services to leave alone, including Gardener's; takes precedence over `services`."),
});

/** Takes anything, changes nothing and never throws. */
export type RoutingConfigReader = (providerConfig: unknown) => RoutingConfigReading;

/** A hundred entries with selectors fit; more would only cost time for every Service. */
const MAX_CHARACTERS = 65_536;
/** More than a person reads at once. */
const MAX_PROBLEMS = 5;

const problem = (message: string, field = ''): RoutingConfigProblem => ({
  field: `${PROVIDER_CONFIG_FIELD}${field === '' || field.startsWith('[') ? '' : '.'}${field}`,
  message,
});

const invalid = (problems: readonly RoutingConfigProblem[]): RoutingConfigReading => ({
  kind: 'invalid',
  problems: problems.slice(0, MAX_PROBLEMS),
});

/** Text and back: what the cache holds is shared, and defaults are filled in. */
const copyOf = (value: unknown): { readonly copy: unknown } | RoutingConfigReading => {
  // None of what is nested deeper than a stack is; an API server takes thousands of levels.
  const text = orElse(() => JSON.stringify(value), undefined);
  if (text === undefined) return invalid([problem('is nested too deep.')]);
  if (text.length <= MAX_CHARACTERS) return { copy: JSON.parse(text) as unknown };
  return invalid([problem(`has more than ${MAX_CHARACTERS} characters.`)]);
};

/** The schema is compiled once, so that reading costs microseconds: every change of an Extension is read. */
export const createRoutingConfigReader = (): RoutingConfigReader => {
  const options = { allErrors: true, useDefaults: true, verbose: true };
  const validate = checkOf<Type.Static<typeof ROUTING_CONFIG_SCHEMA>>(ROUTING_CONFIG_SCHEMA, options);
  return (providerConfig) => {
    if (providerConfig === undefined || providerConfig === null) return { kind: 'absent' };
    const read = copyOf(providerConfig);
    if ('kind' in read) return read;
    const { copy } = read;
    return validate(copy)
      ? { kind: 'valid', config: copy }
      : invalid(fieldProblems(validate.errors ?? []).map(({ field, message }) => problem(message, field)));
  };
};

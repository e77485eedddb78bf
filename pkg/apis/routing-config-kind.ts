// The schema of RoutingConfig, with the checks between fields.
import type { Static, TProperties } from '@sinclair/typebox';
import * as Type from '@sinclair/typebox';
import type { ConfigKind, CrossFieldProblem } from './config/load.ts';
import { labelSelector, namespaceName, object, oneOf } from './config/schema.ts';
import { GROUP, STRATEGIES } from './names.ts';
import type { RoutingConfig, ServiceSelection } from './routing-config.ts';

const selection = {
  name: Type.Optional(namespaceName('Name of one Service.')),
  selector: Type.Optional(labelSelector({ description: 'Services with these labels; must not be empty.' })),
  namespace: Type.Optional(
    namespaceName('Classes `seed` and `garden` only: Services of this namespace; default: of all managed ones.'),
  ),
};

const list = <P extends TProperties>(properties: P, description: string) =>
  Type.Array(object(properties), { maxItems: 100, default: [], description });

const schema = Type.Object({
  // The first that fits a Service counts.
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

/** What the schema accepts; the types that importers see are free of packages, and have to fit it. */
type Accepted = Static<typeof schema>;

type Path = CrossFieldProblem['path'];

const requirementProblems = ({ selector }: ServiceSelection, path: Path): CrossFieldProblem[] =>
  (selector?.matchExpressions ?? []).flatMap(({ operator, values = [] }, index): CrossFieldProblem[] => {
    const at = [...path, 'selector', 'matchExpressions', index, 'values'];
    const takes = operator === 'In' || operator === 'NotIn';
    if (takes && values.length === 0) return [{ path: at, message: `is required for ${operator}.` }];
    return takes || values.length === 0 ? [] : [{ path: at, message: `must be left out for ${operator}.` }];
  });

const selectionProblems = (item: ServiceSelection, path: Path): CrossFieldProblem[] => {
  const { name, selector } = item;
  if ((name === undefined) === (selector === undefined)) {
    const found = name === undefined ? 'neither is there' : 'both are there';
    return [{ path, message: `needs name or selector, one of them; ${found}.` }];
  }
  if (selector === undefined) return [];
  const parts = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length;
  const message = 'would select every Service; name at least one label.';
  if (parts === 0) return [{ path: [...path, 'selector'], message }];
  return requirementProblems(item, path);
};

/** `apiVersion`, `kind` and these fields; unknown ones are refused. */
export const ROUTING_CONFIG: ConfigKind<RoutingConfig> & { readonly apiVersion: string } = {
  apiVersion: `${GROUP}/v1alpha1`,
  kind: 'RoutingConfig',
  schema,
  check: ({ services, exclude }: Accepted) => [
    ...services.flatMap((item, index) => selectionProblems(item, ['services', index])),
    ...exclude.flatMap((item, index) => selectionProblems(item, ['exclude', index])),
  ],
};

// Commands that make a Service ask for routing by zone, with the value that this version and these data planes read.
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE } from '../../apis/names.ts';
import { domainPrefixedMode } from '../../routing/mechanism.ts';
import { atLeast } from '../../routing/version.ts';
import { readsPreferCloseOnly } from '../../upstream/proxy/cilium.ts';
import { distributionOf } from '../../upstream/index.ts';
import type { Proxy } from '../../upstream/index.ts';
import type { Facts } from './types.ts';

/** Data planes of this kind look at hints of annotated Services only. */
const needsAnnotation = (proxy: Proxy, minor: number): boolean => {
  if (proxy.kind === 'kube-proxy') return minor < 31;
  if (proxy.kind === 'cilium') return proxy.ciliumVersion !== undefined && proxy.ciliumVersion.minor < 16;
  return proxy.kind === 'ruled' && typeof proxy.rule.optIn === 'object';
};

type RoutedFacts = Pick<Facts, 'version' | 'index' | 'options'>;

/** Once for Nodes that are alike: thousands of Services ask. */
const routingsOf = ({ index: { groups, routers } }: RoutedFacts) =>
  groups.flatMap((nodes) => nodes.slice(0, 1)).map((node) => routers.of(node).routing);

/** Some data plane looks at hints of annotated Services only. */
const someNeedAnnotation = (facts: RoutedFacts): boolean =>
  routingsOf(facts).some(({ proxy, version }) => needsAnnotation(proxy, version.minor));

/** The value that the control plane and all who read the field know; undefined: it has no such field. */
const fieldFor = (facts: RoutedFacts): string | undefined => {
  const onlyClose = routingsOf(facts).some(
    ({ proxy }) =>
      proxy.kind === 'cilium' && proxy.ciliumVersion !== undefined && readsPreferCloseOnly(proxy.ciliumVersion),
  );
  const wanted = onlyClose ? ['PreferClose'] : ['PreferSameZone', 'PreferClose'];
  return wanted.find((value) => distributionOf(value, facts.version, facts.options.gates) !== undefined);
};

/** The value of `spec.trafficDistribution` that everything here reads; undefined: none does. */
export const distributionFor = (facts: RoutedFacts): string | undefined =>
  someNeedAnnotation(facts) ? undefined : fieldFor(facts);

/**
 * A value beside the field: kube-proxy 1.27 to 1.30 takes any (categorizeEndpoints), and the control plane leaves one of a domain of its
 * own alone, where `Auto` would beat the field. Undefined where something insists on `Auto`, or there is no field.
 */
const annotationBesideField = (facts: Facts): string | undefined => {
  const insists = routingsOf(facts).some(
    ({ proxy, version: { minor } }) => needsAnnotation(proxy, minor) && (proxy.kind !== 'kube-proxy' || minor < 27),
  );
  return insists || fieldFor(facts) === undefined ? undefined : domainPrefixedMode('same-zone');
};

export const target = ({ ref }: Facts): string => `service ${ref.name} -n ${ref.namespace}`;

export const presentAnnotation = ({ service }: Facts): string | undefined =>
  [ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE].find(
    (key) => service.metadata?.annotations?.[key] !== undefined,
  );

/** Changes fields of its spec. */
export const patchServiceCommand = (facts: Facts, spec: object): string =>
  `kubectl patch ${target(facts)} --type merge -p '${JSON.stringify({ spec })}'`;

export const annotationKey = ({ version }: Facts): string =>
  atLeast(version, 27) ? ANNOTATION_TOPOLOGY_MODE : ANNOTATION_TOPOLOGY_AWARE_HINTS;

const setAnnotation = (facts: Facts, value: string): string =>
  `kubectl annotate ${target(facts)} --overwrite ${annotationKey(facts)}=${value}`;

const isFieldRead = ({ service, version, options }: Facts): boolean =>
  distributionOf(service.spec?.trafficDistribution, version, options.gates) !== undefined;

/** The annotation for data planes that want one; where the field asks already, by a value that leaves it in force. */
export const annotate = (facts: Facts): string => {
  const auto = atLeast(facts.version, 27) ? 'Auto' : 'auto';
  return setAnnotation(facts, (isFieldRead(facts) ? annotationBesideField(facts) : undefined) ?? auto);
};

const setField = (facts: Facts, value: string): string[] =>
  facts.service.spec?.trafficDistribution === value ? [] : [patchServiceCommand(facts, { trafficDistribution: value })];

/** The field, and the annotation that older proxies want beside it; undefined where the field does not help. */
const askByField = (facts: Facts): string[] | undefined => {
  const value = fieldFor(facts);
  const beside = annotationBesideField(facts);
  if (value === undefined) return undefined;
  if (someNeedAnnotation(facts)) {
    return beside === undefined ? undefined : [setAnnotation(facts, beside), ...setField(facts, value)];
  }
  const key = presentAnnotation(facts);
  return [...(key === undefined ? [] : [`kubectl annotate ${target(facts)} ${key}-`]), ...setField(facts, value)];
};

/** Asks with a setting that every version recognises; an annotation in the way of the field is removed. */
export const ask = (facts: Facts): string[] => askByField(facts) ?? [annotate(facts)];

/** The field instead of the CPU heuristic, where something here reads it. */
export const useField = (facts: Facts): string[] => askByField(facts) ?? [];

// Judges a configuration by where it stands: what no schema can say, because it depends on the Extension's class. Pure.
import type { ExtensionClass } from '../../apis/extension.ts';
import { PROVIDER_CONFIG_FIELD } from '../../apis/routing-config.ts';
import type { RoutingConfig, RoutingConfigProblem, RoutingConfigReading } from '../../apis/routing-config.ts';
import { entryOfService } from '../catalogue.ts';
import type { Scope } from '../types.ts';

const SCOPES: Readonly<Record<ExtensionClass, Scope | undefined>> = {
  shoot: 'shoot',
  seed: undefined,
  garden: 'garden',
};

/** A Shoot's owner writes the configuration of class shoot: it never reaches beyond the namespace that it stands in. */
const namespaceProblems = (config: RoutingConfig, extensionClass: ExtensionClass): RoutingConfigProblem[] => {
  if (extensionClass !== 'shoot') return [];
  return (['services', 'exclude'] as const).flatMap((list) =>
    config[list].flatMap(({ namespace }, index) =>
      namespace === undefined
        ? []
        : [
            {
              field: `${PROVIDER_CONFIG_FIELD}.${list}[${index}].namespace`,
              message: "must be left out: class shoot applies to the Services of the Shoot's own namespace.",
            },
          ],
    ),
  );
};

/** Nothing but routing by zone can be asked for a Service that only etcd-druid writes. */
const etcdProblems = ({ services }: RoutingConfig, scope: Scope | undefined): RoutingConfigProblem[] =>
  services.flatMap(({ name, strategy }, index) => {
    const entry = scope === undefined || name === undefined ? undefined : entryOfService(scope, name);
    if (strategy === undefined || entry?.source.kind !== 'Etcd') return [];
    const message = `must be left out: only etcd-druid writes Service ${entry.service}, and it cannot have a strategy.`;
    return [{ field: `${PROVIDER_CONFIG_FIELD}.services[${index}].strategy`, message }];
  });

/** The reading as it is, or what is wrong with it in an Extension of this class. */
export const assessReading = (reading: RoutingConfigReading, extensionClass: ExtensionClass): RoutingConfigReading => {
  if (reading.kind !== 'valid') return reading;
  const problems = [
    ...namespaceProblems(reading.config, extensionClass),
    ...etcdProblems(reading.config, SCOPES[extensionClass]),
  ];
  return problems.length === 0 ? reading : { kind: 'invalid', problems };
};

/** One sentence for people: object, fields, what is wrong with each. */
export const describeProblems = (name: string, problems: readonly RoutingConfigProblem[]): string =>
  `Extension ${name}: ${problems.map(({ field, message }) => `${field} ${message.replace(/\.$/, '')}`).join('; ')}`;

// Bounds how many series a Service owner can cause: of the Services that could have series of their own, some are chosen.

/** Series are wanted for so many Services of one namespace at most: its users cannot crowd the others out. */
export const SERVICES_PER_NAMESPACE = 50;
/** And for so many in all. */
export const SERVICES_IN_ALL = 1_000;

/** Labels of a single Service's series; scrapers put `namespace` and `service` of the process itself on every series. */
export const SERVICE_LABELS = ['service_namespace', 'service_name'] as const;

export const seriesLabels = ({
  namespace,
  service,
}: {
  readonly namespace: string;
  readonly service: string;
}): Record<(typeof SERVICE_LABELS)[number], string> => ({ service_namespace: namespace, service_name: service });

export interface Limited<T> {
  readonly shown: readonly T[];
  /** How many were left out. */
  readonly omitted: number;
}

/** The first ones in the order given, which must not change from scrape to scrape: series that come and go are worse than none. */
export const limitServices = <T extends { readonly namespace: string }>(services: Iterable<T>): Limited<T> => {
  const counts = new Map<string, number>();
  const shown: T[] = [];
  let omitted = 0;
  for (const service of services) {
    const count = counts.get(service.namespace) ?? 0;
    if (count >= SERVICES_PER_NAMESPACE || shown.length >= SERVICES_IN_ALL) {
      omitted += 1;
      continue;
    }
    counts.set(service.namespace, count + 1);
    shown.push(service);
  }
  return { shown, omitted };
};

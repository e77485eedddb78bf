// Removes our finalizer from Extensions before this extension is uninstalled: no controller would be left to release them.
import type { Extension, ExtensionClass } from '../../apis/gardener.ts';
import { EXTENSION_FINALIZER } from '../../apis/names.ts';
import { refOf } from '../../apis/values.ts';
import { EXTENSIONS } from '../../apis/resources.ts';
import { extensionNameOf, isResponsible } from '../../gardener/extension/select.ts';
import { hasFinalizer } from '../../gardener/extension/status.ts';
import { isConflict, isForbidden, isNotFound } from '../../kubernetes/errors.ts';
import type { Client } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/log.ts';

export interface ReleaseOptions {
  client: Pick<Client, 'pages' | 'get' | 'patch'>;
  /** Of other classes another installation takes care. */
  classes: readonly ExtensionClass[];
  logger: Logger;
}

/** Another writer at the same moment makes a write conflict; that does not happen many times in a row. */
const TRIES = 5;

const letGo = async (first: Extension, { client, logger }: ReleaseOptions, signal: AbortSignal): Promise<boolean> => {
  const { namespace, name } = refOf(first);
  let extension = first;
  for (let tries = 1; hasFinalizer(extension); tries += 1) {
    const { finalizers = [], resourceVersion } = extension.metadata ?? {};
    const others = finalizers.filter((finalizer) => finalizer !== EXTENSION_FINALIZER);
    try {
      const patch = { metadata: { resourceVersion, finalizers: others } };
      await client.patch(EXTENSIONS, { namespace, name }, 'merge', patch, {}, signal);
      logger.info('finalizer removed', { extension: extensionNameOf(first) });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!isConflict(error) || tries === TRIES) throw error;
      extension = await client.get<Extension>(EXTENSIONS, { namespace, name }, signal);
    }
  }
  return false;
};

/** How many were released; none where Extensions are not served or may not be read. */
export const releaseExtensions = async (options: ReleaseOptions, signal: AbortSignal): Promise<number> => {
  const ours: Extension[] = [];
  try {
    for await (const page of options.client.pages<Extension>(EXTENSIONS, {}, signal)) {
      ours.push(...page.items.filter((item) => isResponsible(item, options.classes) && hasFinalizer(item)));
    }
  } catch (error) {
    if (!isNotFound(error) && !isForbidden(error)) throw error;
  }
  let count = 0;
  for (const extension of ours) count += (await letGo(extension, options, signal)) ? 1 : 0;
  return count;
};

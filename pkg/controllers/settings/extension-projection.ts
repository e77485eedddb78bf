// Reduces Extensions to what is read of them; of other extensions' nothing but the identity is kept.
import { defined } from '../../apis/defined.ts';
import type { Extension, ExtensionStatus } from '../../apis/extension.ts';
import type { ObjectMeta } from '../../apis/meta.ts';
import { ANNOTATION_OPERATION, EXTENSION_TYPE } from '../../apis/names.ts';
import type { RoutingConfigReader } from '../../apis/routing-config-reader.ts';
import { assessReading } from '../../gardener/extension/assess.ts';
import { extensionClassOf } from '../../gardener/extension/governing.ts';
import type { ReadExtension } from '../../gardener/extension/types.ts';
import { projectMeta } from './projections.ts';

const projectMetadata = (metadata: ObjectMeta | undefined): ObjectMeta => {
  const operation = metadata?.annotations?.[ANNOTATION_OPERATION];
  return {
    ...projectMeta(metadata),
    ...(operation === undefined ? {} : { annotations: { [ANNOTATION_OPERATION]: operation } }),
    ...defined({ finalizers: metadata?.finalizers }),
  };
};

const projectStatus = ({ lastOperation, observedGeneration, conditions }: ExtensionStatus): ExtensionStatus =>
  defined({ lastOperation, observedGeneration, conditions });

/** Reads the providerConfig on the way, so that it is read once for each change of the object. */
export const createExtensionProjection =
  (read: RoutingConfigReader) =>
  (extension: Extension): ReadExtension => {
    const { metadata, spec, status = {} } = extension;
    if (spec?.type !== EXTENSION_TYPE) {
      const { name = '', namespace = '', resourceVersion = '' } = metadata ?? {};
      return { metadata: { name, namespace, resourceVersion } };
    }
    const { type, class: given, providerConfig } = spec;
    const own = extensionClassOf(extension);
    const reading = read(providerConfig);
    return {
      metadata: projectMetadata(metadata),
      spec: { type, ...defined({ class: given }) },
      status: projectStatus(status),
      reading: own === undefined ? reading : assessReading(reading, own),
    };
  };

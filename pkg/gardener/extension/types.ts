// What is kept of an Extension of this type, and what its configuration means for its Services.
import type { Extension, ExtensionClass } from '../../apis/extension.ts';
import type { RoutingConfigReading } from '../../apis/routing-config.ts';

/** An Extension with its providerConfig read: once for each change, not once for each decision. */
export interface ReadExtension extends Extension {
  /** Missing: of another type, nothing of it is read. */
  reading?: RoutingConfigReading;
}

/** The Extension whose configuration counts for a namespace. */
export interface Governing {
  /** `namespace/name`, for messages. */
  readonly name: string;
  readonly class: ExtensionClass;
  readonly reading: RoutingConfigReading;
}

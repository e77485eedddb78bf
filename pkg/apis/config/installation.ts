// Configuration by which a command knows the installation that it is part of, and the other installations beside it.
import type { Static } from '@sinclair/typebox';
import * as Type from '@sinclair/typebox';
import { namespaceName, object, objectName, text } from './schema.ts';

const common = {
  clusterRole: Type.Optional(
    text("The component's own ClusterRole, the owner of its cluster-scoped objects. Unset: the own namespace is.", {
      maxLength: 253,
    }),
  ),
};

/** Schema of the block. */
export const INSTALLATION_SCHEMA = object(common, {
  default: {},
  description: 'The installation that this is part of.',
});

/** What the chart knows about the installation. */
export type InstallationConfiguration = Static<typeof INSTALLATION_SCHEMA>;

/** Schema of the block for commands that take part in admission. */
export const SHARING_INSTALLATION_SCHEMA = object(
  {
    ...common,
    claim: Type.Optional(
      object(
        { namespace: namespaceName('Namespace of the Lease.'), name: objectName('Name of the Lease.') },
        {
          description:
            'The Lease that decides which of several installations changes slices. Unset: there is no other one.',
        },
      ),
    ),
    routingLabel: text(
      'Value of the namespace label `topology.extensions.gardener.cloud/routing` that this installation sets.',
      { maxLength: 63, pattern: '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$', default: 'true' },
    ),
  },
  { default: {}, description: 'The installation that this is part of.' },
);

/** Of commands that take part in admission. */
export type SharingInstallationConfiguration = Static<typeof SHARING_INSTALLATION_SCHEMA>;

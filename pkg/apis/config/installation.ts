// SPDX-License-Identifier: Apache-2.0
// Configuration by which a command knows the installation that it is part of, and that others stand beside it.
import { namespaceName, object, objectName } from './schema.ts';

/** What the chart knows about the installation. */
export interface InstallationConfiguration {
  /**
   * Our own ClusterRole, the owner of what is written in the whole cluster: removed with it, in whatever order. Unset: the
   * own namespace is the owner.
   */
  clusterRole?: string;
}

/** Of commands that take part in admission. */
export interface SharingInstallationConfiguration extends InstallationConfiguration {
  /** The Lease by which one of several installations changes slices. Unset: there is no other installation. */
  claim?: { namespace: string; name: string };
  /** Value of the namespace label `topology.extensions.gardener.cloud/routing` that this installation gives and goes by. */
  routingLabel: string;
}

const common = {
  clusterRole: {
    type: 'string',
    minLength: 1,
    maxLength: 253,
    description:
      'Our own ClusterRole: what is written in the whole cluster is removed with it. Unset: with the own namespace.',
  },
};

/** Schema of the block. */
export const INSTALLATION_SCHEMA = object(common, {
  default: {},
  description: 'The installation that this is part of.',
});

/** Schema of the block for commands that take part in admission. */
export const SHARING_INSTALLATION_SCHEMA = object(
  {
    ...common,
    claim: object(
      {
        namespace: { ...namespaceName, description: 'Namespace of the Lease.' },
        name: { ...objectName, description: 'Name of the Lease.' },
      },
      {
        required: ['namespace', 'name'],
        description: 'The Lease by which one of several installations changes slices. Unset: there is no other one.',
      },
    ),
    routingLabel: {
      type: 'string',
      minLength: 1,
      maxLength: 63,
      pattern: '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
      default: 'true',
      description:
        'Value of the namespace label `topology.extensions.gardener.cloud/routing` that this installation gives.',
    },
  },
  { default: {}, description: 'The installation that this is part of.' },
);

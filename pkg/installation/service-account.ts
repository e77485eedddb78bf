// How processes of this project know each other: as the user that the API server makes of a ServiceAccount.

/** The user of a ServiceAccount; each command's is named after it. */
export const serviceAccountUser = (namespace: string, name: string): string =>
  `system:serviceaccount:${namespace}:${name}`;

// Hands out one kubeconfig file per user of a bed.
import { writeKubeconfig } from './kubeconfig.ts';
import type { UserOptions } from './kubeconfig.ts';
import type { Pki } from './pki.ts';

/** Returns the path of a user's kubeconfig; the same user and groups get the same file again. */
export type Users = (user: UserOptions) => Promise<string>;

export const createUsers = (directory: string, pki: Pki): Users => {
  const files = new Map<string, Promise<string>>();
  return (user) => {
    const key = JSON.stringify([user.user, user.groups ?? []]);
    const known = files.get(key);
    if (known !== undefined) return known;
    const name = `${user.user.replace(/[^A-Za-z0-9-]+/g, '-')}-${files.size + 1}`;
    const file = writeKubeconfig(directory, name, pki, user);
    files.set(key, file);
    return file;
  };
};

// Versions in image tags: `v1.31.2-eksbuild.3`, `v1.30.5-hotfix.20241001`, `v1.29.1-gke.500`, `v1.30.4-rke2r1-build20240815`.
import type { RouterVersion } from '../../upstream/proxy/cilium.ts';

const TAG = /^v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,4}))?(?:$|[-+_.~])/;

/** Undefined where the image has no tag, or one that names no version. */
export const imageVersion = (image: string): RouterVersion | undefined => {
  const [name = ''] = image.split('@');
  const tag = /:([^:/]+)$/.exec(name)?.[1];
  const match = tag === undefined ? null : TAG.exec(tag);
  if (match === null) return undefined;
  const [, major, minor, patch] = match;
  return {
    major: Number(major),
    minor: Number(minor),
    ...(patch === undefined ? {} : { patch: Number(patch) }),
  };
};

/** `1.31.2`. */
export const versionText = ({ major, minor, patch }: RouterVersion): string =>
  `${major}.${minor}${patch === undefined ? '' : `.${patch}`}`;

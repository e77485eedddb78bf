// The version-dependent facts and the free addresses and ports that rules of kinds need.
import type { RuleContext } from './served-resource.ts';

const FIRST_NODE_PORT = 30_000;
const PER_BYTE = 256;

/** Minor of a version such as `v1.36.3-gke.1`; 0 when it cannot be read. */
export const minorOf = (version: string): number => Number(/^v?\d+\.(\d+)/.exec(version)?.[1] ?? 0);

/** Addresses count up in 198.18.0.0/16 and 2001:db8:ffff::/112, both reserved for tests. */
export const createRuleContext = (version: () => string): RuleContext => {
  let lastAddress = 0;
  let lastPort = FIRST_NODE_PORT - 1;
  return {
    get minor() {
      return minorOf(version());
    },
    allocateClusterIP(family) {
      lastAddress += 1;
      if (family === 'IPv6') return `2001:db8:ffff::${lastAddress.toString(16)}`;
      return `198.18.${Math.floor(lastAddress / PER_BYTE) % PER_BYTE}.${lastAddress % PER_BYTE}`;
    },
    allocateNodePort() {
      lastPort += 1;
      return lastPort;
    },
  };
};

// What variables and arguments of containers name: hosts that may be Services, and registries. Secrets may stand beside them.
import type { Fields } from '../../apis/values.ts';
import { listIn, pickTexts, textsIn } from './fields.ts';

/** The host of an address, of three labels at most but for what follows `.svc`; users, passwords and paths are left out. */
const ADDRESS =
  /^(?:(\S*):\/+|dns\w*\+)?(?:[^@/]*@)?(?:_\w+\._\w+\.)?([a-z][a-z0-9-]*(?:\.[a-z0-9-]+){0,2}(?:\.svc[a-z.]*)?)(?::\w+)?(?:[/?].*)?$/;
const LONGEST = 2_000;
/** Of gRPC libraries that take addresses of Pods from the API server (kuberesolver) or a control plane. */
const RESOLVERS = /^(?:kubernetes|k8s|xds)$/;
/** Kuberesolver and go-zero (zeromicro/go-zero#988) may have the namespace first. */
const NAMESPACE_FIRST = /^((?:kubernetes|k8s):\/\/)([\w-]+)\/([\w-]+)/;

/** Client libraries that find others, and are found, in a registry: their variables, and what these and arguments may hold. */
const REGISTRY_NAME =
  /^(?!.*config).*(?:eureka|nacos|polaris|consul[._-]?(?:http[._-]?)?(?:addr|host|url)|zookeeper[._-]connect[._-]string|micro[._-]registry)/i;
const REGISTRY_VALUE = /\b(?:nacos|zookeeper|polaris|consul):\/\/|eureka\.client|nacos\.discovery/;

/** What variables and arguments name: hosts that may be Services, and where it registers itself. */
export const namesIn = (podSpec: Fields) => {
  const texts = listIn(podSpec, 'containers').flatMap((container) => [
    ...listIn(container, 'env').map((item) => pickTexts(item, 'name', 'value')),
    ...['command', 'args'].flatMap((key) =>
      textsIn(container, key).map((value) => ({ name: /^-*\w[\w.-]*(?==)/.exec(value)?.[0] ?? key, value })),
    ),
  ]);
  const calls = texts
    .filter(({ value }) => value.length < LONGEST)
    .flatMap(({ name: by, value }) => value.split(/[\s,;"'=]+/).map((part) => ({ by, part })))
    .filter(({ part }) => /[-.:]/.test(part))
    .flatMap(({ by, part }) => {
      const [, scheme = '', host] = ADDRESS.exec(part.replace(NAMESPACE_FIRST, '$1/$3.$2')) ?? [];
      return host === undefined ? [] : [{ by, host, ...(RESOLVERS.test(scheme) ? { scheme } : {}) }];
    });
  const registry = texts.find(
    ({ name, value }) =>
      REGISTRY_VALUE.test(value) || (REGISTRY_NAME.test(name) && !/^(?:true|false|\d*)$/.test(value)),
  );
  return { calls: calls.length === 0 ? undefined : calls, registry: registry?.name };
};

// Follows the continue tokens of a list, within limits, and lets the event loop breathe between two pages.
import { setImmediate } from 'node:timers/promises';
import { defined } from '../apis/defined.ts';
import type { KubernetesObject, ObjectList } from '../apis/meta.ts';
import { invalidAnswer } from './answers.ts';
import type { RequestIdentity } from './errors.ts';
import { AnswerTooLongError } from './exchange.ts';
import { DEFAULT_PAGE_SIZE } from './request.ts';
import type { ListOptions } from './types.ts';

/** Fetches one page. */
export type FetchPage<T extends KubernetesObject> = (
  options: ListOptions,
  signal?: AbortSignal,
) => Promise<ObjectList<T>>;

/** Kubernetes is made for 150,000 Pods (kubernetes.io/docs/setup/best-practices/cluster-large); no resource read here has more. */
const MAX_ITEMS = 500_000;
/** Pages may be short, even empty, but not without end. */
const MAX_PAGES = 10_000;

/** A token holds a version and a key in etcd, less than a thousand characters. */
const MAX_TOKEN_LENGTH = 4_096;

/** Counts what came, and refuses what no API server would send. */
const createLimits = (request: RequestIdentity) => {
  const seen = new Set<string>();
  let items = 0;
  const refuse = (message: string): never => {
    throw invalidAnswer(request, message);
  };
  /** Token of the next page; undefined after the last. */
  return ({ metadata, items: { length } }: ObjectList<KubernetesObject>): string | undefined => {
    items += length;
    if (items > MAX_ITEMS) refuse(`the list has more than ${MAX_ITEMS} items`);
    const token = metadata.continue;
    if (token === undefined || token === '') return undefined;
    if (token.length > MAX_TOKEN_LENGTH) refuse('the list names its next page with a token that is too long');
    if (seen.has(token)) refuse('the list names the same next page twice');
    if (seen.size >= MAX_PAGES) refuse(`the list has more than ${MAX_PAGES} pages`);
    seen.add(token);
    return token;
  };
};

/** The page, in as many halves as its length asks for; the size that was read goes with it. */
const fetchWithin = async <T extends KubernetesObject>(
  fetchPage: FetchPage<T>,
  options: ListOptions,
  signal: AbortSignal | undefined,
): Promise<{ page: ObjectList<T>; limit: number | undefined }> => {
  let { limit } = options;
  for (;;) {
    try {
      return { page: await fetchPage({ ...options, ...defined({ limit }) }, signal), limit };
    } catch (error) {
      const size = limit ?? DEFAULT_PAGE_SIZE;
      if (!(error instanceof AnswerTooLongError) || size === 1) throw error;
      limit = size === 0 ? DEFAULT_PAGE_SIZE : Math.ceil(size / 2);
    }
  }
};

/**
 * Yields every page of a list; `request` is what errors name. A page that is too long for one answer is asked for again with half as many items, and so are those
 * after it.
 *
 * @throws ApiError 410 when the continue token expired between two pages: the list must begin anew, since the pages
 * before it belong to a version that the server no longer has. ConnectionError `InvalidResponse` for a list without end.
 */
export const pagesOf = async function* <T extends KubernetesObject>(
  fetchPage: FetchPage<T>,
  request: RequestIdentity,
  options: ListOptions,
  signal?: AbortSignal,
): AsyncGenerator<ObjectList<T>, void> {
  const next = createLimits(request);
  let asked = options;
  for (;;) {
    const { page, limit } = await fetchWithin(fetchPage, asked, signal);
    const token = next(page);
    yield page;
    if (token === undefined) return;
    // Parsing a page of 500 blocks for about 12 ms; webhook answers and lease renewals get their turn in between.
    await setImmediate();
    signal?.throwIfAborted();
    // All pages over the connection of the first.
    const { newConnection: _opened, ...same } = options;
    asked = { ...same, ...defined({ limit }), continue: token };
  }
};

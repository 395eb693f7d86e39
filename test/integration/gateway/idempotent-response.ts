export interface IdempotentResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly code: string | undefined;
}

export const outcomeOf = ({ status, code }: IdempotentResponse): [number, string | undefined] => [
  status,
  code,
];
export const isReplay = ({ headers }: IdempotentResponse): boolean =>
  headers.get('x-svc-replayed') === 'true';

export const svcHeaders = ({ headers }: IdempotentResponse): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-svc-') || name === 'content-type'));

/** Headers of a replay of this response, which costs nothing more. */
export const replayHeaders = (first: IdempotentResponse): Record<string, string> => ({
  ...svcHeaders(first),
  'x-svc-cost-usd': '0',
  'x-svc-replayed': 'true',
});

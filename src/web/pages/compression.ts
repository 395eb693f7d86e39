import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export type Encoding = 'br' | 'gzip';

/** Smaller answers fit one packet as they are. */
const LEAST_BYTES = 1_024;

/** Pages are made for one reader each, so they are compressed fast; assets once, so they are compressed well. */
const QUALITIES = { page: 4, asset: 9 } as const;

/** The best encoding that the client takes; null for none. */
function encodingFor({ headers }: Pick<IncomingMessage, 'headers'>): Encoding | null {
  const given = headers['accept-encoding'];
  const taken = (typeof given === 'string' ? given : '')
    .split(',')
    .map((entry) =>
      entry
        .trim()
        .toLowerCase()
        .split(/\s*;\s*q=/),
    )
    .flatMap(([name, weight = '1']) => (Number(weight) > 0 ? [name] : []));
  return (['br', 'gzip'] as const).find((encoding) => taken.includes(encoding)) ?? null;
}

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

const compress = (bytes: Buffer, encoding: Encoding, kind: keyof typeof QUALITIES): Promise<Buffer> =>
  encoding === 'gzip'
    ? zip(bytes, { level: QUALITIES[kind] })
    : brotli(bytes, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: QUALITIES[kind],
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        },
      });

/** The bytes as the client takes them; null where they are sent as they are. The head says which. */
export async function encoded(
  bytes: Buffer,
  request: Pick<IncomingMessage, 'headers'>,
  response: Pick<ServerResponse, 'appendHeader' | 'setHeader'>,
  keep: (encoding: Encoding, make: () => Promise<Buffer>) => Promise<Buffer> = (_encoding, make) => make(),
  kind: keyof typeof QUALITIES = 'page',
): Promise<Buffer | null> {
  if (bytes.length < LEAST_BYTES) return null;
  response.appendHeader('vary', 'accept-encoding');
  const encoding = encodingFor(request);
  if (encoding === null) return null;
  response.setHeader('content-encoding', encoding);
  return keep(encoding, () => compress(bytes, encoding, kind));
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export type Encoding = 'br' | 'gzip';

/** Smaller responses fit into one packet uncompressed. */
const MIN_BYTES = 1_024;

/** Pages are rendered per reader and compressed fast; assets are compressed once and well. */
const QUALITIES = { page: 4, asset: 9 } as const;

function encodingFor({ headers }: Pick<IncomingMessage, 'headers'>): Encoding | null {
  const header = headers['accept-encoding'];
  const accepted = (typeof header === 'string' ? header : '')
    .split(',')
    .map((entry) =>
      entry
        .trim()
        .toLowerCase()
        .split(/\s*;\s*q=/),
    )
    .flatMap(([name, weight = '1']) => (Number(weight) > 0 ? [name] : []));
  return (['br', 'gzip'] as const).find((encoding) => accepted.includes(encoding)) ?? null;
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

/** Returns the compressed body and sets its headers; null if the body is sent uncompressed. */
export async function encodeBody(
  bytes: Buffer,
  request: Pick<IncomingMessage, 'headers'>,
  response: Pick<ServerResponse, 'appendHeader' | 'setHeader'>,
  cached: (encoding: Encoding, make: () => Promise<Buffer>) => Promise<Buffer> = (_encoding, make) => make(),
  kind: keyof typeof QUALITIES = 'page',
): Promise<Buffer | null> {
  if (bytes.length < MIN_BYTES) return null;
  response.appendHeader('vary', 'accept-encoding');
  const encoding = encodingFor(request);
  if (encoding === null) return null;
  response.setHeader('content-encoding', encoding);
  return cached(encoding, () => compress(bytes, encoding, kind));
}

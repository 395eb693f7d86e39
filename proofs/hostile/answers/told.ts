import type { IncomingHttpHeaders } from 'node:http';
import type { SupplierRequest, SupplierTransport } from '#product/platform';

/** The outcome of a call: its head, its text, and its error. */
export interface Told {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Null where the answer was taken for a whole one. */
  readonly error: (Error & { readonly code?: string }) | null;
}

export const settings = {
  supplierConnections: 40,
  supplierRestMs: 5,
  supplierConnectTimeoutMs: 5_000,
  supplierFirstByteTimeoutMs: 5_000,
  supplierIdleTimeoutMs: 5_000,
  supplierTotalTimeoutMs: 10_000,
};

export const askFor = (
  transport: SupplierTransport,
  url: string,
  request: Partial<SupplierRequest> = {},
): Promise<Told> =>
  new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let heard: IncomingHttpHeaders = {};
    const end = (error: Error | null): void =>
      resolve({ headers: heard, text: Buffer.concat(pieces).toString('latin1'), error });
    transport.dispatch(
      { url: new URL(url), method: 'GET', headers: {}, ...request },
      {
        onHead: (_, headers) => void (heard = headers),
        onData: (piece) => void pieces.push(piece),
        onEnd: () => end(null),
        onBroken: end,
      },
    );
  });

import type { SupplierTransport } from '#product/platform';

/** The outcome of a call: its text, and its error. */
export interface Told {
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

export const askFor = (transport: SupplierTransport, url: string): Promise<Told> =>
  new Promise((resolve) => {
    const pieces: Buffer[] = [];
    const end = (error: Error | null): void =>
      resolve({ text: Buffer.concat(pieces).toString('latin1'), error });
    transport.dispatch(
      { url: new URL(url), method: 'GET', headers: {} },
      {
        onData: (piece) => void pieces.push(piece),
        onEnd: () => end(null),
        onBroken: end,
      },
    );
  });

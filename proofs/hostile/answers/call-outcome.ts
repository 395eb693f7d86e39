import type { SupplierTransport } from '#product/platform';

/** Outcome of a call: its text and its error. */
export interface SupplierCallOutcome {
  readonly text: string;
  /** null if the response was accepted as complete. */
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

export const requestText = (transport: SupplierTransport, url: string): Promise<SupplierCallOutcome> =>
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

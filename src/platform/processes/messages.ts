/** Command of the supervisor to one of its processes. */
export type ProcessCommand =
  /** Reject new work, finish running work, exit. */
  | { readonly order: 'stop' }
  /** As `stop`, for a process that is replaced: connected clients are served until they have moved. */
  | { readonly order: 'retire' }
  | { readonly order: 'metrics'; readonly question: number }
  | { readonly order: 'connection'; readonly id: number };

/** Message of a process to its supervisor. */
export type ProcessReport =
  /** Probes are answered; other requests are rejected until the process serves. */
  | { readonly report: 'listening' }
  | { readonly report: 'serving' }
  /** From then on the process owns the connection. */
  | { readonly report: 'taken'; readonly id: number }
  | { readonly report: 'metrics'; readonly question: number; readonly text: string };

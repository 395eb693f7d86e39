/** What the supervisor asks of one of its processes. */
export type Order =
  /** Refuse new work, finish what is under way, end. */
  | { readonly order: 'stop' }
  /** The same, for one that is replaced: whoever is connected is served until they have moved. */
  | { readonly order: 'retire' }
  | { readonly order: 'metrics'; readonly question: number }
  /** Take the connection that comes with this. */
  | { readonly order: 'connection'; readonly id: number };

/** What a process tells its supervisor. */
export type Report =
  /** Probes are answered; other requests are refused until it serves. */
  | { readonly report: 'listening' }
  | { readonly report: 'serving' }
  /** From then on the connection is the process's. */
  | { readonly report: 'taken'; readonly id: number }
  | { readonly report: 'metrics'; readonly question: number; readonly text: string };

/** One way to a model: which supplier, where, and what the model is called there. */
export interface Lane {
  readonly supplier: string;
  readonly baseUrl: string;
  readonly credential: string;
  readonly upstreamModel: string;
  readonly region: string | null;
}

export interface ModelRoute {
  readonly model: string;
  /** In the order in which they are tried. */
  readonly lanes: readonly Lane[];
}

export const viewMetadata = 'switchboard:view';

export interface PageOptions {
  /** Maximum age in shared caches, only for pages that show no account; not cached if omitted. */
  readonly cacheSeconds?: number;
  /** Allows `format=json`, or `Accept: application/json` on an uncached page, to return the `data` of the model. */
  readonly data?: boolean;
}

export interface PageView extends PageOptions {
  readonly view: string;
}

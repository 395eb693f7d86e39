export const viewMetadata = 'switchboard:view';

export interface PageOptions {
  /** Shared caches may keep it so long; without this it is not cached. It is only for pages that show no account. */
  readonly cacheSeconds?: number;
  /** `format=json`, or `Accept: application/json` on a page that is not cached, returns the `data` of its model. */
  readonly data?: boolean;
}

export interface PageView extends PageOptions {
  readonly view: string;
}

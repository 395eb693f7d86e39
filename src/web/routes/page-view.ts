export const viewMetadata = 'switchboard:view';

export interface PageOptions {
  /** Shared caches may keep it so long; without this it is not cached. It is only for pages that show no account. */
  readonly cacheSeconds?: number;
  /** With `format=json` the `data` of its model is answered in place of the page. */
  readonly data?: boolean;
}

export interface PageView extends PageOptions {
  readonly view: string;
}

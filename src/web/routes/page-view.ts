export const viewMetadata = 'switchboard:view';

export interface PageOptions {
  /** How long shared caches may keep it; without this it is not cached. Only for pages that show no account. */
  readonly cacheSeconds?: number;
  /** With `format=json` the `data` of its model is answered in place of the page. */
  readonly data?: boolean;
}

export interface PageView extends PageOptions {
  readonly view: string;
}

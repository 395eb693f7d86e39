export interface KitOptions {
  /** By the names that the extension's schema reads, such as `words` for `EXT_HOUSE_RULES_WORDS`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Further variables of the service. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The folder of the service; left out: SWITCHBOARD_PRODUCT, else the package `switchboard`. */
  readonly product?: string | undefined;
  /** A request that the extension lets through; left out: `Hello`. */
  readonly prompt?: string;
  /** Answers in which its masks find something. */
  readonly texts?: readonly string[];
  /** Its pages, beside those of its navigation, such as `/x/cost-centres/report`. */
  readonly pages?: readonly string[];
}

/** What became of a check. */
export interface KitResult {
  readonly topic: string;
  readonly check: string;
  readonly outcome: 'held' | 'failed' | 'does not apply' | 'not run';
  /** Why it failed, or was not tried. */
  readonly reason: string;
}

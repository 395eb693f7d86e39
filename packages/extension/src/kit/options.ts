/** Recorded exchange with a supplier whose API format is its own, as the kit replays it. */
export interface SupplierSample {
  /** The provider's settings that the style reads. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Body of a non-streaming response; null if the style serves streams only. */
  readonly response: string | null;
  /** Body of a streaming response; null if the style serves none. */
  readonly stream: string | null;
  /** Tokens that both bodies report. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface KitOptions {
  /** By the names that the extension's schema reads, such as `words` for `EXT_HOUSE_RULES_WORDS`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Additional environment variables of the service. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Folder of the service; defaults to SWITCHBOARD_PRODUCT, otherwise to the package `switchboard`. */
  readonly product?: string | undefined;
  /** A request that the extension accepts; defaults to `Hello`. */
  readonly prompt?: string;
  /** Responses in which its masks find something. */
  readonly texts?: readonly string[];
  /** Pages of the extension in addition to its navigation, such as `/x/cost-centres/report`. */
  readonly pages?: readonly string[];
  /** Valid values for form fields that the kit cannot guess, by the action of the form. */
  readonly forms?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Recorded exchanges by the name of the style, for styles whose suppliers do not use Chat Completions. */
  readonly suppliers?: Readonly<Record<string, SupplierSample>>;
  /** Topics to check, such as `pages`; defaults to all. */
  readonly topics?: readonly string[];
}

/** The outcome of one check. */
export interface KitResult {
  readonly topic: string;
  readonly check: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Why the check failed or was skipped; empty if it passed. */
  readonly reason: string;
}

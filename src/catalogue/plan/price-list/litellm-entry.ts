import { parseUsdPerToken, type TokenRateName } from '../../../kernel';
import { decimalText, type ExactFields, fieldsOf } from './exact-json';
import { TieredRates } from './tiered-rates';

/** Prices in USD per token. */
const TOKEN_PRICES: Readonly<Record<string, TokenRateName>> = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cacheRead',
  cache_creation_input_token_cost: 'cacheWrite',
  cache_creation_input_token_cost_above_1hr: 'cacheWriteLong',
  output_cost_per_reasoning_token: 'reasoning',
  input_cost_per_audio_token: 'audioInput',
  output_cost_per_audio_token: 'audioOutput',
  input_cost_per_image_token: 'image',
  output_cost_per_image_token: 'imageOutput',
};
const TOKEN_PRICE_KEY = /^(.+?)(?:_above_(\d{1,5})k_tokens)?(?:_(flex|priority|ultrafast|batches))?$/;
const SERVICE_TIERS: Readonly<Record<string, string>> = { batches: 'batch' };
const ZERO = /^0*(?:\.0*)?(?:e[+-]?\d+)?$/i;

export class LitellmEntry {
  private readonly readKeys = new Set<string>();
  private readonly unknownKeys: string[] = [];

  constructor(private readonly fields: ExactFields) {}

  price(key: string): string | undefined {
    const text = decimalText(this.fields[key]);
    if (text !== undefined) this.readKeys.add(key);
    return text;
  }

  group(key: string): LitellmEntry {
    this.readKeys.add(key);
    return new LitellmEntry(fieldsOf(this.fields[key]));
  }

  text(key: string): string | undefined {
    const value = this.fields[key];
    return typeof value === 'string' ? value : undefined;
  }

  addUnknownKeys(keys: readonly string[]): void {
    this.unknownKeys.push(...keys);
  }

  has(key: string): boolean {
    return this.fields[key] !== undefined;
  }

  keys(): string[] {
    return Object.keys(this.fields);
  }

  /** Token rates by service tier; the default tier is ''. */
  tieredRates(): ReadonlyMap<string, TieredRates> {
    const ratesByTier = new Map([['', new TieredRates()]]);
    for (const key of this.keys()) {
      const [, name = '', thousands, suffix = ''] = TOKEN_PRICE_KEY.exec(key) ?? [];
      const rate = Object.hasOwn(TOKEN_PRICES, name) ? TOKEN_PRICES[name] : undefined;
      const text = rate === undefined ? undefined : this.price(key);
      if (rate === undefined || text === undefined) continue;
      const tier = SERVICE_TIERS[suffix] ?? suffix;
      const rates = ratesByTier.get(tier) ?? new TieredRates();
      ratesByTier.set(tier, rates);
      rates.at(thousands === undefined ? null : Number(thousands) * 1_000)[rate] = parseUsdPerToken(text);
    }
    return ratesByTier;
  }

  unreadKeys(ignored: ReadonlySet<string>): string[] {
    const isUnread = (key: string): boolean =>
      !this.readKeys.has(key) && !ignored.has(key) && !this.isFree(key);
    return [...this.keys().filter(isUnread), ...this.unknownKeys];
  }

  private isFree(key: string): boolean {
    const text = decimalText(this.fields[key]);
    return text !== undefined && key.includes('cost') && ZERO.test(text);
  }
}

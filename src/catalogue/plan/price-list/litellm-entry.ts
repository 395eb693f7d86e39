import { parseUsdPerToken, type TokenRateName } from '../../../kernel';
import { decimalText, type Fields, fieldsOf } from './exact-json';
import { RateSheet } from './rate-sheet';

/** These are dollars for one token. */
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
/** Behind the name of a token price stand the input it begins above, and the service tier. */
const KEY = /^(.+?)(?:_above_(\d{1,5})k_tokens)?(?:_(flex|priority|ultrafast|batches))?$/;
const SERVICE_TIERS: Readonly<Record<string, string>> = { batches: 'batch' };
const ZERO = /^0*(?:\.0*)?(?:e[+-]?\d+)?$/i;

/** One model of the list. It notes which of its keys were read, so that none is lost without a word. */
export class LitellmEntry {
  private readonly read = new Set<string>();
  private readonly noted: string[] = [];

  constructor(private readonly fields: Fields) {}

  /** A price in its unit; undefined where there is none. */
  price(key: string): string | undefined {
    const text = decimalText(this.fields[key]);
    if (text !== undefined) this.read.add(key);
    return text;
  }

  /** The prices or hints in an object; each has to be taken by itself. */
  group(key: string): LitellmEntry {
    this.read.add(key);
    return new LitellmEntry(fieldsOf(this.fields[key]));
  }

  text(key: string): string | undefined {
    const value = this.fields[key];
    return typeof value === 'string' ? value : undefined;
  }

  /** These keys were found within a group and have no place here. */
  note(keys: readonly string[]): void {
    this.noted.push(...keys);
  }

  has(key: string): boolean {
    return this.fields[key] !== undefined;
  }

  keys(): string[] {
    return Object.keys(this.fields);
  }

  /** Tokens have a sheet for each service tier; the usual one is ''. */
  tokenSheets(): ReadonlyMap<string, RateSheet> {
    const sheets = new Map([['', new RateSheet()]]);
    for (const key of this.keys()) {
      const [, name = '', thousands, suffix = ''] = KEY.exec(key) ?? [];
      const rate = Object.hasOwn(TOKEN_PRICES, name) ? TOKEN_PRICES[name] : undefined;
      const text = rate === undefined ? undefined : this.price(key);
      if (rate === undefined || text === undefined) continue;
      const tier = SERVICE_TIERS[suffix] ?? suffix;
      const sheet = sheets.get(tier) ?? new RateSheet();
      sheets.set(tier, sheet);
      sheet.at(thousands === undefined ? null : Number(thousands) * 1_000)[rate] = parseUsdPerToken(text);
    }
    return sheets;
  }

  /** Keys that were not read. A price of nothing says nothing. */
  left(known: ReadonlySet<string>): string[] {
    const unread = (key: string): boolean => !this.read.has(key) && !known.has(key) && !this.isFree(key);
    return [...this.keys().filter(unread), ...this.noted];
  }

  private isFree(key: string): boolean {
    const text = decimalText(this.fields[key]);
    return text !== undefined && key.includes('cost') && ZERO.test(text);
  }
}

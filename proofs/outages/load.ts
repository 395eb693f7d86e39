import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, ask } from '../failover/caller';
import type { DialectName } from '../failover/dialects';

export interface Shot {
  readonly dialect: DialectName;
  readonly model: string;
  readonly stream: boolean;
  readonly prompt: string;
}

/** One call went so, as its caller knows it. */
export interface Seen {
  readonly shot: Shot;
  /** When it was sent, on the clock of this process. */
  readonly at: number;
  readonly ms: number;
  readonly status: number;
  readonly code: string;
  readonly ending: Answer['ending'] | 'no connection';
  readonly requestId: string;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

export interface Endpoint {
  readonly url: string;
  readonly key: string;
}

export async function call({ url, key }: Endpoint, shot: Shot): Promise<Seen> {
  const at = performance.now();
  const { dialect, ...question } = shot;
  try {
    const { status, code, ending, headers, ms, text } = await ask(dialect, question, { url, key });
    const header = (name: string): string | undefined => headers[name]?.toString();
    const requestId = header('x-request-id') ?? '';
    return { shot, at, ms, status, code, ending, requestId, text, retryAfter: header('retry-after') };
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code ?? error);
    const ms = performance.now() - at;
    const nothing = { status: 0, requestId: '', retryAfter: undefined, text: '' };
    return { shot, at, ms, code, ending: 'no connection', ...nothing };
  }
}

export const isServed = ({ status, ending }: Seen): boolean => status === 200 && ending === 'whole';
export const idsOf = (seen: readonly Seen[]): string[] => seen.map(({ requestId }) => requestId);
export const times = (seen: readonly Seen[]): number[] => seen.map(({ ms }) => ms);

/** As in `812 × 200, 40 × 503 billing_unavailable`. */
export function tally(seen: readonly Seen[]): string {
  const counts = new Map<string, number>();
  for (const each of seen) {
    const { status, code, ending } = each;
    const unusual = isServed(each) || ending === 'refused' ? '' : ` ${ending}`;
    const name = `${status}${code === '' ? '' : ` ${code}`}${unusual}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const largest = [...counts].sort(([, a], [, b]) => b - a);
  return largest.map(([name, count]) => `${count.toLocaleString('en')} × ${name}`).join(', ') || 'none';
}

const TICK_MS = 10;

/** An open-loop load: so many calls a second, independent of their answers. */
export class Load {
  readonly seen: Seen[] = [];
  private readonly underWay = new Set<Promise<void>>();
  private running: Promise<void> | undefined;
  private stopping = false;

  constructor(
    private readonly endpoints: readonly Endpoint[],
    private readonly shotOf: (place: number) => Shot,
  ) {}

  start(perSecond: number): this {
    this.running = this.keepSending(perSecond);
    return this;
  }

  /** No more calls; settles when those that were made have ended. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.running;
    await Promise.all(this.underWay);
  }

  /** Of the calls that were sent in this while. */
  between(from: number, to: number): Seen[] {
    return this.seen.filter(({ at }) => at >= from && at < to);
  }

  get served(): Seen[] {
    return this.seen.filter(isServed);
  }

  private async keepSending(perSecond: number): Promise<void> {
    const startedAt = performance.now();
    for (let sent = 0; !this.stopping; await delay(TICK_MS)) {
      const due = ((performance.now() - startedAt) / 1_000) * perSecond;
      for (; sent < due; sent += 1) this.send(sent);
    }
  }

  private send(place: number): void {
    const endpoint = this.endpoints[place % this.endpoints.length]!;
    const sending = call(endpoint, this.shotOf(place)).then((seen) => void this.seen.push(seen));
    this.underWay.add(sending);
    void sending.finally(() => this.underWay.delete(sending));
  }
}

/** Calls still failed for so long after a moment; they have to go on for a while after it. */
export function recoveredAfter(load: Load, since: number): number {
  const failed = load.seen.filter((seen) => seen.at >= since && !isServed(seen));
  return Math.max(0, ...failed.map(({ at }) => at - since));
}

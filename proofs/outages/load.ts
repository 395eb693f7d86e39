import { setTimeout as delay } from 'node:timers/promises';
import { type ObservedResponse, sendRequest } from '../failover/caller';
import type { DialectName } from '../failover/dialects';

export interface Shot {
  readonly dialect: DialectName;
  readonly model: string;
  readonly stream: boolean;
  readonly prompt: string;
}

/** A call as its caller observed it. */
export interface ObservedCall {
  readonly shot: Shot;
  /** Send time on the clock of this process. */
  readonly sentAt: number;
  readonly ms: number;
  readonly status: number;
  readonly code: string;
  readonly ending: ObservedResponse['ending'] | 'no connection';
  readonly requestId: string;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

export interface Endpoint {
  readonly url: string;
  readonly key: string;
}

export async function call({ url, key }: Endpoint, shot: Shot): Promise<ObservedCall> {
  const at = performance.now();
  const { dialect, ...question } = shot;
  try {
    const { status, code, ending, headers, ms, text } = await sendRequest(dialect, question, { url, key });
    const header = (name: string): string | undefined => headers[name]?.toString();
    const requestId = header('x-request-id') ?? '';
    return { shot, sentAt: at, ms, status, code, ending, requestId, text, retryAfter: header('retry-after') };
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code ?? error);
    const ms = performance.now() - at;
    const noResponse = { status: 0, requestId: '', retryAfter: undefined, text: '' };
    return { shot, sentAt: at, ms, code, ending: 'no connection', ...noResponse };
  }
}

export const isServed = ({ status, ending }: ObservedCall): boolean => status === 200 && ending === 'whole';
export const idsOf = (seen: readonly ObservedCall[]): string[] => seen.map(({ requestId }) => requestId);
export const times = (seen: readonly ObservedCall[]): number[] => seen.map(({ ms }) => ms);

/** Formats counts as in `812 × 200, 40 × 503 billing_unavailable`. */
export function tally(seen: readonly ObservedCall[]): string {
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

/** Open-loop load: a fixed number of calls per second, independent of responses. */
export class Load {
  readonly seen: ObservedCall[] = [];
  private readonly inFlight = new Set<Promise<void>>();
  private running: Promise<void> | undefined;
  private isStopping = false;

  constructor(
    private readonly endpoints: readonly Endpoint[],
    private readonly shotOf: (index: number) => Shot,
  ) {}

  start(perSecond: number): this {
    this.running = this.keepSending(perSecond);
    return this;
  }

  /** Sends no more calls and resolves when those in flight have ended. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.running;
    await Promise.all(this.inFlight);
  }

  /** Calls that were sent in the interval. */
  between(from: number, to: number): ObservedCall[] {
    return this.seen.filter(({ sentAt: at }) => at >= from && at < to);
  }

  get served(): ObservedCall[] {
    return this.seen.filter(isServed);
  }

  private async keepSending(perSecond: number): Promise<void> {
    const startedAt = performance.now();
    for (let sentCount = 0; !this.isStopping; await delay(TICK_MS)) {
      const due = ((performance.now() - startedAt) / 1_000) * perSecond;
      for (; sentCount < due; sentCount += 1) this.send(sentCount);
    }
  }

  private send(index: number): void {
    const endpoint = this.endpoints[index % this.endpoints.length]!;
    const sending = call(endpoint, this.shotOf(index)).then((seen) => void this.seen.push(seen));
    this.inFlight.add(sending);
    void sending.finally(() => this.inFlight.delete(sending));
  }
}

/** How long calls still failed after a moment; calls must continue for a while after it. */
export function recoveredAfter(load: Load, since: number): number {
  const failed = load.seen.filter((seen) => seen.sentAt >= since && !isServed(seen));
  return Math.max(0, ...failed.map(({ sentAt: at }) => at - since));
}

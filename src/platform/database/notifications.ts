import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Client } from 'pg';
import { monotonicMs } from '../../kernel';
import { applicationUrl } from './connection-url';
import type { Tx } from './database';

export interface NotificationsOptions {
  url: string;
  /** The connection is tried at this interval: nothing else tells of a server that vanished without a word. */
  heartbeatMs?: number;
}

type Handler = (payload: string) => void;

const answerDeadlineMs = 3_000;
const longestPauseMs = 5_000;

/**
 * Announcements between nodes (LISTEN/NOTIFY), on a connection of their own. Announcements during a disconnect are
 * lost: holders of a copy register with onGap as well, and reload it.
 */
@Injectable()
export class Notifications implements OnApplicationShutdown {
  private readonly logger = new Logger(Notifications.name);
  private readonly handlers = new Map<string, Set<Handler>>();
  private readonly gapHandlers = new Set<() => void>();
  private readonly stopping = new AbortController();
  private client?: Client;
  private keeping?: Promise<void>;
  private confirmedAt?: number;

  constructor(private readonly options: NotificationsOptions) {}

  get connected(): boolean {
    return this.client !== undefined;
  }

  /** The server last answered on this connection then, on the monotonic clock. */
  get lastConfirmedAt(): number | undefined {
    return this.confirmedAt;
  }

  /** Fails when the first connection does; from then on it reconnects by itself. */
  async start(): Promise<void> {
    const lost = new AbortController();
    await this.connect(lost);
    this.keeping = this.keepConnected(lost);
  }

  /** Settles once the server listens, so that what is read afterwards misses no announcement. */
  async on(channel: string, handler: Handler): Promise<() => void> {
    const handlers = this.handlers.get(channel) ?? new Set();
    this.handlers.set(channel, handlers.add(handler));
    // A connection that breaks here listens again when it is back, and reports the gap.
    if (this.client) await listen(this.client, channel).catch(() => undefined);
    return () => handlers.delete(handler);
  }

  onGap(handler: () => void): () => void {
    this.gapHandlers.add(handler);
    return () => this.gapHandlers.delete(handler);
  }

  /** Announces to every node when the transaction commits, and only then. */
  async notify(tx: Tx, channel: string, payload: string): Promise<void> {
    await tx.query('SELECT pg_notify($1, $2)', [channel, payload]);
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.keeping;
  }

  private async keepConnected(first: AbortController): Promise<void> {
    for (let lost: AbortController | undefined = first; lost; lost = await this.reconnect()) {
      await this.heartbeats(lost.signal);
      const client = this.client;
      this.client = undefined;
      await client?.end().catch(() => undefined);
    }
  }

  /** Ends when the connection is lost or no longer wanted. */
  private async heartbeats(lost: AbortSignal): Promise<void> {
    const over = AbortSignal.any([lost, this.stopping.signal]);
    try {
      while (!over.aborted) {
        await delay(this.options.heartbeatMs ?? 1_000, undefined, { signal: over });
        await this.client?.query('SELECT 1');
        this.confirmedAt = monotonicMs();
      }
    } catch (error) {
      if (!this.stopping.signal.aborted)
        this.logger.warn(`The connection for announcements is lost: ${String(error)}`);
    }
  }

  private async reconnect(): Promise<AbortController | undefined> {
    for (let pause = 25; !this.stopping.signal.aborted; pause = Math.min(pause * 2, longestPauseMs)) {
      try {
        const lost = new AbortController();
        await this.connect(lost);
        this.logger.log('The connection for announcements is back.');
        for (const handler of this.gapHandlers) this.call(handler);
        return lost;
      } catch {
        // Nodes that lost the same server must not reconnect in step.
        await delay(randomInt(pause, pause * 2), undefined, { signal: this.stopping.signal }).catch(
          () => undefined,
        );
      }
    }
    return undefined;
  }

  private async connect(lost: AbortController): Promise<void> {
    const client = new Client({
      connectionString: applicationUrl(this.options.url),
      application_name: 'switchboard-notifications',
      connectionTimeoutMillis: answerDeadlineMs,
      query_timeout: answerDeadlineMs,
      keepAlive: true,
    });
    client.on('error', (error) => lost.abort(error));
    client.on('end', () => lost.abort());
    client.on('notification', ({ channel, payload }) => {
      for (const handler of this.handlers.get(channel) ?? []) this.call(() => handler(payload ?? ''));
    });
    try {
      await client.connect();
      for (const channel of this.handlers.keys()) await listen(client, channel);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    this.client = client;
    this.confirmedAt = monotonicMs();
  }

  /** An exception of one subscriber must not reach the others. */
  private call(handler: () => void): void {
    try {
      handler();
    } catch (error) {
      this.logger.error(error);
    }
  }
}

async function listen(client: Client, channel: string): Promise<void> {
  await client.query(`LISTEN ${client.escapeIdentifier(channel)}`);
}

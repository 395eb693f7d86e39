import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Client } from 'pg';
import { monotonicMs } from '../../kernel';
import { applicationUrl } from './connection-url';
import type { Tx } from './database';

export interface NotificationsOptions {
  url: string;
  /** Interval of connection checks, which detect a server that vanished silently. */
  heartbeatMs?: number;
}

type NotificationHandler = (payload: string) => void;

const responseTimeoutMs = 3_000;
const maxPauseMs = 5_000;

/**
 * Announcements between nodes (LISTEN/NOTIFY) on a dedicated connection. They are lost during a disconnect, so holders
 * of a copy also register with onGap and reload it.
 */
@Injectable()
export class Notifications implements OnApplicationShutdown {
  private readonly logger = new Logger(Notifications.name);
  private readonly handlers = new Map<string, Set<NotificationHandler>>();
  private readonly gapHandlers = new Set<() => void>();
  private readonly stopping = new AbortController();
  private client?: Client;
  private connectionLoop?: Promise<void>;
  private confirmedAt?: number;

  constructor(private readonly options: NotificationsOptions) {}

  get connected(): boolean {
    return this.client !== undefined;
  }

  /** Time of the server's last response on this connection, on the monotonic clock. */
  get lastConfirmedAt(): number | undefined {
    return this.confirmedAt;
  }

  /** Fails if the first connection does; after that, it reconnects automatically. */
  async start(): Promise<void> {
    const lost = new AbortController();
    await this.connect(lost);
    this.connectionLoop = this.keepConnected(lost);
  }

  /** Settles once the server listens, so that later reads miss no announcement. */
  async on(channel: string, handler: NotificationHandler): Promise<() => void> {
    const handlers = this.handlers.get(channel) ?? new Set();
    this.handlers.set(channel, handlers.add(handler));
    // A connection that breaks here listens again after reconnecting, and reports the gap.
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
    await this.connectionLoop;
  }

  private async keepConnected(first: AbortController): Promise<void> {
    for (let lost: AbortController | undefined = first; lost; lost = await this.reconnect()) {
      await this.sendHeartbeats(lost.signal);
      const client = this.client;
      this.client = undefined;
      await client?.end().catch(() => undefined);
    }
  }

  /** Ends when the connection is lost or no longer needed. */
  private async sendHeartbeats(lost: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([lost, this.stopping.signal]);
    try {
      while (!ended.aborted) {
        await delay(this.options.heartbeatMs ?? 1_000, undefined, { signal: ended });
        await this.client?.query('SELECT 1');
        this.confirmedAt = monotonicMs();
      }
    } catch (error) {
      if (!this.stopping.signal.aborted)
        this.logger.warn(`The connection for announcements is lost: ${String(error)}`);
    }
  }

  private async reconnect(): Promise<AbortController | undefined> {
    for (let pause = 25; !this.stopping.signal.aborted; pause = Math.min(pause * 2, maxPauseMs)) {
      try {
        const lost = new AbortController();
        await this.connect(lost);
        this.logger.log('The connection for announcements is back.');
        for (const handler of this.gapHandlers) this.callSafely(handler);
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
      connectionTimeoutMillis: responseTimeoutMs,
      query_timeout: responseTimeoutMs,
      keepAlive: true,
    });
    client.on('error', (error) => lost.abort(error));
    client.on('end', () => lost.abort());
    client.on('notification', ({ channel, payload }) => {
      for (const handler of this.handlers.get(channel) ?? []) this.callSafely(() => handler(payload ?? ''));
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
  private callSafely(handler: () => void): void {
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

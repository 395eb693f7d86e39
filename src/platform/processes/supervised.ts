import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../../kernel';
import { processEnvironment } from '../config/process-environment';
import type { Order, Report } from './messages';
import { ADDRESS_VARIABLE, ownProcess } from './own-process';

export type Parting = 'stop' | 'retire';

const LOOK_MS = 50;

/** A process that a supervisor started, as it talks to it. */
export class Supervised {
  /** Settles when the supervisor wants it to end, or is gone. */
  readonly parting: Promise<Parting>;
  readonly address = processEnvironment[ADDRESS_VARIABLE] ?? '';
  private readonly open = new Set<Socket>();
  private server: Server | undefined;
  private readMetrics: (() => Promise<string>) | undefined;

  constructor(readonly number: number) {
    // Terminals and service managers signal the whole group: the supervisor says what that means.
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
    this.parting = new Promise((resolve) => {
      process.on('message', (message: Order, socket: Socket | undefined) => {
        if (message.order === 'connection') this.take(message.id, socket);
        else if (message.order === 'metrics') void this.tellMetrics(message.question);
        else resolve(message.order);
      });
      process.on('disconnect', () => resolve('stop'));
    });
  }

  /** Connections come from the supervisor, and no port is listened on. */
  serveBy(server: Server): void {
    this.server = server;
    // The server begins to look after the times of its connections with this.
    server.emit('listening');
    tell({ report: 'listening' });
  }

  serving(readMetrics: () => Promise<string>): void {
    this.readMetrics = readMetrics;
    tell({ report: 'serving' });
  }

  /** Settles once nobody is connected, or time is up. */
  async emptied(withinMs: number): Promise<void> {
    const until = monotonicMs() + withinMs;
    while (this.open.size > 0 && monotonicMs() < until) await delay(LOOK_MS);
  }

  /** It is told before a byte is read: whoever dies before that leaves the connection whole to another. */
  private take(id: number, socket: Socket | undefined): void {
    tell({ report: 'taken', id });
    if (socket === undefined) return;
    this.open.add(socket);
    socket.once('close', () => this.open.delete(socket));
    // As servers make them that accept by themselves.
    socket.allowHalfOpen = true;
    socket.setNoDelay(true);
    this.server?.emit('connection', socket);
    socket.resume();
  }

  /** Without numbers the supervisor waits no longer than its deadline. */
  private async tellMetrics(question: number): Promise<void> {
    const text = await this.readMetrics?.().catch(() => undefined);
    if (text !== undefined) tell({ report: 'metrics', question, text });
  }
}

/** The channel may be closed: then the supervisor is gone. */
function tell(report: Report): void {
  if (process.connected) process.send?.(report, () => undefined);
}

let own: Supervised | null | undefined;

/** It is null for a process that is alone. */
export const supervised = (): Supervised | null =>
  (own ??= ownProcess === null ? null : new Supervised(ownProcess));

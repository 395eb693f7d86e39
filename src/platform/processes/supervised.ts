import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../../kernel';
import { processEnvironment } from '../config/process-environment';
import type { ProcessCommand, ProcessReport } from './messages';
import { ADDRESS_VARIABLE, ownProcess } from './own-process';

export type ShutdownKind = 'stop' | 'retire';

const POLL_MS = 50;

/** A process that a supervisor started, and its communication with the supervisor. */
export class Supervised {
  /** Settles when the supervisor stops the process, or is gone. */
  readonly shutdown: Promise<ShutdownKind>;
  readonly address = processEnvironment[ADDRESS_VARIABLE] ?? '';
  private readonly open = new Set<Socket>();
  private server: Server | undefined;
  private readMetrics: (() => Promise<string>) | undefined;

  constructor(readonly number: number) {
    // Terminals and service managers signal the entire group; the supervisor decides what a signal means.
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
    this.shutdown = new Promise((resolve) => {
      process.on('message', (message: ProcessCommand, socket: Socket | undefined) => {
        if (message.order === 'connection') this.takeConnection(message.id, socket);
        else if (message.order === 'metrics') void this.reportMetrics(message.question);
        else resolve(message.order);
      });
      process.on('disconnect', () => resolve('stop'));
    });
  }

  /** Serves the connections from the supervisor, without listening on a port. */
  attachServer(server: Server): void {
    this.server = server;
    // Makes the server start its checks of connection times.
    server.emit('listening');
    sendReport({ report: 'listening' });
  }

  reportServing(readMetrics: () => Promise<string>): void {
    this.readMetrics = readMetrics;
    sendReport({ report: 'serving' });
  }

  /** Settles once no client is connected, or time is up. */
  async waitUntilEmpty(withinMs: number): Promise<void> {
    const deadline = monotonicMs() + withinMs;
    while (this.open.size > 0 && monotonicMs() < deadline) await delay(POLL_MS);
  }

  /**
   * Confirmed before a byte is read, so that a process which dies before that leaves the connection intact for another.
   */
  private takeConnection(id: number, socket: Socket | undefined): void {
    sendReport({ report: 'taken', id });
    if (socket === undefined) return;
    this.open.add(socket);
    socket.once('close', () => this.open.delete(socket));
    // As in servers that accept connections themselves.
    socket.allowHalfOpen = true;
    socket.setNoDelay(true);
    this.server?.emit('connection', socket);
    socket.resume();
  }

  /** Without a report the supervisor waits no longer than its deadline. */
  private async reportMetrics(question: number): Promise<void> {
    const text = await this.readMetrics?.().catch(() => undefined);
    if (text !== undefined) sendReport({ report: 'metrics', question, text });
  }
}

/** The channel can be closed: then the supervisor is gone. */
function sendReport(report: ProcessReport): void {
  if (process.connected) process.send?.(report, () => undefined);
}

let instance: Supervised | null | undefined;

/** Null for a single process. */
export const supervised = (): Supervised | null =>
  (instance ??= ownProcess === null ? null : new Supervised(ownProcess));

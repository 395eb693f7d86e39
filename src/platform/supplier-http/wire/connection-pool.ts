import { monotonicMs } from '../../../kernel';
import type { Carrier, ConnectionOwner } from './connection';
import type { WireCall } from './wire-call';

const SWEEP_MS = 1_000;
/** After an unsolicited response, connections of an origin carry only one call each for this time. */
const DISTRUST_MS = 600_000;

/** Number of responses below which an origin's connections rest longer, and the factor. */
const COLD_RESPONSES = 100;
const COLD_REST_FACTOR = 20;

export interface PoolTerms {
  readonly open: (owner: ConnectionOwner) => Carrier;
  readonly connections: number;
  readonly restMs: number;
  readonly check: () => Error | null;
}

/** A bounded number of connections to one origin, each with one call at a time; further calls wait. */
export class ConnectionPool implements ConnectionOwner {
  private readonly connections = new Set<Carrier>();
  /** Sorted by last use, the most recent last. */
  private idle: Carrier[] = [];
  private waiting: WireCall[] = [];
  private opening = 0;
  private responseCount = 0;
  private isScheduled = false;
  private distrustedUntil = 0;
  private restTimer: NodeJS.Timeout | undefined;
  private isClosed = false;
  private sweepTimer: NodeJS.Timeout | undefined;

  constructor(private readonly terms: PoolTerms) {}

  /**
   * Sends a call once a connection is free, after one more turn of the event loop. Unsolicited bytes are then read
   * before the call, and a closed connection is not used.
   */
  send(call: WireCall): void {
    if (this.isClosed) return call.fail(closedError());
    this.waiting.push(call);
    this.schedule();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.sweepTimer);
    clearTimeout(this.restTimer);
    for (const call of this.waiting.splice(0)) call.fail(closedError());
    for (const connection of this.connections) connection.destroy(closedError());
  }

  onOpened(connection: Carrier): void {
    this.opening -= 1;
    this.idle.push(connection);
    this.onIdle();
  }

  onFreed(connection: Carrier): void {
    this.responseCount += 1;
    if (this.isDistrusted) return connection.destroy();
    this.idle.push(connection);
    this.onIdle();
  }

  /** An origin that responded twice might do so again: every call then gets a connection of its own. */
  onUnsolicited(): void {
    this.distrustedUntil = monotonicMs() + DISTRUST_MS;
    for (const connection of this.idle.splice(0)) connection.destroy();
  }

  get restMs(): number {
    return this.terms.restMs * (this.responseCount < COLD_RESPONSES ? COLD_REST_FACTOR : 1);
  }

  private get isDistrusted(): boolean {
    return monotonicMs() < this.distrustedUntil;
  }

  private onIdle(): void {
    if (this.waiting.length > 0) this.schedule();
    this.sweepTimer ??= setTimeout(() => this.sweep(), SWEEP_MS).unref();
  }

  onClosed(connection: Carrier, wasOpen: boolean, failure: Error | null): void {
    this.connections.delete(connection);
    const index = this.idle.indexOf(connection);
    if (index !== -1) this.idle.splice(index, 1);
    if (!wasOpen) this.opening -= 1;
    // The call that has waited longest relied on this connection.
    if (failure !== null) this.next()?.fail(failure);
    if (this.waiting.length > 0) this.schedule();
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    // Sockets are read between two immediates, not before the first.
    setImmediate(() => setImmediate(() => this.assignConnections()));
  }

  /** Assigns free connections in the order of waiting, and opens missing ones. */
  private assignConnections(): void {
    this.isScheduled = false;
    while (this.waiting.length > 0) {
      const connection = this.nextUsable();
      if (connection === null) break;
      const call = this.nextConfirmed();
      if (call === undefined) {
        this.idle.push(connection);
        break;
      }
      connection.carry(call);
    }
    if (this.waiting.length === 0) return;
    this.waiting = this.waiting.filter(({ isOver }) => !isOver);
    while (this.opening < this.waiting.length && this.connections.size < this.terms.connections) this.open();
    this.waitForRest();
  }

  /** If no more connections can be opened, calls wait for the one that has rested longest. */
  private waitForRest(): void {
    if (this.idle.length === 0 || this.opening >= this.waiting.length) return;
    const restMs = Math.min(...this.idle.map((connection) => connection.restMs));
    this.restTimer ??= setTimeout(() => {
      this.restTimer = undefined;
      this.schedule();
    }, restMs).unref();
  }

  private open(): void {
    const refusal = this.terms.check();
    if (refusal !== null) return this.next()?.fail(refusal);
    this.opening += 1;
    this.connections.add(this.terms.open(this));
  }

  /** Returns the call that has waited longest. */
  private next(): WireCall | undefined {
    for (let call = this.waiting.shift(); ; call = this.waiting.shift())
      if (call?.isOver !== true) return call;
  }

  private nextConfirmed(): WireCall | undefined {
    for (let call = this.next(); ; call = this.next()) if (call?.confirmStart() !== false) return call;
  }

  /** Returns the most recently used connection that has rested. */
  private nextUsable(): Carrier | null {
    for (let at = this.idle.length - 1; at >= 0; at -= 1) {
      const connection = this.idle[at]!;
      if (connection.restMs > 0) continue;
      this.idle.splice(at, 1);
      if (connection.isUsable) return connection;
      connection.destroy();
    }
    return null;
  }

  private sweep(): void {
    this.sweepTimer = undefined;
    for (const connection of this.idle) if (!connection.isUsable) connection.destroy();
    if (this.connections.size > 0) this.sweepTimer = setTimeout(() => this.sweep(), SWEEP_MS).unref();
  }
}

const closedError = (): Error => new Error('the connections to suppliers are closed');

import { monotonicMs } from '../../../kernel';
import type { Carrier, Owner } from './connection';
import type { WireCall } from './wire-call';

const SWEEP_MS = 1_000;
/** For so long no connection carries a second call, once one brought an answer that nobody had asked for. */
const DISTRUST_MS = 600_000;

/** An origin that has not answered so often yet has its connections rest so many times as long. */
const FIRST_ANSWERS = 100;
const FIRST_RESTS = 20;

export interface PoolTerms {
  readonly open: (owner: Owner) => Carrier;
  readonly connections: number;
  /** A connection rests so long after an answer. */
  readonly restMs: number;
  /** It is looked at before each connection. */
  readonly check: () => Error | null;
}

/** The connections to one origin: a bounded number, each with one call at a time; further calls wait. */
export class ConnectionPool implements Owner {
  private readonly connections = new Set<Carrier>();
  /** The one that was used last comes last. */
  private idle: Carrier[] = [];
  private waiting: WireCall[] = [];
  private opening = 0;
  private answers = 0;
  private isDue = false;
  private distrustedUntil = 0;
  private resting: NodeJS.Timeout | undefined;
  private isClosed = false;
  private sweeping: NodeJS.Timeout | undefined;

  constructor(private readonly terms: PoolTerms) {}

  /**
   * Sends a call once a connection is free, and after one more turn of the event loop. Unsolicited bytes are then
   * read before the call, and a closed connection is not used.
   */
  send(call: WireCall): void {
    if (this.isClosed) return call.fail(closed());
    this.waiting.push(call);
    this.schedule();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.sweeping);
    clearTimeout(this.resting);
    for (const call of this.waiting.splice(0)) call.fail(closed());
    for (const connection of this.connections) connection.destroy(closed());
  }

  opened(connection: Carrier): void {
    this.opening -= 1;
    this.idle.push(connection);
    this.becameIdle();
  }

  freed(connection: Carrier): void {
    this.answers += 1;
    if (this.isDistrusted) return connection.destroy();
    this.idle.push(connection);
    this.becameIdle();
  }

  /** An origin that answers twice may do so again: then every call gets a connection of its own. */
  strayed(): void {
    this.distrustedUntil = monotonicMs() + DISTRUST_MS;
    for (const connection of this.idle.splice(0)) connection.destroy();
  }

  get restMs(): number {
    return this.terms.restMs * (this.answers < FIRST_ANSWERS ? FIRST_RESTS : 1);
  }

  private get isDistrusted(): boolean {
    return monotonicMs() < this.distrustedUntil;
  }

  private becameIdle(): void {
    if (this.waiting.length > 0) this.schedule();
    this.sweeping ??= setTimeout(() => this.sweep(), SWEEP_MS).unref();
  }

  closed(connection: Carrier, wasOpen: boolean, failure: Error | null): void {
    this.connections.delete(connection);
    const place = this.idle.indexOf(connection);
    if (place !== -1) this.idle.splice(place, 1);
    if (!wasOpen) this.opening -= 1;
    // The call that has waited longest counted on this connection.
    if (failure !== null) this.next()?.fail(failure);
    if (this.waiting.length > 0) this.schedule();
  }

  private schedule(): void {
    if (this.isDue) return;
    this.isDue = true;
    // Sockets are read between two immediates, not before the first.
    setImmediate(() => setImmediate(() => this.hand()));
  }

  /** Hands out free connections in the order in which they are waited for, and opens what is missing. */
  private hand(): void {
    this.isDue = false;
    while (this.waiting.length > 0) {
      const connection = this.nextUsable();
      if (connection === null) break;
      const call = this.nextWanted();
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

  /** Where no more connections may be opened, calls wait for the one that has rested longest. */
  private waitForRest(): void {
    if (this.idle.length === 0 || this.opening >= this.waiting.length) return;
    const restMs = Math.min(...this.idle.map((connection) => connection.restMs));
    this.resting ??= setTimeout(() => {
      this.resting = undefined;
      this.schedule();
    }, restMs).unref();
  }

  private open(): void {
    const refusal = this.terms.check();
    if (refusal !== null) return this.next()?.fail(refusal);
    this.opening += 1;
    this.connections.add(this.terms.open(this));
  }

  /** The call that has waited longest. */
  private next(): WireCall | undefined {
    for (let call = this.waiting.shift(); ; call = this.waiting.shift())
      if (call?.isOver !== true) return call;
  }

  private nextWanted(): WireCall | undefined {
    for (let call = this.next(); ; call = this.next()) if (call?.isWanted() !== false) return call;
  }

  /** It is the one of those that have rested that was used last. */
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
    this.sweeping = undefined;
    for (const connection of this.idle) if (!connection.isUsable) connection.destroy();
    if (this.connections.size > 0) this.sweeping = setTimeout(() => this.sweep(), SWEEP_MS).unref();
  }
}

const closed = (): Error => new Error('the connections to suppliers are closed');
